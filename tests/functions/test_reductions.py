"""Reductions in every scope: compiled and interpreted to the bit, and what their records mean in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.functions.table import FUNCTIONS
from optgen.ir import Variant
from optgen.ir.interp import TensorUpdate, interpret
from optgen.pipeline import build, stages
from optgen.stages import lower
from optgen.stages.plan import CallStage

Array = np.ndarray[Any, Any]
NAMES = [name for name, f in FUNCTIONS.items() if f.reduction is not None]
SCOPES = {"T": ("tensor", "", (0, 1)), "R": ("row", ", per row", 1), "C": ("col", ", per col", 0)}
INF, NAN = math.inf, math.nan
MATRICES = {
    "finite": [[1.0, -2.0, 0.5], [-30.0, -31.0, -29.5], [600.0, 601.0, 600.5], [0.0, 0.0, 0.0]],
    "infinite": [[INF, 1.0, 2.0], [INF, INF, 0.0], [INF, 5.0, 5.0]],
    "all -inf": [[-INF, -INF], [-INF, -INF]],
    "far below": [[-1e6, -1e6], [-1e6, -INF]],
    "NaN": [[NAN, 1.0], [INF, NAN]],
    "one element": [[1e15]],
}


def _call(name: str, scope: str) -> str:
    f = FUNCTIONS[name].reduction
    assert f is not None
    return f"{name}({', '.join('g' for _ in f.arguments)}{scope})"


TEXT = "optimizer R\n" + "".join(
    f"state {key}_{name}: {kind} = 0\n" for name in NAMES for key, (kind, _, _) in SCOPES.items()
)
TEXT += "update:\n" + "".join(
    f"  {key}_{name}' = {_call(name, scope)}\n" for name in NAMES for key, (_, scope, _) in SCOPES.items()
)
TEXT += "  w' = w\n"


def _meant(name: str, x: Array, axes: Any) -> Array:
    f = FUNCTIONS[name].reduction
    assert f is not None
    lines = {1: x, 0: x.T}.get(axes if isinstance(axes, int) else -1, x.reshape(1, -1))
    with np.errstate(all="ignore"):
        return np.asarray(f.meaning(*(lines.astype(float) for _ in f.arguments)))


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.stress)])
def test_reductions(dtype: str) -> None:
    optimizer = optgen.parse(TEXT)
    rule = optgen.load(optimizer, dtype)
    kernel = build(optimizer, Variant({}, dtype))
    for what, values in MATRICES.items():
        g = np.array(values, dtype)
        step = rule.bind([np.zeros_like(g)], [g])
        step()
        buffers = {b.name: np.zeros({"row": g.shape[0], "col": g.shape[1], "tensor": 1}.get(b.kind.value, g.shape))
                   for b in kernel.buffers}  # fmt: skip
        buffers |= {"w": np.zeros_like(g), "grad": g}
        sizes = {"rank": 2.0, "size": float(g.size), "rows": float(len(g)), "cols": float(g.shape[1])}
        hyper = {"lr": 1.0, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": math.nan, "step": 1.0, **sizes}
        interpret(kernel, [TensorUpdate(buffers, hyper, 1)])
        for name in NAMES:
            for key, (_, _, axes) in SCOPES.items():
                found = np.asarray(step.state.arrays[f"{key}_{name}"][0], float).ravel()
                own = np.asarray(buffers[f"{key}_{name}"], np.float32 if dtype == "float32" else float).ravel()
                assert np.array_equal(found.astype(own.dtype), own, equal_nan=True), (what, key, name)
                expected = _meant(name, g, axes)
                np.testing.assert_allclose(
                    found, expected, rtol=1e-6 if dtype == "float32" else 1e-12, err_msg=what + name
                )


def test_logsumexp_of_groups() -> None:
    """One for each axis and each block of rows."""
    text = """optimizer G
require rank == 3 "G is of three dimensions"
state A: axis 1 = 0
state B: block 2 = 0
update:
  A' = logsumexp(g, per axis 1)
  B' = logsumexp(g, per block 2)
  w' = w
"""
    g = (300 * np.random.default_rng(0).normal(size=(4, 3, 2))).astype(np.float32)
    g[1, 1] = -np.inf
    step = optgen.load(optgen.parse(text)).bind([np.zeros_like(g)], [g])
    step()
    wide = g.astype(float)
    of_axis = np.logaddexp.reduce(np.moveaxis(wide, 1, 0).reshape(3, -1), axis=1)
    of_blocks = np.logaddexp.reduce(wide.reshape(2, -1), axis=1)
    np.testing.assert_allclose(step.state.arrays["A"][0].ravel(), of_axis, rtol=1e-6)
    np.testing.assert_allclose(step.state.arrays["B"][0].ravel(), of_blocks, rtol=1e-6)


def test_a_reduction_of_groups_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its record, as any new one: here the mean, which groups have a call for otherwise."""
    monkeypatch.setattr(lower, "GROUPED", ("sum", "max", "min"))
    text = "optimizer M\nstate B: block 2 = 0\nupdate:\n  B' = mean(3*g, per block 2)\n  w' = w\n"
    g = np.arange(12, dtype=np.float32).reshape(4, 3)
    optimizer = optgen.parse(text)
    found = stages(optimizer, Variant({}, "float32"), (), first=True).walk()
    assert not any(isinstance(x, CallStage) and x.function == "mean" for x in found)
    step = optgen.load(optimizer).bind([np.zeros_like(g)], [g])
    step()
    np.testing.assert_allclose(step.state.arrays["B"][0].ravel(), [3 * g[:2].mean(), 3 * g[2:].mean()])


def test_logsumexp_over_params() -> None:
    text = "optimizer P\nstate D: shared = 0\nupdate:\n  D' = logsumexp(g, over params)\n  w' = w\n"
    gs = [np.array(x, np.float32) for x in ([1.0, 500.0], [[-2.0], [501.0]], [3.0])]
    step = optgen.load(optgen.parse(text)).bind([np.zeros_like(g) for g in gs], gs)
    step()
    expected = np.logaddexp.reduce(np.concatenate([g.ravel() for g in gs]).astype(float))
    assert float(np.ravel(step.state.arrays["D"][0])[0]) == pytest.approx(expected, rel=1e-6)
