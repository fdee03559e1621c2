"""Elementary functions of float64 as straight lines of primitive IEEE operations.

The interpreter, the CPU (with any vector width) and the GPU agree to the bit, because they execute the same additions
and multiplications. There is no fused multiply-add, no table and no branch. Both sides of every choice are computed,
and one is selected. Arguments for which the main path is meaningless (NaN, infinities, zeros) run through it, and their
results are replaced at the end. Special values follow C99 Annex F. The error of each function is below one unit in the
last place; docs/math.md has the measured errors.

Accuracy beyond 53 bits comes from pairs `hi + lo`. Two `hi` that are multiplied are first cut to 24 significant bits
(`head`), so that the product is exact without fused multiply-add. Products with a `lo`, 2^-24 as large, are rounded.
The polynomials interpolate at Chebyshev nodes; tests/ir/coefficients.py derives them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optgen.ir.math.error_function import erf
from optgen.ir.math.exponential import exp, expm1, sigmoid, tanh
from optgen.ir.math.logarithm import log, log1p
from optgen.ir.math.power import cbrt, pow
from optgen.ir.math.remainder import mod
from optgen.ir.math.trigonometric import atan, atan2, cos, sin, tan

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "exp": (1, exp),
    "expm1": (1, expm1),
    "log": (1, log),
    "log1p": (1, log1p),
    "tanh": (1, tanh),
    "sigmoid": (1, sigmoid),
    "erf": (1, erf),
    "sin": (1, sin),
    "cos": (1, cos),
    "tan": (1, tan),
    "atan": (1, atan),
    "atan2": (2, atan2),
    "cbrt": (1, cbrt),
    "pow": (2, pow),
    "mod": (2, mod),
}
"""Every function by name: the number of its arguments, and a function of a builder and as many float64 values."""
