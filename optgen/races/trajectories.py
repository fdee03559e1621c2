"""Paths of an optimizer over functions of two variables: what its own kernels do, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optgen import api
from optgen.diagnostics import suggest
from optgen.execute.steps.phased import PhasedStep
from optgen.model import Optimizer
from optgen.races.functions import FUNCTIONS, PlaneFunction

Path = NDArray[np.float64]


def path(optimizer: Optimizer, function: str, rate: float, steps: int, **values: Any) -> Path:
    """The points before the first step and after each: an array of (steps + 1, 2), in float64.

    `rate` is the learning rate in all steps; `values` are other arguments, as of `optgen.load`. The gradients are
    exact. The point is a matrix of 2 x 1, so that rules of matrices take it: what they do to a single column. Of a spec
    with other weights to evaluate with, as Schedule-Free's, the points are these. A path that leaves the finite numbers
    ends in NaN. Where a rule's factorization fails, as of a matrix that has become infinite, it ends so, too.

    Raises KeyError for another function, ValueError for a spec that reads more than gradients and losses, and what
    `optgen.load` raises.
    """
    chosen = _function(function)
    if optimizer.inputs:
        names = ", ".join(x.name for x in optimizer.inputs)
        raise ValueError(f"{optimizer.name} reads {names}, which a path has not: it has gradients and losses alone")
    if steps < 0:
        raise ValueError(f"steps: a whole number from 0, not {steps}")
    with np.errstate(all="ignore"):
        return _walked(optimizer, chosen, rate, steps, values)


def _function(name: str) -> PlaneFunction:
    try:
        return FUNCTIONS[name]
    except KeyError:
        hint = suggest(name, FUNCTIONS) or f"there are {', '.join(FUNCTIONS)}"
        raise KeyError(f"no function {name!r}; {hint}") from None


def _walked(optimizer: Optimizer, function: PlaneFunction, rate: float, steps: int, values: dict[str, Any]) -> Path:
    found = np.full((steps + 1, 2), np.nan)
    found[0] = function.start
    point = np.array(function.start).reshape(2, 1)
    gradient = np.zeros_like(point)
    if "lr" in optimizer.reads:
        values = {"lr": rate, **values}
    rule = api.load(optimizer, "float64", **values)
    step = rule.bind([point], [gradient])
    phases: list[Callable[..., None]]
    phases = [getattr(step, phase) for phase in step.phases] if isinstance(step, PhasedStep) else [step]
    for k in range(1, steps + 1):
        for phase in phases:
            x, y = point.ravel()  # NumPy's numbers, which become infinite where Python's would raise
            gradient[:] = np.reshape(function.gradient(x, y), (2, 1))
            try:
                phase(**({"loss": float(function.value(x, y))} if optimizer.given else {}))
            except ArithmeticError:
                return found
        weights = rule.evaluate([point], step.state)[0] if optimizer.evaluate else point
        found[k] = weights.ravel()
        if not np.isfinite(found[k]).all():
            break
    return found
