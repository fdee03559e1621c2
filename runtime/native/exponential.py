"""exp and what is made of it, as straight-line code that becomes vector code: for use in kernels.

Each is exact to a few units in the last place, in float32 and float64.
"""

from __future__ import annotations

from optgen.loops.language import function, power_of_2

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693145751953125
"""log(2) to 15 bits, so that a product with an exponent is exact in float32; LN2_LOW is the rest."""
LN2_LOW = 1.4286068203094172e-06
LARGEST = 80.0
"""Arguments are cut off here, where float32 still has an exponent for the result."""


@function
def late_terms(r: float) -> float:
    """The terms of the series of exp from `r^8/8!` to `r^13/13!`, over `r^8`."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    return p


@function
def series(r: float, p: float) -> float:
    """`exp(r) - 1` by its series, for small r; p are the terms from `r^8/8!` on, over `r^8`."""
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    return p * r * r + r


@function
def exp_less_1(argument: float) -> float:
    """`exp(x) - 1`, also where that is small: 2^n exp(r) - 1, with |r| <= log(2)/2, by the series of exp."""
    x = min(max(argument, -LARGEST), LARGEST)
    n = round(x * LOG2_E)
    r = x - n * LN2_HIGH - n * LN2_LOW
    p = series(r, late_terms(r))
    scale = power_of_2(n)
    return scale * p + (scale - 1.0)


@function
def decay(argument: float) -> float:
    """`exp(x)` for x <= 0, to the last place; 0 where it is no normal number any more."""
    end = -87.0 if 1.0 + 1e-12 == 1.0 else -708.0  # of float32, else of float64
    x = max(argument, end)
    n = round(x * LOG2_E)
    r = x - n * LN2_HIGH - n * LN2_LOW
    p = series(r, late_terms(r) if end < -87.0 else 1.0 / 40320.0)
    return 0.0 if argument < end else (p + 1.0) * power_of_2(n)


@function
def sigmoid(x: float) -> float:
    """`1/(1 + exp(-x))`; nowhere less than 1e-35."""
    return 1.0 / (2.0 + exp_less_1(-x))


@function
def tanh(x: float) -> float:
    e = exp_less_1(2.0 * x)
    return e / (e + 2.0)
