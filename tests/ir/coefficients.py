"""Derives the constants of optgen.ir.math; `python -m tests.ir.coefficients` prints them with the fits' errors.

Each polynomial interpolates, at the Chebyshev nodes of an interval a little wider than needed, a function that is
smooth there because what is known exactly of the elementary function was divided out; hypergeometric series give that
function without cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import cbrt, chebyfit, floor, hyp1f1, hyp2f1, log, mpf, nstr, workdps

FITS: dict[str, tuple[Callable[[Any], Any], tuple[str, str], int]] = {
    # 2 (e^r - 1 - r - r^2/2) / r^3 = 2 sum of r^n / (n+3)!
    "EXP": (lambda r: hyp1f1(1, 4, r) / 3, ("-0.3467", "0.3467"), 10),
    # 2 (atanh(s)/s - 1) / z = 2 sum of z^n / (2n+3)
    "LOG": (lambda z: 2 * hyp2f1(1, mpf(3) / 2, mpf(5) / 2, z) / 3, ("0", "0.02945"), 7),
    # 3 (atanh(s)/s - 1 - z/3) / z^2 = 3 sum of z^n / (2n+5)
    "POW": (lambda z: 3 * hyp2f1(1, mpf(5) / 2, mpf(7) / 2, z) / 5, ("0", "0.00345"), 5),
    "CBRT": (lambda m: 1 / cbrt(m), ("1", "2"), 5),
}
"""By name in optgen.ir.math: the function, the interval and the number of coefficients."""


def fit(name: str) -> tuple[tuple[float, ...], float]:
    """The coefficients, the constant one first, and the largest absolute error before they are rounded."""
    function, (low, high), count = FITS[name]
    with workdps(50):
        coefficients, error = chebyfit(function, [mpf(low), mpf(high)], count, error=True)
        return tuple(float(c) for c in reversed(coefficients)), float(error)


def split_log(x: float) -> tuple[float, float]:
    """log(x) as a multiple of 2^-42, to which an exponent's multiples of log 2 add exactly, and the rest."""
    with workdps(50):
        head = floor(log(mpf(x)) * 2**42) / 2**42
        return float(head), float(log(mpf(x)) - head)


if __name__ == "__main__":
    for name in FITS:
        coefficients, error = fit(name)
        print(f"{name} = {coefficients}  # error {nstr(error, 3)}")
    for label, x in {"LN2": 2.0, "LOG_C_LOW": 203 / 256, "LOG_C_HIGH": 323 / 256}.items():
        print(f"{label}_HI, {label}_LO = {split_log(x)}")
