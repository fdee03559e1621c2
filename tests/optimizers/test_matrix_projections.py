"""Optimizers with states of few dimensions: against their papers in NumPy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from tests.sweeps import swept

Array = Any
Kept = defaultdict[str, Any]
States = dict[str, Array]
Formula = Callable[..., Array]
SHAPES = [((12, 7), 3), ((7, 12), 5), ((6, 6), 6), ((9, 1), 1), ((1, 4), 1)]
"""Shapes, and the dimensions that are kept."""
STEPS = 5
LR, WD = 0.05, 0.1


def dion(w: Array, g: Array, s: Kept, before: States, after: States, t: int) -> Array:
    """In step 1, the update has the dimensions that are kept; from then on, what it starts from is known."""
    if t == 1:
        assert np.linalg.matrix_rank(after["w"] - (1 - LR * WD) * w, tol=1e-9) == after["V"].shape[1]
        return after["w"].copy()
    b = before["M"] + g
    p = np.linalg.qr(b @ before["V"])[0]
    r = b.T @ p
    np.testing.assert_allclose(after["M"], b - 0.05 * p @ r.T, atol=1e-12)
    v = r / np.maximum(np.linalg.norm(r, axis=0), 1e-8)
    return (1 - LR * WD) * w - LR * np.sqrt(w.shape[0] / w.shape[1]) * p @ v.T


def smaller_side_first(x: Array) -> Array:
    return x if x.shape[0] <= x.shape[1] else x.T


def basis(w: Array, states: States) -> Array:
    return states["P"] if w.shape[0] <= w.shape[1] else states["Q"]


PROJECTION = optgen.parse("""\
optimizer Projection "the draws of Apollo, as states"
param r: int = 1 in [1, inf)
param k: int = 1 in [1, inf)
flag tall = rows > cols
state A: rows x r = 0 if not tall
state B: cols x r = 0 if tall
update:
  P  = normal(rows x r)   every k from 1 if not tall
  Q  = normal(cols x r)   every k from 1 if tall
  A' = P                  if not tall
  B' = Q                  if tall
  w' = w
""")


def projection(shape: tuple[int, int], r: int, k: int, t: int) -> Array:
    """What Apollo draws in update t."""
    w = np.zeros(shape)
    step = optgen.load(PROJECTION, dtype="float64", r=r, k=k).bind([w], [w.copy()])
    for _ in range(t):
        step()
    found: Array = step.state.arrays["B" if shape[0] > shape[1] else "A"][0]
    return found


def adam(r: Array, s: Kept, t: int) -> Array:
    s["m"], s["v"] = 0.9 * s["m"] + 0.1 * r, 0.999 * s["v"] + 0.001 * r**2
    return np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(s["v"]) + 1e-8)


def galore(w: Array, g: Array, s: Kept, before: States, after: States, t: int) -> Array:
    """With a new basis in each second update, as galore_torch has it: the first singular vectors."""
    a, p = smaller_side_first(g), basis(w, after)
    if t % 2:
        _, _, vectors = np.linalg.svd(a.T, full_matrices=False)
        v = vectors.T[:, : p.shape[1]]
        s["p"] = v * np.sign((v * p).sum(axis=0))  # a sign of each vector is free
    np.testing.assert_allclose(p, s["p"], atol=1e-9)
    u = p @ adam(p.T @ a, s, t)
    return (1 - LR * WD) * w - LR * 0.25 * (u if w.shape[0] <= w.shape[1] else u.T)


def apollo(w: Array, g: Array, s: Kept, before: States, after: States, t: int, mini: bool, scale: float) -> Array:
    a, r = smaller_side_first(g), (after["m"] if "m" in after else after["M"]).shape[1]
    p = projection(w.shape, r, 2, t)
    assert np.array_equal(p, s["p"]) == (t % 2 == 0) and p.shape == (a.shape[0], r)
    s["p"] = p
    q = p.T @ a / np.sqrt(r)
    axis = None if mini else 0
    u = a * np.linalg.norm(adam(q, s, t), axis=axis) / (np.linalg.norm(q, axis=axis) + 1e-8)
    if t > 1:
        u /= max(np.linalg.norm(u) / (s["length"] + 1e-8), 1.01) / 1.01
    s["length"] = np.linalg.norm(u)
    return (1 - LR * WD) * w - LR * np.sqrt(scale) * (u if w.shape[0] <= w.shape[1] else u.T)


CASES: list[tuple[Formula, dict[str, Any], dict[str, Any]]] = [
    (dion, {}, {}),
    (galore, {}, {"k": 2}),
    (apollo, {"mini": False, "scale": 1}, {"k": 2}),
    (apollo, {"mini": True, "scale": 4}, {"k": 2}),
]


KEPT = {0: (0, 2, 4), 1: (1, 2, 3), 2: (0, 1, 4), 3: (1, 2, 3)}
"""The numbers of shapes that each case is run with in `make test`: tall, wide, square, a row, a column."""


@pytest.mark.parametrize(
    ("formula", "read", "given", "shape_and_r"),
    swept(
        [(*case, shape) for case in CASES for shape in SHAPES],
        lambda case: SHAPES.index(case[3]) in KEPT[CASES.index(case[:3])],
    ),
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_a_spec_is_its_paper(
    formula: Formula, read: dict[str, Any], given: dict[str, Any], shape_and_r: tuple[tuple[int, int], int]
) -> None:
    shape, r = shape_and_r
    rng = np.random.default_rng(5)
    w, g = rng.normal(size=shape), np.empty(shape)
    step = optgen.load(formula.__name__, dtype="float64", lr=LR, wd=WD, r=r, **read, **given).bind([w], [g])
    expected, kept = w.copy(), defaultdict[str, Any](float)

    def states() -> States:
        return {"w": w} | {name: x[0].copy() for name, x in step.state.arrays.items() if x[0] is not None}

    for t in range(1, STEPS + 1):
        g[...] = t * rng.normal(size=shape)  # the length of an update is held back where it grows
        before = states()
        step()
        expected = formula(expected, g, kept, before, states(), t, **read)
        np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-10, err_msg=str(t))


@pytest.mark.parametrize("name", ["dion", "galore"])
def test_more_dimensions_than_a_side_has_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"4, 6.*smaller r"):
        optgen.load(name, r=5).bind([np.zeros((4, 6), np.float32)], [np.zeros((4, 6), np.float32)])
