"""What the formulas of all families share: test_formulas.py compares optimizers with them. float64.

A formula has the name of its spec. It takes one weight, its gradient (rescaled and clipped), what it keeps (0 where
nothing was kept yet), the update count, and what the spec reads; it returns the new weight. A joint formula takes the
lists of all parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Kept = defaultdict[str, Any]
Formula = Callable[..., Any]
Cases = list[tuple[Formula, dict[str, Any]]]
"""Formulas, each with values of its params."""
LR, WD = 0.05, 0.1


@dataclass(frozen=True)
class Traits:
    """What is special about a formula."""

    joint: bool = False
    reads: str = ""
    """The spec's input; or `z`, its first draw."""
    evaluated: bool = False
    """The weight to evaluate a model with is kept as `x`."""
    watched: str = ""
    """A state of kind `shared`, kept by that name with the first parameter."""


def moments(g: Array, s: Kept, beta1: float, beta2: float) -> None:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = beta2 * s["v"] + (1 - beta2) * g * g


def corrected(s: Kept, t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
    return s["m"] / (1 - beta1**t), s["v"] / (1 - beta2**t)


def adam(g: Array, s: Kept, t: int, beta1: float, beta2: float, epsilon: float = 1e-8) -> Array:
    """Adam's step, without its rate."""
    moments(g, s, beta1, beta2)
    m_hat, v_hat = corrected(s, t, beta1, beta2)
    return m_hat / (np.sqrt(v_hat) + epsilon)


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def by_row(x: Array, reduce: Callable[..., Array]) -> Array:
    """One number for each slice x[i], of the shape of x but for lengths of 1."""
    return reduce(x.reshape(len(x), -1), axis=1).reshape(-1, *[1] * (x.ndim - 1))


def flat(xs: list[Array]) -> Array:
    return np.concatenate([np.ravel(x) for x in xs])
