"""Exponential functions and logarithms, and what is made of them."""

from __future__ import annotations

import math

import numpy as np

from optgen.expressions import Binary, Call, Expr, Number
from optgen.functions.interval import ALL, NONNEGATIVE, UNIT, Bounds, sign_of
from optgen.functions.record import (
    Elementwise,
    Expanded,
    ForeignSpelling,
    FunctionRecord,
    Rewritten,
    Symbolic,
    command,
    elementwise,
    upright,
)

_ONE_TO_ONE = Bounds(-1.0, 1.0)


def _one(expr: Expr) -> Number:
    return Number(1.0, "1", expr.span)


def _log1p_shown(x: Expr) -> Expr:
    return Call("log", (Binary("+", _one(x), x, x.span),), None, x.span)


def _expm1_shown(x: Expr) -> Expr:
    return Binary("-", Call("exp", (x,), None, x.span), _one(x), x.span)


EXP = elementwise(
    "exp",
    "e to the power x",
    command("exp"),
    Elementwise(
        arguments=("x",),
        meaning=np.exp,
        operations=Expanded("exponential", "exp"),
        bounds=lambda x: NONNEGATIVE,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.exp(x), of_numbers=False),
        derivative=("exp(x)",),
        spelling=ForeignSpelling(c="exp({x})", torch="torch.exp({x})", jax="jnp.exp({x})"),
    ),
)
EXPM1 = elementwise(
    "expm1",
    "`exp(x) - 1`, accurate near 0",
    Rewritten(_expm1_shown),
    Elementwise(
        arguments=("x",),
        meaning=np.expm1,
        operations=Expanded("exponential", "expm1"),
        bounds=lambda x: Bounds(max(sign_of(x).low, -1.0), sign_of(x).high),
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.exp(x) - 1, of_numbers=False),
        derivative=("exp(x)",),
        spelling=ForeignSpelling(c="expm1({x})", torch="torch.expm1({x})", jax="jnp.expm1({x})"),
    ),
)
LOG = elementwise(
    "log",
    "the natural logarithm",
    command("log"),
    Elementwise(
        arguments=("x",),
        meaning=np.log,
        operations=Expanded("logarithm", "log"),
        bounds=lambda x: Bounds(0.0 if x.low >= 1 else -math.inf, 0.0 if x.high <= 1 else math.inf),
        domain=NONNEGATIVE,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.log(x), of_numbers=False),
        derivative=("1/x",),
        spelling=ForeignSpelling(c="log({x})", torch="torch.log({x})", jax="jnp.log({x})"),
    ),
)
LOG1P = elementwise(
    "log1p",
    "`log(1 + x)`, accurate near 0; -inf at -1",
    Rewritten(_log1p_shown),
    Elementwise(
        arguments=("x",),
        meaning=np.log1p,
        operations=Expanded("logarithm", "log1p"),
        bounds=sign_of,
        domain=Bounds(-1.0, math.inf),
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.log(1 + x), of_numbers=False),
        derivative=("1/(1 + x)",),
        spelling=ForeignSpelling(c="log1p({x})", torch="torch.log1p({x})", jax="jnp.log1p({x})"),
    ),
)
TANH = elementwise(
    "tanh",
    "the hyperbolic tangent",
    command("tanh"),
    Elementwise(
        arguments=("x",),
        meaning=np.tanh,
        operations=Expanded("exponential", "tanh"),
        bounds=lambda x: _ONE_TO_ONE,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree=None,
        no_larger=True,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.tanh(x), of_numbers=False),
        derivative=("1 - tanh(x)^2",),
        spelling=ForeignSpelling(c="tanh({x})", torch="torch.tanh({x})", jax="jnp.tanh({x})"),
    ),
)
SIGMOID = elementwise(
    "sigmoid",
    "`1/(1 + exp(-x))`",
    upright("sigmoid"),
    Elementwise(
        arguments=("x",),
        meaning=lambda x: 1 / (1 + np.exp(np.negative(x))),
        operations=Expanded("exponential", "sigmoid"),
        bounds=lambda x: UNIT,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: 1 / (1 + sp.exp(-x)), of_numbers=False),
        derivative=("sigmoid(x)*sigmoid(-x)",),
        spelling=ForeignSpelling(c="1/(1 + exp(-({x})))", torch="torch.sigmoid({x})", jax="jax.nn.sigmoid({x})"),
    ),
)
ERF = elementwise(
    "erf",
    "the error function",
    upright("erf"),
    Elementwise(
        arguments=("x",),
        meaning=np.vectorize(math.erf, otypes=[float]),
        operations=Expanded("error_function", "erf"),
        bounds=lambda x: _ONE_TO_ONE,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.erf(x), of_numbers=False),
        derivative=("2/sqrt(pi)*exp(-x^2)",),
        spelling=ForeignSpelling(c="erf({x})", torch="torch.erf({x})", jax="jax.scipy.special.erf({x})"),
    ),
)
COSH = elementwise(
    "cosh",
    "the hyperbolic cosine",
    command("cosh"),
    Elementwise(
        arguments=("x",),
        meaning=np.cosh,
        operations=Expanded("exponential", "cosh"),
        bounds=lambda x: Bounds(1.0, math.inf),
        domain=ALL,
        takes_matrix=False,
        parity="even",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.cosh(x), of_numbers=False),
        derivative=("cosh(x)*tanh(x)",),
        spelling=ForeignSpelling(c="cosh({x})", torch="torch.cosh({x})", jax="jnp.cosh({x})"),
    ),
)
SOFTPLUS = elementwise(
    "softplus",
    "`log(1 + exp(x))`, also where `exp(x)` is no number",
    upright("softplus"),
    Elementwise(
        arguments=("x",),
        meaning=lambda x: np.logaddexp(x, 0.0),
        operations=Expanded("logarithm", "softplus"),
        bounds=lambda x: NONNEGATIVE,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.log(1 + sp.exp(x)), of_numbers=False),
        derivative=("sigmoid(x)",),
        spelling=ForeignSpelling(
            c="(fmax({x}, 0.0) + log1p(exp(-fabs({x}))))",
            torch="torch.logaddexp({x}, torch.zeros_like({x}))",
            jax="jax.nn.softplus({x})",
        ),
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (EXP, EXPM1, LOG, LOG1P, TANH, COSH, SIGMOID, SOFTPLUS, ERF)
