"""Derives the constants of optgen.functions.math; `python -m tests.ir.coefficients` prints them with the fits' errors.

Each polynomial interpolates, at the Chebyshev nodes of an interval a little wider than needed, a function that is
smooth there because what is known exactly of the elementary function was divided out; hypergeometric series give that
function without cancellation. The normal quantile takes a quotient of two polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import (
    atan,
    cbrt,
    chebyfit,
    cos,
    erf,
    erfc,
    erfinv,
    exp,
    expm1,
    findroot,
    floor,
    frexp,
    hyp1f1,
    hyp1f2,
    hyp2f1,
    log,
    lu_solve,
    matrix,
    mpf,
    mpmathify,
    nstr,
    pi,
    polyval,
    sqrt,
    workdps,
)

FITS: dict[str, tuple[Callable[[Any], Any], tuple[str, str], int]] = {
    # 2 (e^r - 1 - r - r^2/2) / r^3 = 2 sum of r^n / (n+3)!
    "EXP": (lambda r: hyp1f1(1, 4, r) / 3, ("-0.3467", "0.3467"), 10),
    # 2 (atanh(s)/s - 1) / z = 2 sum of z^n / (2n+3)
    "LOG": (lambda z: 2 * hyp2f1(1, mpf(3) / 2, mpf(5) / 2, z) / 3, ("0", "0.02945"), 7),
    # 3 (atanh(s)/s - 1 - z/3) / z^2 = 3 sum of z^n / (2n+5)
    "POW": (lambda z: 3 * hyp2f1(1, mpf(5) / 2, mpf(7) / 2, z) / 5, ("0", "0.00345"), 5),
    "CBRT": (lambda m: 1 / cbrt(m), ("1", "2"), 5),
    # (sin(r)/r - 1) / z and (cos(r) - 1 + z/2) / z^2
    "SIN": (lambda z: -hyp1f2(1, 2, mpf(5) / 2, -z / 4) / 6, ("0", "0.617"), 7),
    "COS": (lambda z: hyp1f2(1, mpf(5) / 2, 3, -z / 4) / 24, ("0", "0.617"), 6),
    "ATAN": (lambda z: -hyp2f1(1, mpf(3) / 2, mpf(5) / 2, -z) / 3, ("0", "0.0626"), 9),
    "ERF": (lambda z: 2 / sqrt(pi) * hyp1f1(mpf(1) / 2, mpf(3) / 2, -z) - 1, ("0", "0.5626"), 11),
    "ERF_ONE": (lambda s: (erf(1 + s) - erf(1)) / s, ("-0.2501", "0.5001"), 15),
    # u = (x - 3)/(x + 3) of x in [1.5, 6.1]
    "ERFC": (lambda u: erfc(3 * (1 + u) / (1 - u)) * exp((3 * (1 + u) / (1 - u)) ** 2), ("-1/3", "31/91"), 14),
}
"""By name in optgen.functions.math: the function, the interval and the number of coefficients."""


def fit(name: str) -> tuple[tuple[float, ...], float]:
    """The coefficients, the constant one first, and the largest absolute error before they are rounded."""
    function, (low, high), count = FITS[name]
    with workdps(50):
        coefficients, error = chebyfit(function, [mpmathify(low), mpmathify(high)], count, error=True)
        return tuple(float(c) for c in reversed(coefficients)), float(error)


def split_log(x: float) -> tuple[float, float]:
    """log(x) as a multiple of 2^-42, to which an exponent's multiples of log 2 add exactly, and the rest."""
    with workdps(50):
        head = floor(log(mpf(x)) * 2**42) / 2**42
        return float(head), float(log(mpf(x)) - head)


def split_half_pi() -> tuple[tuple[float, ...], float]:
    """pi/2 in four parts of 24 bits, and the rest."""
    with workdps(60):
        rest, parts = pi / 2, []
        for _ in range(4):
            m, e = frexp(rest)
            parts.append(floor(m * 2**24) / 2**24 * mpf(2) ** e)
            rest -= parts[-1]
        return tuple(map(float, parts)), float(rest)


def pair(name: str) -> tuple[float, float]:
    """The double nearest to a number, and the double nearest to the difference."""
    numbers: dict[str, Callable[[], Any]] = {
        "QUARTER": lambda: pi / 4,
        "HALF": lambda: pi / 2,
        "WHOLE": lambda: mpf(pi),
        "ATAN_HALF": lambda: atan(mpf(1) / 2),
        "AT_ONE": lambda: erf(1),
    }
    with workdps(60):
        exact = numbers[name]()
        return float(exact), float(exact - mpf(float(exact)))


QUANTILE = {"QUANTILE": (11, 11)}
"""By name in optgen.functions.math.random: the degrees of numerator and denominator."""
PIECE_COEFFICIENTS = 7
MOST = mpf("22.2")  # -log(4p(1-p)) at p = 2^-33 is 21.5


def quantile(w: Any) -> Any:
    """The normal quantile of p > 1/2 divided by p - 1/2, as a function of w = -log(4p(1-p)) > 0; analytic at 0."""
    q = sqrt(-expm1(-w)) / 2
    if w < 3:
        return sqrt(2) * erfinv(2 * q) / q
    log_tail = log(exp(-w) / 4 / (mpf(1) / 2 + q))
    return findroot(lambda z: log(erfc(z / sqrt(2)) / 2) - log_tail, sqrt(2 * w)) / q


def fit_quantile(name: str) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Numerator, denominator and the largest relative error of the quotient that meets `quantile` at as many points.

    They are the Chebyshev nodes on [0, 1] taken to [0, MOST] by a quotient of first degree, half of them below 5.9:
    the singularities at +-2 pi i are nearest to the lower end.
    """
    n, m = QUANTILE[name]
    with workdps(50):
        count = n + m + 1
        middle = [(1 - cos(pi * (2 * k + 1) / (2 * count))) / 2 for k in range(count)]
        nodes = [8 * v / (1 - (1 - 8 / MOST) * v) for v in middle]
        system, right = matrix(count, count), matrix(count, 1)
        for row, x in enumerate(nodes):
            right[row] = quantile(x)
            for j in range(n + 1):
                system[row, j] = x**j
            for j in range(1, m + 1):
                system[row, n + j] = -right[row] * x**j
        solution = list(lu_solve(system, right))
        upper, lower = solution[: n + 1], [mpf(1), *solution[n + 1 :]]

        def error(x: Any) -> Any:
            return abs(polyval(upper[::-1], x) / polyval(lower[::-1], x) / quantile(x) - 1)

        most = max(error(MOST * (mpf(k) / 200) ** 2) for k in range(1, 201))
        return tuple(map(float, upper)), tuple(map(float, lower)), float(most)


def fit_pieces() -> list[tuple[float, ...]]:
    """The tables of optgen.functions.math.normal_pieces: of each coefficient, the constant one first, in the order of
    the lowest 5 bits of the exponent of t. A piece meets the quantile at the Chebyshev nodes."""
    tables = [[0.0] * 32 for _ in range(PIECE_COEFFICIENTS)]
    with workdps(40):
        for k in range(31):

            def piece(x: Any, k: int = k) -> Any:
                p = (x + mpf(3) / 2) * mpf(2) ** (k - 32)
                q = mpf(1) / 2 - p
                return quantile(-log(4 * p * (1 - p))) * q if q else q

            for table, c in zip(tables, reversed(chebyfit(piece, [-0.5, 0.5], PIECE_COEFFICIENTS)), strict=True):
                table[(127 + k) % 32] = float(np.float32(float(c)))
    return [tuple(table) for table in tables]


if __name__ == "__main__":
    for name in FITS:
        coefficients, error = fit(name)
        print(f"{name} = {coefficients}  # error {nstr(error, 3)}")
    for label, x in {"LN2": 2.0, "LOG_C_LOW": 203 / 256, "LOG_C_HIGH": 323 / 256}.items():
        print(f"{label}_HI, {label}_LO = {split_log(x)}")
    for name in QUANTILE:
        upper, lower, error = fit_quantile(name)
        print(f"{name} = {upper}, {lower}  # error {nstr(error, 3)}")
    for table in fit_pieces():
        print(f"    ({', '.join(str(np.float32(c)) for c in table)}),")
