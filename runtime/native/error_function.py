"""The error function and its gradient, one pass each. n is the number of elements.

The rational approximations of W. J. Cody (1969), whose error is below that of float64: see `elementwise.special`.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function
from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.native.formulas import exp_nonpositive

NEAR = 0.46875
"""Up to here, the series around 0 is used."""
FAR = 6.0
"""From here on, the error function is 1."""
SLOPE_AT_0 = 1.1283791670955126
"""2/sqrt(pi)."""


@function
def near_zero(s: float) -> float:
    """`erf(x)/x` for |x| up to NEAR, of s = x^2."""
    p = 1.85777706184603153e-1
    p = p * s + 3.16112374387056560
    p = p * s + 1.13864154151050156e2
    p = p * s + 3.77485237685302021e2
    p = p * s + 3.20937758913846947e3
    q = s + 2.36012909523441209e1
    q = q * s + 2.44024637934444173e2
    q = q * s + 1.28261652607737228e3
    q = q * s + 2.84423683343917062e3
    return p / q


@function
def scaled_complement(x: float) -> float:
    """`exp(x^2) (1 - erf(x))` for x from NEAR to FAR."""
    p = 2.15311535474403846e-8
    p = p * x + 5.64188496988670089e-1
    p = p * x + 8.88314979438837594
    p = p * x + 6.61191906371416295e1
    p = p * x + 2.98635138197400131e2
    p = p * x + 8.81952221241769090e2
    p = p * x + 1.71204761263407058e3
    p = p * x + 2.05107837782607147e3
    p = p * x + 1.23033935479799725e3
    q = x + 1.57449261107098347e1
    q = q * x + 1.17693950891312499e2
    q = q * x + 5.37181101862009858e2
    q = q * x + 1.62138957456669019e3
    q = q * x + 3.29079923573345963e3
    q = q * x + 4.36261909014324716e3
    q = q * x + 3.43936767414372164e3
    q = q * x + 1.23033935480374942e3
    return p / q


@kernel
def erf(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        size = min(abs(v), FAR)
        far = 1.0 - exp_nonpositive(-size * size) * scaled_complement(size)
        near = v * near_zero(v * v)
        y[i] = (far if v > 0.0 else -far) if abs(v) > NEAR else near


@kernel
def erf_back(task: int, x: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = g[i] * exp_nonpositive(-x[i] * x[i]) * SLOPE_AT_0
