"""The elementary functions against mpmath and C99 Annex F; `python -m tests.ir.test_math [N]` prints errors."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from optgen.functions.math import error_function, exponential, logarithm, power, tools, trigonometric
from optgen.functions.table import EXPANSIONS
from tests.functions.values import ELEMENTWISE
from tests.ir.coefficients import fit, pair, split_half_pi, split_log
from tests.ir.numpy_builder import NumpyBuilder

Array = Any
INF, NAN = math.inf, math.nan

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "cosh": mpmath.cosh,
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "erf": mpmath.erf,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "atan": mpmath.atan,
    "atan2": mpmath.atan2,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "pow": mpmath.power,
    "mod": lambda x, y: x - y * mpmath.floor(x / y),
}
LIMITS = dict.fromkeys(EXACT, 0.8) | dict.fromkeys(("expm1", "log", "log1p", "erf", "tan"), 0.9)
LIMITS |= dict.fromkeys(("cbrt", "mod"), 0.51) | dict.fromkeys(("atan", "atan2"), 0.55)
"""Allowed errors in float64, in units in the last place; in float32, rounded once from float64, 0.501 for all."""


def compute(name: str, *args: Array) -> Array:
    """The function in the arguments' dtype: float32 is widened, and the result rounded once."""
    wide = [np.asarray(a).astype(np.float64) for a in args]
    with np.errstate(all="ignore"):
        return EXPANSIONS[name][1](NumpyBuilder(), *wide).astype(np.asarray(args[0]).dtype)


# ---------------------------------------------------------------- where errors are measured

POINTS_OF_PAGE = 20_000
"""With how many `points` the figures of docs/math.md were found."""


def points(name: str, dtype: type, n: int) -> list[Array]:
    """6 to 10 n arguments (one array for each) in regions where the function is hard, rounded to `dtype`."""
    rng = np.random.default_rng(list(name.encode()))
    least, most = (-745.2, 709.8) if dtype is np.float64 else (-104.0, 88.8)
    special = {"pow": pow_regions, "atan2": angle_regions, "mod": mod_regions}
    is_of_angles = math.isfinite(ELEMENTWISE[name].domain.high)
    find = special.get(name, angle_arguments if is_of_angles else None)
    regions = find(rng, n, least, most) if find else unary_regions(name, rng, n, least, most)
    with np.errstate(over="ignore"):
        args = [np.concatenate(a).astype(dtype) for a in zip(*regions, strict=True)]
    domain = ELEMENTWISE[name].domain
    inside = (args[0] >= domain.low) & (args[0] <= domain.high)
    inside &= ~((name in ("log", "log1p")) & (args[0] == domain.low))  # which is a pole
    usable = np.logical_and.reduce([inside, *(np.isfinite(a) for a in args)])
    return [a[usable] for a in args]


def near_zero(rng: np.random.Generator, n: int, low: float, high: float) -> Array:
    """Of either sign, with exponents evenly spread over [low, high]."""
    return np.exp2(rng.uniform(low, high, n)) * rng.choice([-1.0, 1.0], n)


def unary_regions(name: str, rng: np.random.Generator, n: int, least: float, most: float) -> Iterator[tuple[Array]]:
    seams = [2**-0.5, 2**0.5, 0.5, 1, 2, 4, 8, 22, 44, 2**-54, 2**-1022, 2**-1074, 2**1023, 710, 745, 746]
    seams += [0.5 * i * math.log(2) for i in range(1, 12)]
    around = np.array(seams) * (1 + np.arange(-3, 4)[:, None] * 2.0**-52)
    yield (np.concatenate([around.ravel(), -around.ravel()]),)
    yield (rng.uniform(-1, 1, n),)
    yield (near_zero(rng, n, -60, 1),)
    yield (rng.integers(-(2**63), 2**63 - 1, n).view(np.float64),)
    yield (near_zero(rng, n, -1074, -1020) if least < -200 else near_zero(rng, n, -149, -120),)
    if name.startswith("exp"):
        yield (rng.uniform(least, most, n),)
        yield (np.concatenate([rng.uniform(least, least + 40, n // 2), rng.uniform(most - 10, most, n // 2)]),)
    elif name in ("sigmoid", "softplus"):
        yield (rng.uniform(least, 50, 2 * n),)
        yield (rng.uniform(-50, 50, n),)
    elif name == "cosh":
        yield (rng.uniform(-most - 0.7, most + 0.7, 2 * n),)
        yield (rng.uniform(-23, 23, n),)
    elif name.startswith("log"):
        offset = 1.0 if name == "log" else 0.0
        yield (offset + near_zero(rng, n, -53, -1),)
        yield (offset + rng.uniform(-0.3, 0.42, 3 * n),)
        yield (offset - 1 + np.exp2(rng.uniform(-53, 60, n)),)
    else:
        yield (rng.uniform(-23, 23, 2 * n),)


def pow_regions(rng: np.random.Generator, n: int, least: float, most: float) -> Iterator[tuple[Array, Array]]:
    def to(x: Array, low: float = least, high: float = most) -> tuple[Array, Array]:
        """x with exponents that take its power anywhere between e^low and e^high."""
        return x, rng.uniform(low, high, n) / np.log(x)

    binade = rng.uniform(0.6, 1.6, n)
    yield to(binade)
    yield to(binade, least - 1, least + 40)
    yield to(binade, most - 1, most + 0.1)
    yield to(1 + near_zero(rng, n, -52 if least < -200 else -23, -1))
    yield to(np.exp2(rng.uniform(-1074, 1023, n) if least < -200 else rng.uniform(-149, 127, n)))
    decay, count = 1 - np.exp2(rng.uniform(-30, -3, n)), np.floor(np.exp2(rng.uniform(0, 30, n)))
    yield decay, np.minimum(count, np.floor(least * 1.01 / np.log(decay)))
    whole = rng.integers(-60, 61, n).astype(np.float64)
    yield rng.uniform(-8, 8, n), whole


def angle_arguments(rng: np.random.Generator, n: int, least: float, most: float) -> Iterator[tuple[Array]]:
    quarters = np.round(rng.uniform(1, 2**28 * 0.6366, n)) * (math.pi / 2)
    yield (quarters * (1 + rng.integers(-3, 4, n) * 2.0**-52),)
    yield (rng.uniform(-1, 1, n),)
    yield (rng.uniform(-100, 100, 2 * n),)
    yield (near_zero(rng, 2 * n, -30, 28),)
    yield (near_zero(rng, n, -1074, -1020) if least < -200 else near_zero(rng, n, -149, -120),)


def angle_regions(rng: np.random.Generator, n: int, least: float, most: float) -> Iterator[tuple[Array, Array]]:
    low, high = (-1074, 1023) if least < -200 else (-149, 127)
    yield near_zero(rng, 2 * n, -3, 3), near_zero(rng, 2 * n, -3, 3)
    yield near_zero(rng, n, low, high), near_zero(rng, n, low, high)
    size = near_zero(rng, n, low + 40, high - 40)
    yield size, size * near_zero(rng, n, -30, 30)
    seam = rng.choice([0.25, 0.72, 1.0, 4.0, 2.0**-28], n) * (1 + rng.integers(-3, 4, n) * 2.0**-52)
    yield size, size * seam


def mod_regions(rng: np.random.Generator, n: int, least: float, most: float) -> Iterator[tuple[Array, Array]]:
    """Quotients below 2^47: near whole numbers too, which they can be rounded to."""
    y = near_zero(rng, 2 * n, -100, 80)
    yield y * near_zero(rng, 2 * n, -40, 46), y
    yield np.floor(near_zero(rng, n, 0, 52)), np.floor(np.exp2(rng.uniform(5, 20, n)))
    whole = np.floor(np.exp2(rng.uniform(0, 46, 2 * n)))
    yield whole * y * (1 + rng.integers(-2, 3, 2 * n) * 2.0**-52), y


# ---------------------------------------------------------------- errors


def ulps(got: float, exact: Any, dtype: type) -> float:
    """The error in units in the last place of the exact result; infinity counts as the power of two it stands for."""
    info = np.finfo(dtype)
    top = mpf(2) ** int(info.maxexp)
    if abs(exact) >= top:
        return 0.0 if got == math.copysign(INF, exact) else INF
    if math.isnan(got):
        return INF
    value = math.copysign(1, got) * top if math.isinf(got) else mpf(got)
    exponent = max(mpmath.frexp(exact)[1] - info.nmant - 1, int(info.minexp) - info.nmant)
    return float(abs(value - exact) * mpf(2) ** -exponent)


def measure(name: str, dtype: type, n: int) -> tuple[float, tuple[float, ...]]:
    """The largest error over `points`, and where."""
    args = points(name, dtype, n)
    results = compute(name, *args).tolist()
    worst = (0.0, (0.0,))
    with mpmath.workprec(2300 if name == "mod" else 200):
        for got, at in zip(results, zip(*(a.tolist() for a in args), strict=True), strict=True):
            error = ulps(got, EXACT[name](*map(mpf, at)), dtype)
            worst = max(worst, (error, at))
    return worst


@pytest.mark.parametrize("name", EXPANSIONS)
def test_errors(name: str) -> None:
    assert report(name, 600)


@pytest.mark.stress
@pytest.mark.parametrize("name", EXPANSIONS)
def test_errors_at_many_points(name: str) -> None:
    assert report(name, 20_000)


def report(name: str, n: int) -> bool:
    """Print a line of the table of errors: are they within the limits?"""
    (double, where), (single, _) = measure(name, np.float64, n), measure(name, np.float32, n)
    print(f"| {name} | {double:.3f} | {', '.join(map(repr, where))} | {single:.4f} | {operations(name)} |")
    return double <= LIMITS[name] and single <= 0.501


def operations(name: str) -> int:
    """How many operations the expansion has, constants and reinterpretations of bits not counted."""
    counted = 0

    class Counter(NumpyBuilder):
        def __getattribute__(self, operation: str) -> Any:
            nonlocal counted
            counted += operation not in ("const", "iconst", "bits", "from_bits")
            return super().__getattribute__(operation)

    arity, function = EXPANSIONS[name]
    function(Counter(), *[np.float64(2.0)] * arity)
    return counted


# ---------------------------------------------------------------- special values


SPECIAL = [
    *[("exp", x, y) for x, y in [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)]],
    *[("expm1", x, y) for x, y in [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e4, INF), (-1e4, -1.0)]],
    *[("expm1", x, x) for x in (5e-324, -5e-324, 1e-310, -1e-300)],
    *[("log", x, y) for x, y in [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN)]],
    *[("log", x, y) for x, y in [(-5e-324, NAN), (5e-324, -744.4400719213812)]],
    *[("log1p", x, y) for x, y in [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-1.5, NAN), (INF, INF), (-INF, NAN)]],
    *[("log1p", x, x) for x in (5e-324, -5e-324, 1e-310, -1e-300)],
    *[("tanh", x, x) for x in (0.0, -0.0, 5e-324, -1e-310)],
    *[("tanh", x, math.copysign(1.0, x)) for x in (INF, -INF, 1e300, -40.0)],
    *[("cbrt", x, x) for x in (0.0, -0.0, INF, -INF, 1.0, -1.0)],
    *[("sigmoid", x, y) for x, y in [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (-746.0, 0.0), (40.5, 1.0)]],
    *[("cosh", x, y) for x, y in [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-711.0, INF), (710.5, INF)]],
    *[("softplus", x, x) for x in (INF, 1000.0, 41.0, 1e300)],
    *[("softplus", x, 0.0) for x in (-INF, -1000.0, -746.0)],
    *[("erf", x, y) for x, y in [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (7.0, 1.0), (-6.5, -1.0)]],
    *[(name, x, x) for name in ("sin", "tan", "atan") for x in (0.0, -0.0, 5e-324, -1e-310)],
    *[("cos", x, 1.0) for x in (0.0, -0.0, 5e-324, -1e-310)],
    *[(name, x, NAN) for name in ("sin", "cos", "tan") for x in (INF, -INF, 2.0**28 + 1, -1e300)],
    *[("atan", x, math.copysign(math.pi / 2, x)) for x in (INF, -INF, 1e300, -1e17)],
    *[(name, NAN, NAN) for name, (count, _) in EXPANSIONS.items() if count == 1],
]


def same(got: Array, want: Array) -> bool:
    """Equal to the bit, all NaN being one."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    return bool(np.all((got.view(np.int64) == want.view(np.int64)) | (np.isnan(got) & np.isnan(want))))


@pytest.mark.parametrize(("name", "x", "want"), SPECIAL)
def test_special_values(name: str, x: float, want: float) -> None:
    got = compute(name, np.float64(x))
    assert same(got, want), f"{name}({x!r}) = {got!r}, not {want!r}"


def annex_f_pow(x: float, y: float) -> float:
    """pow(x, y) where x or y is special: C99 F.9.4.4, clause by clause."""
    odd = math.isfinite(y) and y == math.floor(y) and math.fmod(y, 2.0) != 0.0
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0:
        size = INF if y < 0 else 0.0
        return math.copysign(size, x) if odd else size
    if math.isinf(y):
        return 1.0 if x == -1 else INF if (abs(x) > 1) == (y > 0) else 0.0
    if math.isinf(x):
        size = INF if y > 0 else 0.0
        return math.copysign(size, x) if odd else size
    if x < 0 and y != math.floor(y):
        return NAN
    raise ValueError(f"pow({x}, {y}) is ordinary")


def test_special_values_of_pow() -> None:
    positive = [0.0, 5e-324, 1e-310, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 2.0, 3.0, 1e300, INF, NAN]
    grid = [v for p in positive for v in (p, -p)]
    exponents = [*grid, 0.25, -1.5, 2.0**52 + 1, -(2.0**52) - 1, 2.0**53, 5.5, 4.0, -4.0]
    checked = 0
    for x in grid:
        for y in exponents:
            try:
                want = annex_f_pow(x, y)
            except ValueError:
                continue
            got = compute("pow", np.float64(x), np.float64(y))
            assert same(got, want), f"pow({x!r}, {y!r}) = {got!r}, not {want!r}"
            checked += 1
    assert checked > 400


def test_pow_overflows_and_underflows_with_the_sign_of_odd_powers() -> None:
    x = np.array([-2.0, -2.0, -0.5, 2.0, 10.0, 1 + 2**-52, 1 - 2**-53, -2.0, 1e-310, 0.999])
    y = np.array([1025.0, 1026.0, 2001.0, -1e300, 1e308, 1e20, 1e20, 2**53 + 2.0, -1.5, 1e9])
    assert same(compute("pow", x, y), [-INF, INF, -0.0, 0.0, INF, INF, 0.0, INF, INF, 0.0])


@pytest.mark.parametrize(("name", "known"), [("atan2", np.arctan2), ("mod", np.mod)])
def test_special_values_of_two_arguments(name: str, known: Callable[[Array, Array], Array]) -> None:
    values = np.array([v for p in (0.0, 5e-324, 1e-310, 0.5, 1.0, 3.0, 7.0, INF, NAN) for v in (p, -p)])
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    special = (x == 0) | (y == 0) | ~np.isfinite(x) | ~np.isfinite(y)
    with np.errstate(all="ignore"):
        assert same(compute(name, x[special], y[special]), known(x[special], y[special]))


def test_mod_is_exact() -> None:
    rng = np.random.default_rng(4)
    y = near_zero(rng, 50_000, -60, 60)
    x = np.abs(y * np.exp2(rng.uniform(-5, 47, y.size)))
    assert same(compute("mod", x, np.abs(y)), np.fmod(x, np.abs(y)))
    assert np.isnan(compute("mod", np.float64(2.0**49), np.float64(1.0)))


# ---------------------------------------------------------------- exact results and constants


def test_representable_results_are_exact() -> None:
    n = np.arange(1.0, 200_000.0, 7.0)
    assert same(compute("cbrt", -(n**3)), -n)
    assert same(compute("pow", n**2, np.full_like(n, 0.5)), n)
    assert same(compute("pow", -n, np.full_like(n, 3.0)), -(n**3))
    k = np.arange(-1074.0, 1024.0)
    assert same(compute("pow", np.full_like(k, 2.0), k), np.ldexp(1.0, k.astype(int)))
    x = np.random.default_rng(5).integers(0, 0x7FF0 << 48, 10_000).view(np.float64)
    assert same(compute("pow", x, np.ones_like(x)), x)


@pytest.mark.parametrize("name", ["tanh", "cbrt", "erf", "atan"])
def test_odd_functions(name: str) -> None:
    x = np.random.default_rng(6).integers(0, 0x7FF0 << 48, 10_000).view(np.float64)
    assert same(compute(name, -x), -compute(name, x))


def test_the_page_begins_with_all_functions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "math.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^(exp, .*?) are\nstraight-line", page, re.MULTILINE | re.DOTALL)
    assert sorted(re.findall(r"\w+", listed.replace(" and ", " "))) == sorted(EXPANSIONS)


def test_constants_are_those_derived() -> None:
    assert fit("EXP")[0] == exponential.EXP
    assert fit("LOG")[0] == logarithm.LOG
    assert fit("POW")[0] == logarithm.POW
    assert fit("CBRT")[0] == power.CBRT
    for name in ("SIN", "COS", "ATAN"):
        assert fit(name)[0] == getattr(trigonometric, name)
    for name in ("ERF", "ERF_ONE", "ERFC"):
        assert fit(name)[0] == getattr(error_function, name)
    assert split_half_pi() == (trigonometric.HALF_PI, trigonometric.HALF_PI_REST)
    for name in ("QUARTER", "HALF", "WHOLE", "ATAN_HALF"):
        assert pair(name) == getattr(trigonometric, name)
    assert pair("AT_ONE") == (error_function.AT_ONE, error_function.AT_ONE_LO)
    assert split_log(2.0) == (tools.LN2_HI, tools.LN2_LO)
    assert split_log(logarithm.C_LOW) == (logarithm.LOG_C_LOW_HI, logarithm.LOG_C_LOW_LO)
    assert split_log(logarithm.C_HIGH) == (logarithm.LOG_C_HIGH_HI, logarithm.LOG_C_HIGH_LO)


if __name__ == "__main__":
    # The figures of docs/math.md; or, with names behind it, those of these functions alone.
    count = POINTS_OF_PAGE
    print("| function | largest error, float64 | there | largest error, float32 | operations |\n|---|---|---|---|---|")
    sys.exit(not all([report(name, count) for name in sys.argv[1:] or EXPANSIONS]))
