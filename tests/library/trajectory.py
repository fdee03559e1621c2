"""Steps of a context of a library in C beside Python's: the same bits of weights, states, files, and weights to
evaluate with."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

import optgen
from optgen.cli.common import settings
from optgen.execute.buffers import numpy_dtype
from tests.library.c_library import Array, Context, CSpec

Case = tuple[str, tuple[str, ...]]
GPU_CASES: list[Case] = [
    ("adam", ()),
    ("lamb", ()),
    ("torch/adafactor", ()),
    ("adam with sam", ()),
    ("sgld", ()),
    ("adam", ("--storage", "int8_dynamic", "--dtype", "bfloat16", "--master")),
]
"""Specs, and what `optgen build` is told, for GPUs of both kinds: a stand-in, and a real one."""


def compare(
    own: CSpec,
    spec: str,
    arguments: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    steps: int,
    folder: Path,
    place: Callable[[Array], Any] = np.copy,
    read: Callable[[int, int], bytes] = ctypes.string_at,
    finish: Callable[[], None] = lambda: None,
    **options: Any,
) -> None:
    """Steps of random tensors, with the options that `optgen build` was given. `place` copies an array to where the
    library has tensors, and `read` gives the bytes of a state there, of so many at an address;
    `finish` waits for steps. `options` are those of the context."""
    chosen = dict(zip(arguments[::2], arguments[1::2], strict=False))
    dtype = chosen.get("--dtype", "float32")
    given = settings(x for name, x in itertools.pairwise(arguments) if name == "--set")
    how = {"storage": chosen.get("--storage"), "matmul": "deterministic"}
    rule = optgen.load(spec, dtype, master="--master" in arguments, **how, **given)
    rng = np.random.default_rng(0)

    def arrays() -> list[Array]:
        return [rng.normal(size=shape).astype(numpy_dtype(dtype)) for shape in shapes]

    others, grads, inputs = arrays(), arrays(), {name: arrays() for name in own.inputs}
    weights, own_grads = list(map(place, others)), list(map(place, grads))
    hyper = own.hyper()
    placed = {name: list(map(place, x)) for name, x in inputs.items()}
    context = Context(own, weights, own_grads, placed, hyper, seed=3, **options)
    more: dict[str, Any] = {"inputs": inputs} if inputs else {}
    bound = rule.bind(others, grads, **more)
    bound.seed = 3
    for number in range(steps):
        hyper.lr = rate = 0.01 / (1 + number)
        for phase in own.entry["phases"] or [""]:
            for g, there in zip(grads, own_grads, strict=True):
                there[...] = g[...] = rng.normal(size=g.shape).astype(g.dtype)
            context.step(hyper, phase)
            (getattr(bound, phase) if phase else bound)(lr=rate)
            finish()
        assert [w.tobytes() for w in weights] == [w.tobytes() for w in others]
    for name, kept in bound.state.arrays.items():
        for i, x in enumerate(kept):
            assert x is None or is_same(context.state(i, name, read), np.asarray(x)), (name, i)
    assert context.counts() == [steps] * len(shapes)
    _check_files(own, context, bound.state, folder)
    if own.entry["evaluate"]:
        out = [place(np.zeros_like(w)) for w in others]
        context.evaluate(hyper, out)
        finish()
        expected = rule.evaluate(others, bound.state)
        assert [x.tobytes() for x in out] == [np.asarray(x).tobytes() for x in expected]
        assert context.counts() == [steps] * len(shapes)
    context.destroy()


def is_same(found: bytes, expected: Array) -> bool:
    """Whether bytes are those of an array, but for NaN, which has several."""
    if found == expected.tobytes():
        return True
    x = np.frombuffer(found, expected.dtype).reshape(expected.shape)
    return bool(np.array_equal(x, expected, equal_nan=True)) and x[x == 0].tobytes() == expected[x == 0].tobytes()


def _check_files(own: CSpec, context: Context, state: optgen.State, folder: Path) -> None:
    """A file that C wrote has what Python has; one that Python wrote gives C the same again."""
    expected = {"t": state.t}
    for name, kept in state.arrays.items():
        expected |= {f"{name}.{i}": x for i, x in enumerate(kept) if x is not None}
    path = folder / "c.safetensors"
    own.must("save", context.address, str(path).encode())
    found = load_file(path)
    assert found.keys() == expected.keys()
    for name, x in found.items():
        assert (x.dtype, x.shape) == (expected[name].dtype, expected[name].shape)
        assert is_same(x.tobytes(), expected[name]), name
    before = {name: x.copy() for name, x in expected.items()}
    save_file({name: np.zeros_like(x) for name, x in before.items()}, folder / "zeros.safetensors")
    save_file(before, folder / "python.safetensors")
    own.must("load", context.address, str(folder / "zeros.safetensors").encode())
    assert context.counts() == [0] * context.n
    own.must("load", context.address, str(folder / "python.safetensors").encode())
    own.must("save", context.address, str(path).encode())
    assert {name: x.tobytes() for name, x in load_file(path).items()} == {
        name: x.tobytes() for name, x in before.items()
    }
