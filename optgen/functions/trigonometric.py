"""Functions of angles, in radians, and angles of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from optgen.functions.interval import ALL, Bounds, has_no_sign
from optgen.functions.record import (
    Elementwise,
    Expanded,
    ForeignSpelling,
    FunctionName,
    FunctionRecord,
    Symbolic,
    command,
    elementwise,
    upright,
)

LARGEST = 2.0**28
"""The largest angle, in magnitude, that these functions have a value for."""
_ANGLES = Bounds(-LARGEST, LARGEST)
_ONE_TO_ONE = Bounds(-1.0, 1.0)


def _of_angle(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.where(np.abs(x) <= LARGEST, function(x), np.nan)


def _angle(y: Bounds, x: Bounds) -> Bounds:
    """The angle of a point (x, y): in the right half of the plane, in the upper one, or anywhere. A -0 is on the left,
    and below."""
    largest = math.pi / 2 if has_no_sign(x) else math.pi
    return Bounds(0.0 if has_no_sign(y) else -0.0 if y.low >= 0 and has_no_sign(x) else -largest, largest)


SIN = elementwise(
    "sin",
    "the sine of x radians",
    command("sin"),
    Elementwise(
        arguments=("x",),
        meaning=_of_angle(np.sin),
        operations=Expanded("trigonometric", "sin"),
        bounds=lambda x: _ONE_TO_ONE,
        domain=_ANGLES,
        takes_matrix=False,
        parity="odd",
        degree=None,
        no_larger=True,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.sin(x), of_numbers=False),
        derivative=("cos(x)",),
        spelling=ForeignSpelling(c="sin({x})", torch="torch.sin({x})", jax="jnp.sin({x})"),
    ),
)
COS = elementwise(
    "cos",
    "the cosine",
    command("cos"),
    Elementwise(
        arguments=("x",),
        meaning=_of_angle(np.cos),
        operations=Expanded("trigonometric", "cos"),
        bounds=lambda x: _ONE_TO_ONE,
        domain=_ANGLES,
        takes_matrix=False,
        parity="even",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.cos(x), of_numbers=False),
        derivative=("-sin(x)",),
        spelling=ForeignSpelling(c="cos({x})", torch="torch.cos({x})", jax="jnp.cos({x})"),
    ),
)
TAN = elementwise(
    "tan",
    "the tangent",
    command("tan"),
    Elementwise(
        arguments=("x",),
        meaning=_of_angle(np.tan),
        operations=Expanded("trigonometric", "tan"),
        bounds=lambda x: ALL,
        domain=_ANGLES,
        takes_matrix=False,
        parity="odd",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.tan(x), of_numbers=False),
        derivative=("1 + tan(x)^2",),
        spelling=ForeignSpelling(c="tan({x})", torch="torch.tan({x})", jax="jnp.tan({x})"),
    ),
)
ATAN = elementwise(
    "atan",
    "the arc tangent",
    FunctionName(r"\arctan", "atan", "arctan"),
    Elementwise(
        arguments=("x",),
        meaning=np.arctan,
        operations=Expanded("trigonometric", "atan"),
        bounds=lambda x: Bounds(-math.pi / 2, math.pi / 2),
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree=None,
        no_larger=True,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.atan(x), of_numbers=False),
        derivative=("1/(1 + x^2)",),
        spelling=ForeignSpelling(c="atan({x})", torch="torch.atan({x})", jax="jnp.arctan({x})"),
    ),
)
ATAN2 = elementwise(
    "atan2",
    "the angle of the point (x, y), from -pi to pi, as in C99",
    upright("atan2"),
    Elementwise(
        arguments=("y", "x"),
        meaning=np.arctan2,
        operations=Expanded("trigonometric", "atan2"),
        bounds=_angle,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, y, x: sp.atan2(y, x), of_numbers=False),
        derivative=("x/(x^2 + y^2)", "-y/(x^2 + y^2)"),
        spelling=ForeignSpelling(c="atan2({y}, {x})", torch="torch.atan2({y}, {x})", jax="jnp.arctan2({y}, {x})"),
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (SIN, COS, TAN, ATAN, ATAN2)
