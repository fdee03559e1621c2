"""Values to try functions of the language at: random and special ones, and what the functions are of them in NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.functions.record import Elementwise, Reduction
from optgen.functions.table import FUNCTIONS

Array = np.ndarray[Any, Any]
ELEMENTWISE = {name: f.elementwise for name, f in FUNCTIONS.items() if f.elementwise is not None}
REDUCTIONS = {name: f.reduction for name, f in FUNCTIONS.items() if f.reduction is not None}
OF_NUMBERS = {name: what for name, what in ELEMENTWISE.items() if not what.takes_matrix}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1000.0, -1000.0, math.inf, -math.inf, math.nan)


def random_values(what: Elementwise | Reduction, n: int = 200) -> list[Array]:
    """Arguments from -3 to 3, not near 0, within the domain; a condition is one of both."""
    rng = np.random.default_rng(0)
    found = [rng.uniform(0.05, 3, n) * rng.choice([-1.0, 1.0], n) for _ in what.arguments]
    if isinstance(what, Elementwise):
        found[0] = np.abs(found[0]) if what.domain.low == 0 else np.maximum(found[0], 0.9 * what.domain.low)
        if what.derivative[0] is None:
            found[0] = found[0] > 0
    if what.arguments == ("x", "low", "high"):
        found[2] = found[1] + np.abs(found[2])
    if what is ELEMENTWISE["pow"]:
        found[0] = np.abs(found[0])
    return found


def special_values(what: Elementwise | Reduction, values: Sequence[float] = SPECIAL) -> list[Array]:
    """All combinations of special values."""
    grid = [np.array(x) for x in zip(*itertools.product(values, repeat=len(what.arguments)), strict=True)]
    is_condition = isinstance(what, Elementwise) and what.derivative[0] is None
    return [grid[0] > 0, *grid[1:]] if is_condition else grid


def meaning(what: Elementwise | Reduction, *args: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(what.meaning(*args))
