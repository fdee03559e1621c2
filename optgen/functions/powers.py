"""Powers and roots."""

from __future__ import annotations

import math

import numpy as np

from optgen.expressions import Binary, Expr
from optgen.functions import interval
from optgen.functions.interval import ALL, NONNEGATIVE, Bounds, has_no_sign, sign_of
from optgen.functions.record import (
    Elementwise,
    Expanded,
    ForeignSpelling,
    FunctionRecord,
    Inline,
    Rewritten,
    Root,
    Symbolic,
    elementwise,
)


def _pow_shown(x: Expr, y: Expr) -> Expr:
    return Binary("^", x, y, x.span)


SQRT = elementwise(
    "sqrt",
    "the square root",
    Root(2, "√"),
    Elementwise(
        arguments=("x",),
        meaning=np.sqrt,
        operations=Inline(lambda b, x: b.sqrt(x)),
        bounds=lambda x: NONNEGATIVE if has_no_sign(x) else Bounds(-0.0, math.inf),
        domain=NONNEGATIVE,
        takes_matrix=False,
        parity="neither",
        degree="1/2",
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.sqrt(x), of_numbers=True),
        derivative=("0.5/sqrt(x)",),
        spelling=ForeignSpelling(c="sqrt({x})", torch="torch.sqrt({x})", jax="jnp.sqrt({x})"),
    ),
)
CBRT = elementwise(
    "cbrt",
    "the cube root",
    Root(3, "∛"),
    Elementwise(
        arguments=("x",),
        meaning=np.cbrt,
        operations=Expanded("power", "cbrt"),
        bounds=sign_of,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="1/3",
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.cbrt(x), of_numbers=False),
        derivative=("1/(3*cbrt(x)^2)",),
        spelling=ForeignSpelling(
            c="cbrt({x})", torch="torch.copysign(torch.pow(torch.abs({x}), 1/3), {x})", jax="jnp.cbrt({x})"
        ),
    ),
)
POW = elementwise(
    "pow",
    "x to the power y, as in C99; also written `x^y`",
    Rewritten(_pow_shown),
    Elementwise(
        arguments=("x", "y"),
        meaning=np.float_power,
        operations=Expanded("power", "pow"),
        bounds=interval.power,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x, y: x**y, of_numbers=True),
        derivative=("y*x^(y - 1)", "x^y*log(x)"),
        spelling=ForeignSpelling(c="pow({x}, {y})", torch="torch.pow({x}, {y})", jax="jnp.power({x}, {y})"),
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (SQRT, CBRT, POW)
