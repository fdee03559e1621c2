"""Every spec that a library in C can have, beside Python's steps, for CPUs and for GPUs, which a stand-in is; in `make
stress`."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.cli import main
from optgen.cli.library import prefix_of
from optgen.loops import numpy_blas
from tests.library.c_library import Array, CLibrary, Context, numpy_lapack
from tests.library.gpu import StandIn
from tests.library.trajectory import is_same

pytestmark = [pytest.mark.stress, pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")]

SHAPES: dict[str, list[tuple[int, ...]]] = {
    "cpu": [(37,), (70, 90), (3, 4, 5), (), (128, 64)],
    "cuda": [(37,), (7, 10), (3, 4, 5), (), (4500,)],
}
STEPS = 3
SETTINGS = {"matrix/galore": {"r": 8}}
"""Params that the shapes ask for: bases have no more columns than a matrix has."""
ROUNDS = ("matrix/shampoo", "matrix/shampoo_adamw", "matrix/swan")
"""Those with inverse roots, which Python multiplies by the fastest code: they agree within 1e-6."""


def is_close(found: bytes, expected: Array) -> bool:
    """Whether bytes are those of an array, up to 1e-6."""
    x = np.frombuffer(found, expected.dtype).reshape(expected.shape)
    return np.allclose(x, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("target", SHAPES)
@pytest.mark.parametrize("name", specfiles.all_available())
def test_a_context_steps_as_python_does(
    name: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS.get(name, {})
    rule, driver = optgen.load(name, matmul="deterministic", **settings), StandIn(tmp_path)
    monkeypatch.setenv("CC", driver.compiler)
    if rule.spec.has_stages and target == "cpu":
        numpy_lapack(monkeypatch)
    how = [word for param, value in settings.items() for word in ("--set", f"{param}={value}")]
    if main(["build", name, *how, "--target", target, "--cpu", "native", "--name", "own", "-o", str(tmp_path)]) == 2:
        pytest.skip(capsys.readouterr().err)
    prefix, place = prefix_of(name), np.copy if target == "cpu" else driver.array
    own = CLibrary(tmp_path, "own").spec(prefix if target == "cpu" else f"{prefix}_cuda")
    only_matrices = any("rank" in require.names for require in rule.spec.requires)
    shapes, rng = [x for x in SHAPES[target] if len(x) == 2 or not only_matrices], np.random.default_rng(0)
    weights, grads = ([place(rng.normal(size=x).astype(np.float32)) for x in shapes] for _ in range(2))
    inputs = {x: [place(rng.normal(size=s).astype(np.float32)) for s in shapes] for x in own.inputs}
    given = dict.fromkeys(rule.spec.given, 0.5)
    others, hyper = [w.copy() for w in weights], own.hyper(**given)
    context = Context(own, weights, grads, inputs, hyper)
    bound = rule.bind(others, grads, **({"inputs": inputs} if inputs else {}))
    with numpy_blas.single:
        for _ in range(STEPS):
            for phase in own.entry["phases"] or [""]:
                for g in grads:
                    g[...] = rng.normal(size=g.shape)
                context.step(hyper, phase)
                (getattr(bound, phase) if phase else bound)(**given)
                driver.finish()
    agrees = is_close if name in ROUNDS else is_same
    assert all(agrees(w.tobytes(), x) for w, x in zip(weights, others, strict=True)), driver.errors
    for state, kept in bound.state.arrays.items():
        for i, x in enumerate(kept):
            assert x is None or agrees(context.state(i, state), np.asarray(x)), (state, i)
    context.destroy()
