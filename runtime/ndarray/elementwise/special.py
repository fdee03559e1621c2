"""The error function, the gamma function and their relatives for float64 arrays, accurate to a few units in the last
place.

Rational approximations on intervals: W. J. Cody, "Rational Chebyshev approximations for the error function" (1969);
Cody and Hillstrom, "Chebyshev approximations for the natural logarithm of the gamma function" (1967), with the gamma
function of their SPECFUN; M. J. Wichura, "The percentage points of the normal distribution" (AS 241, 1988).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from runtime.core.backend import is_host

Coefficients = Sequence[float]
Array = np.ndarray

# Polynomials, the highest power first.
# fmt: off
_ERF = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_ERFC = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)
_QUANTILE_CENTRE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)
_QUANTILE_MIDDLE = (
    (7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)
_QUANTILE_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)
_GAMMA = (
    (-1.71618513886549492533811, 2.47656508055759199108314e1, -3.79804256470945635097577e2,
     6.29331155312818442661052e2, 8.66966202790413211295064e2, -3.14512729688483675254357e4,
     -3.61444134186911729807069e4, 6.64561438202405440627855e4, 0.0),
    (1.0, -3.08402300119738975254353e1, 3.15350626979604161529144e2, -1.01515636749021914166146e3,
     -3.10777167157231109440444e3, 2.25381184209801510330112e4, 4.75584627752788110767815e3,
     -1.34659959864969306392456e5, -1.15132259675553483497211e5),
)
_GAMMALN_1 = (
    (4.945235359296727046734888, 2.018112620856775083915565e2, 2.290838373831346393026739e3,
     1.131967205903380828685045e4, 2.855724635671635335736389e4, 3.848496228443793359990269e4,
     2.637748787624195437963534e4, 7.225813979700288197698961e3),
    (1.0, 6.748212550303777196073036e1, 1.113332393857199323513008e3, 7.738757056935398733233834e3,
     2.763987074403340708898585e4, 5.499310206226157329794414e4, 6.161122180066002127833352e4,
     3.635127591501940507276287e4, 8.785536302431013170870835e3),
)
_GAMMALN_2 = (
    (4.974607845568932035012064, 5.424138599891070494101986e2, 1.550693864978364947665077e4,
     1.847932904445632425417223e5, 1.088204769468828767498470e6, 3.338152967987029735917223e6,
     5.106661678927352456275255e6, 3.074109054850539556250927e6),
    (1.0, 1.830328399370592604055942e2, 7.765049321445005871323047e3, 1.331903827966074194402448e5,
     1.136705821321969608938755e6, 5.267964117437946917577538e6, 1.346701454311101692290052e7,
     1.782736530353274213975932e7, 9.533095591844353613395747e6),
)
_GAMMALN_4 = (
    (1.474502166059939948905062e4, 2.426813369486704502836312e6, 1.214755574045093227939592e8,
     2.663432449630976949898078e9, 2.940378956634553899906876e10, 1.702665737765398868392998e11,
     4.926125793377430887588120e11, 5.606251856223951465078242e11),
    (-1.0, 2.690530175870899333379843e3, 6.393885654300092398984238e5, 4.135599930241388052042842e7,
     1.120872109616147941376570e9, 1.488613728678813811542398e10, 1.016803586272438228077304e11,
     3.417476345507377132798597e11, 4.463158187419713286462081e11),
)
# fmt: on

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""The Bernoulli numbers of index 2, 4, 6, ..., of which the asymptotic series of the gamma functions are made."""


def _polynomial(coefficients: Coefficients, x: Array) -> Array:
    value = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value *= x
        value += c
    return value


def _rational(fraction: tuple[Coefficients, Coefficients], x: Array) -> Array:
    return _polynomial(fraction[0], x) / _polynomial(fraction[1], x)


def _by_interval(x: Array, *pieces: tuple[Array, Callable[[Array], Array]]) -> Array:
    """For each pair `(where, function)`, `function(x)` where `where` is True; NaN where none is."""
    y = np.full_like(x, np.nan)
    for where, function in pieces:
        if not is_host(x):  # picking elements would make the CPU wait for their number
            y = np.where(where, function(x), y)
        elif where.any():
            y[where] = function(x[where])
    return y


# ---------------------------------------------------------------- the error function


def erf(x: Array) -> Array:
    """The error function."""
    size = np.abs(x)
    near = size <= 0.46875

    def far(x: Array) -> Array:
        size = np.minimum(np.abs(x), 6.0)  # where it is 1
        return np.copysign(1 - np.exp(-size * size) * _rational(_ERFC, size), x)

    return _by_interval(x, (near, lambda x: x * _rational(_ERF, x * x)), (size > 0.46875, far))


def erfinv(y: Array) -> Array:
    """The inverse of `erf`: NaN outside of [-1, 1], infinite at its ends."""
    size = np.abs(y)

    def centre(y: Array) -> Array:
        return y * (_rational(_QUANTILE_CENTRE, 0.180625 - 0.25 * y * y) * (0.5 * math.sqrt(0.5)))

    def outside(fraction: tuple, shift: float) -> object:
        return lambda y: np.copysign(_rational(fraction, _root(y) - shift) * math.sqrt(0.5), y)

    depth = _root(y)
    return _by_interval(
        y,
        (size <= 0.85, centre),
        ((size > 0.85) & (depth <= 5), outside(_QUANTILE_MIDDLE, 1.6)),
        ((size < 1) & (depth > 5), outside(_QUANTILE_TAIL, 5.0)),
        (size == 1, lambda y: np.copysign(np.inf, y)),
    )


def _root(y: Array) -> Array:
    return np.sqrt(-np.log(0.5 * (1 - np.abs(y))))


# ---------------------------------------------------------------- the gamma function


def gamma(x: Array) -> Array:
    """The gamma function: infinite at 0, NaN at the negative integers."""

    def reflected(x: Array) -> Array:  # Γ(x) Γ(-x) = -π/(x sin πx)
        value = -np.pi / (x * _sine(x) * _gamma_right(-x))
        return np.where(x == np.floor(x), np.nan, value)

    return _by_interval(x, (x < 0, reflected), (x == 0, lambda x: 1 / x), (x > 0, _gamma_right))


def _gamma_right(x: Array) -> Array:
    """The gamma function of positive numbers."""

    def near(x: Array) -> Array:  # Γ(1 + z) with z in [0, 1), and from there Γ(x + 1) = x Γ(x)
        whole = np.floor(x)
        z = x - whole
        value = 1 + _rational(_GAMMA, z)
        for step in range(1, 13):
            value = np.where(whole > step, value * (z + step), value)
        return np.where(whole == 0, value / x, value)

    def far(x: Array) -> Array:  # the power in two halves: it can be too large where the product is not
        x = np.minimum(x, 200.0)  # from 172 on it is infinite
        half = x ** (0.5 * x - 0.25)
        return half * np.exp(-x) * half * (math.sqrt(math.tau) * np.exp(_stirling(x)))

    return _by_interval(x, (x < 13, near), (x >= 13, far))


def gammaln(x: Array) -> Array:
    """`log |Γ(x)|`: infinite at 0 and at the negative integers."""

    def reflected(x: Array) -> Array:
        return np.log(np.pi / np.abs(x * _sine(x))) - _gammaln_right(-x)

    ends = (x == 0) | np.isinf(x)
    return _by_interval(
        x,
        ((x < 0) & ~ends, reflected),
        (ends, lambda x: np.full_like(x, np.inf)),
        ((x > 0) & ~ends, _gammaln_right),
    )


def _gammaln_right(x: Array) -> Array:
    """`log Γ(x)` of positive numbers; precise beside its zeros, 1 and 2."""

    def one(z: Array) -> Array:  # log Γ(1 + z)
        return z * (-np.euler_gamma + z * _rational(_GAMMALN_1, z))

    def two(z: Array) -> Array:  # log Γ(2 + z)
        return z * (1 - np.euler_gamma + z * _rational(_GAMMALN_2, z))

    return _by_interval(
        x,
        (x <= 0.5, lambda x: one(x) - np.log(x)),
        ((x > 0.5) & (x <= 0.6796875), lambda x: two(x - 1) - np.log(x)),
        ((x > 0.6796875) & (x <= 1.5), lambda x: one(x - 1)),
        ((x > 1.5) & (x <= 4), lambda x: two(x - 2)),
        ((x > 4) & (x <= 12), lambda x: math.log(6) + (x - 4) * _rational(_GAMMALN_4, x - 4)),
        (x > 12, lambda x: x * (np.log(x) - 1) - 0.5 * np.log(x) + (0.5 * math.log(math.tau) + _stirling(x))),
    )


def _stirling(x: Array) -> Array:
    """What Stirling's formula for `log Γ(x)` leaves, for x of 12 and more."""
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI[:8], start=1)]
    return _polynomial(terms[::-1], 1 / (x * x)) / x


def polygamma(n: int, x: Array) -> Array:
    """The derivative of order `n` of digamma, which is that of `gammaln`; digamma itself with n = 0.

    Digamma is infinite at its poles, 0 and the negative integers, without the sign of a side, as in MXNet.
    """
    value = _by_interval(
        x,
        (x >= 0, lambda x: _polygamma_right(n, x)),
        (x < 0, lambda x: (-1) ** n * _polygamma_right(n, 1 - x) - _cotangent(n, x)),
    )
    return np.where((x <= 0) & (x == np.rint(x)), np.inf, value) if n == 0 else value


def _polygamma_right(n: int, x: Array) -> Array:
    """By its asymptotic series, far out, and from there `ψ(x) = ψ(x + 1) - 1/x`, differentiated n times."""
    sign, power = (-1) ** (n + 1), math.factorial(n)
    value = np.zeros_like(x)
    for _ in range(16 + n):
        near = x < 16 + n
        value = np.where(near, value + sign * power / x ** (n + 1), value)
        x = np.where(near, x + 1, x)
    terms = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, start=1)]
    inverse = 1 / (x * x)
    series = _polynomial(terms[::-1], inverse) * inverse / x**n + power / 2 / x ** (n + 1)
    return value + sign * series + (np.log(x) if n == 0 else sign * math.factorial(n - 1) / x**n)


def _cotangent(n: int, x: Array) -> Array:
    """The derivative of order `n` of `π cot πx`, as a polynomial in the cotangent c: c' is -π(1 + c²)."""
    slope = np.polynomial.Polynomial([-np.pi, 0, -np.pi])
    polynomial = np.polynomial.Polynomial([0, np.pi])
    for _ in range(n):
        polynomial = polynomial.deriv() * slope
    return _polynomial(polynomial.coef[::-1], np.cos(np.pi * (x - np.rint(x))) * _parity(x) / _sine(x))


def _sine(x: Array) -> Array:
    """`sin πx`, and 0 where x is an integer."""
    return np.sin(np.pi * (x - np.rint(x))) * _parity(x)


def _parity(x: Array) -> Array:
    """1 where the integer nearest to x is even, -1 where it is odd."""
    return 1 - 2 * np.mod(np.rint(x), 2)
