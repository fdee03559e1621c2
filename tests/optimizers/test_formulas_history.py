"""The optimizers that keep what former updates had. See formulas.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.optimizers.formulas import LR, WD, Array, Formula, Kept, Traits, case_id, check_extremes, check_steps, named


def adashift(w: Array, g: Array, s: Kept, t: int, n: int = 10, spatial: bool = True) -> Array:
    past: list[Array] = s.setdefault("past", [])
    past.append(g + WD * w)
    last = past[-n:]
    weights = [0.9**i for i in range(len(last))]
    m = sum(a * x for a, x in zip(weights, reversed(last), strict=True)) / sum(0.9**i for i in range(n))
    if t <= n:
        return w
    square = past[t - n - 1] ** 2
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * (square.max() if spatial else square)
    return w - LR * m / (np.sqrt(s["v"] / (1 - 0.999 ** (t - n))) + 1e-8)


CASES: list[tuple[Formula, dict[str, Any]]] = [
    (adashift, {}),
    (adashift, {"n": 1}),
    (adashift, {"n": 3}),
    (adashift, {"n": 2, "spatial": False}),
]
TRAITS: dict[Formula, Traits] = {}


@pytest.mark.parametrize(("formula", "values"), CASES, ids=case_id)
def test_steps(formula: Formula, values: dict[str, Any]) -> None:
    check_steps(formula, values, TRAITS.get(formula, Traits()))


@pytest.mark.parametrize("name", named(CASES))
def test_zeros_and_extremes_in_float32(name: str) -> None:
    check_extremes(name)
