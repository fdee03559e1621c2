"""Optimizers of matrices against their formulas, written a second time in NumPy: what their tests share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import optgen

Array = Any
Kept = defaultdict[str, Any]
LR, WD = 0.05, 0.1


def check(
    formula: Callable[..., Array], shapes: Sequence[tuple[int, int]], steps: int, read: dict[str, Any], **given: Any
) -> None:
    """Compare the spec that is named as a formula with it, in float64.

    The formula takes a weight, its gradient, what it keeps (0 where nothing was kept yet), the update count, and
    `read`; it returns the new weight. The spec is given the rate LR, `read` and `given`.
    """
    rng = np.random.default_rng(3)
    weights, grads = ([rng.normal(size=s) for s in shapes] for _ in range(2))
    expected, kept = [w.copy() for w in weights], [Kept(float) for _ in shapes]
    step = optgen.load(formula.__name__, dtype="float64", lr=LR, **read, **given).bind(weights, grads)
    for t in range(1, steps + 1):
        for g in grads:
            g[...] = rng.normal(size=g.shape)
        step()
        for i, g in enumerate(grads):
            expected[i] = formula(expected[i], g, kept[i], t, **read)
            np.testing.assert_allclose(weights[i], expected[i], rtol=1e-6, atol=1e-7, err_msg=f"{shapes[i]} {t}")
