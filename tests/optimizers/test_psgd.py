"""PSGD with Kronecker factors against its paper in NumPy, where diagonal factors are vectors of any side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import optgen
from tests.optimizers.matrices import LR, WD, Array, Kept

TRIANGULAR: list[tuple[int, ...]] = [(6, 5), (3, 8), (7, 7), (5,), ()]
SHAPES = [*TRIANGULAR, (12, 4), (4, 12), (11, 10), (1, 7), (7, 1), (2, 3, 4)]
LONGEST = 9
"""Of the sides whose factors are triangular."""
RATE, DAMPING = 0.1, 0.000345

DRAWN = optgen.parse("""\
optimizer Drawn "the draws of PSGDKron, and of PSGDDiagonal in it"
state first  = 0
state second = 0
update:
  V       = normal()
  U       = normal()
  first'  = V
  second' = U
  w'      = w
""")


def times(q: Array, x: Array) -> Array:
    """A factor of rows by a matrix."""
    return q @ x if q.ndim == 2 else q[:, None] * x


def divided(q: Array, x: Array) -> Array:
    return np.linalg.solve(q.T, x) if q.ndim == 2 else x / q[:, None]


def learned(q: Array, a: Array, b: Array) -> Array:
    """A factor of rows after an update, for a gradient and a draw that all factors have been applied to."""
    if q.ndim == 1:
        a, b = (a**2).sum(axis=1), (b**2).sum(axis=1)
        return q * (1 - RATE * (a - b) / (a + b).max())
    a, b = a @ a.T, b @ b.T
    column = (a + b)[:, np.argmax(np.linalg.norm(a + b, axis=0))]
    x = column @ (a + b)
    return q - RATE / np.linalg.norm((a + b) @ (x / np.linalg.norm(x))) * np.triu(a - b) @ q


def psgd(w: Array, g: Array, v: Array, s: Kept, t: int, k: int) -> Array:
    shape, is_vector = w.shape, w.ndim < 2
    w, g, v = (x.reshape(shape[0] if shape else 1, -1) for x in (w, g, v))
    if t == 1:
        s["L"], s["R"] = (np.eye(n) if n <= LONGEST and not is_vector else np.ones(n) for n in w.shape)
    s["m"] = 0.9 * s["m"] + 0.1 * g
    mean = s["m"] / (1 - 0.9**t)
    if t % k == 0:
        noisy = mean + DAMPING * np.abs(mean).mean() * v
        left, right = s["L"], s["R"]
        a, b = (f(right, f(left, x).T).T for f, x in ((times, noisy), (divided, v)))
        balance = np.sqrt(np.abs(right).max() / np.abs(left).max()) if t % (100 * k) == 0 and not is_vector else 1
        s["L"] = learned(left, a, b) * balance
        s["R"] = right if is_vector else learned(right, a.T, b.T) / balance
    u = times(s["L"].T, times(s["L"], mean))
    u = times(s["R"].T, times(s["R"], u.T)).T
    u *= min(1, 1.1 / np.sqrt((u**2).mean()))
    return (w - LR * (u + WD * w)).reshape(shape)


def check(shapes: Sequence[tuple[int, ...]], k: int, steps: int) -> None:
    rng = np.random.default_rng(4)
    weights, grads = ([np.array(rng.normal(size=s)) for s in shapes] for _ in range(2))
    still = [w.copy() for w in weights]
    step = optgen.load("psgd_kron", dtype="float64", lr=LR, wd=WD, k=k, max_size=LONGEST).bind(weights, grads)
    draw = optgen.load(DRAWN, dtype="float64").bind(still, grads)
    expected: list[Array] = [w.copy() for w in weights]
    kept = [defaultdict[str, Any](float) for _ in shapes]
    for t in range(1, steps + 1):
        for g in grads:
            g[...] = 10 * rng.normal(size=g.shape)  # so that factors become small, and the trust region lets go
        step()
        draw()
        for i, g in enumerate(grads):
            is_own = step.state.arrays["Q"][i] is not None
            v = draw.state.arrays["first" if is_own else "second"][i]
            assert v is not None
            expected[i] = psgd(expected[i], g, v, kept[i], t, k)
            np.testing.assert_allclose(weights[i], expected[i], rtol=1e-9, atol=1e-10, err_msg=f"{shapes[i]} {t}")


def test_psgd_of_triangular_factors_is_its_paper() -> None:
    check(TRIANGULAR, 1, 101)  # balanced in step 100


@pytest.mark.stress  # compiles three variants more
@pytest.mark.parametrize(("k", "steps"), [(1, 101), (3, 7)])
def test_psgd_is_its_paper(k: int, steps: int) -> None:
    check(SHAPES, k, steps)
