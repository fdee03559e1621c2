"""Draws: random numbers. Each is one of a random word, whose first bits are those of its probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from optgen.functions.interval import ALL, UNIT, Bounds
from optgen.functions.record import Distribution, Draw, Expanded, FunctionRecord


def _quantile(p: Any) -> Any:
    from statistics import NormalDist

    return np.vectorize(NormalDist().inv_cdf, otypes=[float])(p)


def _draw(name: str, doc: str, shown: Distribution, what: Draw) -> FunctionRecord:
    """The record of a draw."""
    usage = f"{name}(), {name}(per row) or {name}(rows x r)"
    return FunctionRecord(name, (0,), False, usage, "draws", {f"{name}()": doc}, shown, None, None, what, None)


NORMAL = _draw(
    "normal",
    "for each element a number from the normal distribution of mean 0 and variance 1",
    Distribution(r"\mathcal{N}(0, 1)", "N(0, 1)", "\U0001d4a9", ("0", "1"), ("(", ")")),
    Draw(
        meaning=_quantile,
        operations=Expanded("random", "normal"),
        of_elements=Expanded("random", "normal_single"),
        bounds=ALL,
        typical=0.5,
    ),
)
UNIFORM = _draw(
    "uniform",
    "for each element a number between 0 and 1, never 0 or 1",
    Distribution(r"\mathcal{U}(0, 1)", "U(0, 1)", "\U0001d4b0", ("0", "1"), ("(", ")")),
    Draw(
        meaning=lambda p: p,
        operations=Expanded("random", "uniform"),
        of_elements=Expanded("random", "uniform"),
        bounds=UNIT,
        typical=0.5,
    ),
)
RADEMACHER = _draw(
    "rademacher",
    "for each element -1 or 1, each in half of the cases",
    Distribution(r"\mathcal{U}\{-1, 1\}", "U{−1, 1}", "\U0001d4b0", ("−1", "1"), ("{", "}")),
    Draw(
        meaning=lambda p: np.where(p < 0.5, 1.0, -1.0),
        operations=Expanded("random", "rademacher"),
        of_elements=Expanded("random", "rademacher"),
        bounds=Bounds(-1.0, 1.0),
        typical=1.0,
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (NORMAL, UNIFORM, RADEMACHER)
