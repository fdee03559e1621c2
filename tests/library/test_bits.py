"""Contexts of libraries in C come to the bits of Python's steps: weights, states, and weights to evaluate with."""

from __future__ import annotations

import ctypes
import itertools
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse
from optgen.cli.common import settings
from optgen.cli.library import prefix_of
from optgen.execute.buffers import numpy_dtype
from tests.library.c_library import CLibrary, Context, build
from tests.library.trajectory import compare

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SHAPES: list[tuple[int, ...]] = [(37,), (70, 90), (3, 4, 5), (), (9000,), (0, 4), (128, 64)]
STEPS = 4
CASES = [
    ("adam", ()),
    ("adam", ("--set", "amsgrad=true", "--set", "clip_gradient=0.5", "--dtype", "float64")),
    ("adam", ("--storage", "int8_dynamic", "--dtype", "bfloat16", "--master")),
    ("adam", ("--storage", "int4_dynamic")),
    ("adam", ("--dtype", "float16", "--master")),
    ("lamb", ()),
    ("lamb", ("--cpu", "x86-64")),
    ("adam", ("--cpu", "x86-64", "--storage", "int8_dynamic")),
    ("torch/adafactor", ()),
    ("sgd", ("--set", "momentum=0.9")),
    ("prodigy", ()),
    ("schedulefree_adamw", ()),
    ("sgld", ()),
    ("adam with sam", ()),
    ("lbfgs", ()),
    ("lbfgs", ("--set", "history=3", "--dtype", "bfloat16", "--master")),
]


@pytest.mark.parametrize(("spec", "arguments"), CASES, ids=[" ".join([spec, *more]) for spec, more in CASES])
def test_a_context_steps_as_python_does(spec: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    if "--cpu" in arguments and platform.machine() != "x86_64":
        pytest.skip("a level of x86-64")
    build(tmp_path, spec, "--cpu", "native", "--name", "own", *arguments)
    own = CLibrary(tmp_path, "own").spec(prefix_of(spec))
    compare(own, spec, arguments, SHAPES, STEPS, tmp_path)


def test_openmp_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nothing.c").write_text("int main(void) { return 0; }\n")
    command = ["cc", "-fopenmp", str(tmp_path / "nothing.c"), "-o", str(tmp_path / "nothing")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the C compiler has no OpenMP")
    monkeypatch.setenv("CC", "cc -fopenmp -DOPTGEN_OPENMP")
    test_a_context_steps_as_python_does("lamb", (), tmp_path)


@pytest.mark.parametrize(
    ("spec", "arguments", "is_lazy"),
    [
        ("adam", (), True),
        ("sgd", ("--set", "momentum=0.9"), True),
        ("ftrl", ("--dtype", "bfloat16", "--master"), True),
        ("lamb", (), False),
        ("adam with sam", (), False),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_row_sparse_gradients(spec: str, arguments: tuple[str, ...], is_lazy: bool, tmp_path: Path) -> None:
    build(tmp_path, spec, "--cpu", "native", "--name", "own", *arguments)
    own = CLibrary(tmp_path, "own").spec(prefix_of(spec))
    chosen = dict(zip(arguments[::2], arguments[1::2], strict=False))
    dtype = chosen.get("--dtype", "float32")
    given = settings(x for name, x in itertools.pairwise(arguments) if name == "--set")
    rule, element = optgen.load(spec, dtype, master="--master" in arguments, **given), numpy_dtype(dtype)
    rng, shapes = np.random.default_rng(0), [(200, 300), (37,), (0, 3), (4, 0), (60, 5, 7)]
    weights, dense = ([rng.normal(size=x).astype(element) for x in shapes] for _ in range(2))
    others, hyper = [w.copy() for w in weights], own.hyper()
    named = (ctypes.c_uint8 * 5)(1, 0, 1, 1, 1)
    context = Context(own, weights, dense, {}, hyper, row_sparse=ctypes.addressof(named), threads=2)
    bound = None
    for _ in range(STEPS):
        grads: list[Any] = list(dense)
        kept = []
        for i, count in ((0, int(rng.integers(0, 200))), (2, 0), (3, 2), (4, 60)):
            rows = np.sort(rng.choice(shapes[i][0], count, replace=False)).astype(np.int64)
            values = rng.normal(size=(count, *shapes[i][1:])).astype(element)
            context.set_rows(i, late := np.zeros_like(values), rows)  # each step reads what is there then
            late[...] = values
            grads[i], kept = RowSparse(rows, values), [*kept, rows, late]
        if bound is None:
            bound = rule.bind(others, grads)
        bound.rebind(grads)
        for phase in own.entry["phases"] or [""]:
            context.step(hyper, phase)
            (getattr(bound, phase) if phase else bound)()
    assert rule.lazy == is_lazy
    assert [w.tobytes() for w in weights] == [w.tobytes() for w in others]
    assert bound is not None
    for state, arrays in bound.state.arrays.items():
        for i, x in enumerate(arrays):
            assert x is None or context.state(i, state) == np.asarray(x).tobytes(), (state, i)
    context.destroy()
