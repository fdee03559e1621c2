"""sin, cos and tan by one reduction to x - n pi/2; atan and atan2 by one reduction to a small tangent."""

from __future__ import annotations

from math import inf, nan

from optgen.functions.builder import Builder, V
from optgen.functions.math.tools import ROUND, SIGN, copy_sign, divide, fast_two_sum, head, horner, two_sum

SIN = (  # (sin(r)/r - 1) / z, z = r^2 on [0, 0.617]
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126506,
    2.755731921933466e-06,
    -2.505210623088241e-08,
    1.6058531370931902e-10,
    -7.586682497157786e-13,
)
COS = (  # (cos(r) - 1 + z/2) / z^2, z = r^2 on [0, 0.617]
    0.041666666666666664,
    -0.0013888888888887395,
    2.480158729876295e-05,
    -2.755731727031051e-07,
    2.087614597263508e-09,
    -1.1382611119025631e-11,
)
ATAN = (  # (atan(s)/s - 1) / z, z = s^2 on [0, 0.0626]
    -0.3333333333333333,
    0.19999999999998921,
    -0.14285714285253562,
    0.11111111035291911,
    -0.09090902827435111,
    0.07692016123431836,
    -0.06658651772903566,
    0.05752619086241913,
    -0.04101828156464053,
)
LARGEST_ANGLE = 2.0**28
"""Beyond it sin, cos and tan are NaN. n has at most 28 bits, so that its product with a part of pi/2 is exact."""
TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15, 3.282003415807913e-22)
"""pi/2 in parts of 24 bits."""
HALF_PI_REST = 1.2706558760139879e-29
SMALL = 2.0**-28
"""Below it sin(x), tan(x) and atan(x) round to x."""

QUARTER = (0.7853981633974483, 3.061616997868383e-17)  # pi/4 as a pair
HALF = (1.5707963267948966, 6.123233995736766e-17)
WHOLE = (3.141592653589793, 1.2246467991473532e-16)
ATAN_HALF = (0.4636476090008061, 2.2698777452961687e-17)
BELOW_HALF, BELOW_ONE = 0.25, 0.72
"""Where the nearest tangent among 0, 1/2 and 1 changes: |s| is at most 0.25, and short - c long is exact."""


def sin(b: Builder[V], x: V) -> V:
    """The sine; NaN beyond LARGEST_ANGLE."""
    quadrant, sine, cosine = _sin_cos(b, x)
    hi, lo = _choose(b, _is_odd(b, quadrant), cosine, sine)
    value = _negate_where(b, b.shl(quadrant, 62), b.add(hi, lo))
    return _within_domain(b, x, b.select(b.lt(b.abs(x), b.const(SMALL)), x, value))


def cos(b: Builder[V], x: V) -> V:
    """The cosine; NaN beyond LARGEST_ANGLE."""
    quadrant, sine, cosine = _sin_cos(b, x)
    hi, lo = _choose(b, _is_odd(b, quadrant), sine, cosine)
    value = _negate_where(b, b.shl(b.iadd(quadrant, b.iconst(1)), 62), b.add(hi, lo))
    return _within_domain(b, x, value)


def tan(b: Builder[V], x: V) -> V:
    """The tangent, sin/cos or -cos/sin of the remainder, as a quotient of pairs; NaN beyond LARGEST_ANGLE."""
    quadrant, sine, cosine = _sin_cos(b, x)
    odd = _is_odd(b, quadrant)
    n, n_lo = _choose(b, odd, cosine, sine)
    d, d_rest = _choose(b, odd, sine, cosine)
    d_hi = head(b, d)
    q_hi, q_lo = divide(b, n, n_lo, d_hi, b.add(b.sub(d, d_hi), d_rest))
    value = _negate_where(b, b.shl(quadrant, 63), b.add(q_hi, q_lo))
    return _within_domain(b, x, b.select(b.lt(b.abs(x), b.const(SMALL)), x, value))


def _sin_cos(b: Builder[V], x: V) -> tuple[V, tuple[V, V], tuple[V, V]]:
    """n (int64, of which the lowest two bits count), and sine and cosine of x - n pi/2, in [-pi/4, pi/4], as pairs."""
    n_int, r, r_lo = _reduce(b, x)
    top = head(b, r)
    square = b.mul(top, top)
    square_lo = b.mul(b.sub(r, top), b.add(r, top))
    z = b.add(square, square_lo)
    one, half = b.const(1.0), b.const(0.5)
    cubic = b.mul(b.mul(r, z), horner(b, z, SIN))
    sine = fast_two_sum(b, r, b.add(cubic, b.mul(r_lo, b.sub(one, b.mul(half, z)))))
    h = b.mul(half, square)
    w = b.sub(one, h)
    rest = b.sub(b.mul(b.mul(z, z), horner(b, z, COS)), b.add(b.mul(half, square_lo), b.mul(r, r_lo)))
    return n_int, sine, (w, b.add(b.sub(b.sub(one, w), h), rest))


def _reduce(b: Builder[V], x: V) -> tuple[V, V, V]:
    """n (int64) and x - n pi/2 as a pair, to 2^-120 or better, for |x| <= LARGEST_ANGLE."""
    rounded = b.add(b.mul(x, b.const(TWO_OVER_PI)), b.const(ROUND))
    n = b.sub(rounded, b.const(ROUND))
    r = b.sub(x, b.mul(n, b.const(HALF_PI[0])))  # exact
    errors: list[V] = []
    for part in HALF_PI[1:]:
        r, error = two_sum(b, r, b.neg(b.mul(n, b.const(part))))
        errors.append(error)
    lo = b.add(b.add(errors[0], errors[1]), errors[2])
    hi, lo = fast_two_sum(b, r, b.sub(lo, b.mul(n, b.const(HALF_PI_REST))))
    return b.bits(rounded), hi, lo


def _is_odd(b: Builder[V], n: V) -> V:
    return b.eq(b.iand(n, b.iconst(1)), b.iconst(1))


def _choose(b: Builder[V], c: V, x: tuple[V, V], y: tuple[V, V]) -> tuple[V, V]:
    """The pair x where c holds, else y."""
    return b.select(c, x[0], y[0]), b.select(c, x[1], y[1])


def _negate_where(b: Builder[V], bits: V, x: V) -> V:
    """-x where the highest of the bits is set, else x."""
    return b.from_bits(b.ixor(b.bits(x), b.iand(bits, b.iconst(SIGN))))


def _within_domain(b: Builder[V], x: V, value: V) -> V:
    return b.select(b.gt(b.abs(x), b.const(LARGEST_ANGLE)), b.const(nan), value)


def atan(b: Builder[V], x: V) -> V:
    """The arc tangent, in [-pi/2, pi/2]."""
    return b.select(b.lt(b.abs(x), b.const(SMALL)), x, atan2(b, x, b.const(1.0)))


def atan2(b: Builder[V], y: V, x: V) -> V:
    """The angle of the point (x, y) in [-pi, pi], with the sign of y; at zeros and infinities by Annex F.

    With c in 0, 1/2, 1 nearest to the quotient of the shorter by the longer side, the angle between them is atan(c) +
    atan(s), where s = (short - c long) / (long + c short).
    """
    swapped, short, long = _sides(b, b.abs(y), b.abs(x))
    near_zero = b.lt(short, b.mul(b.const(BELOW_HALF), long))
    near_half = b.lt(short, b.mul(b.const(BELOW_ONE), long))
    zero, one, half = b.const(0.0), b.const(1.0), b.const(0.5)
    c = b.select(near_zero, zero, b.select(near_half, half, one))
    d, d_lo = fast_two_sum(b, long, b.mul(c, short))
    d_hi = head(b, d)
    s_hi, s_lo = divide(b, b.sub(short, b.mul(c, long)), zero, d_hi, b.add(b.sub(d, d_hi), d_lo))
    s = b.add(s_hi, s_lo)
    z = b.mul(s, s)
    tail = b.add(s_lo, b.mul(b.mul(s, z), horner(b, z, ATAN)))

    centre = (
        b.select(near_zero, zero, b.select(near_half, b.const(ATAN_HALF[0]), b.const(QUARTER[0]))),
        b.select(near_zero, zero, b.select(near_half, b.const(ATAN_HALF[1]), b.const(QUARTER[1]))),
    )
    hi, error = fast_two_sum(b, centre[0], s_hi)
    lo = b.add(error, b.add(centre[1], tail))
    hi, lo = _choose(b, swapped, _less(b, HALF, hi, lo), (hi, lo))
    behind = b.lt(b.bits(x), b.iconst(0))  # the sign of x, that of -0 too
    mirrored = _less(b, WHOLE, hi, lo)
    tiny = b.and_(b.not_(swapped), b.lt(short, b.mul(b.const(SMALL), long)))
    ahead = b.select(tiny, b.div(short, long), b.add(hi, lo))  # so that a subnormal result is rounded once
    angle = b.select(behind, b.add(*mirrored), ahead)
    ordered = b.and_(b.eq(x, x), b.eq(y, y))
    return b.select(ordered, copy_sign(b, angle, y), b.const(nan))


def _less(b: Builder[V], angle: tuple[float, float], hi: V, lo: V) -> tuple[V, V]:
    """angle - (hi + lo) as a pair."""
    total, error = fast_two_sum(b, b.const(angle[0]), b.neg(hi))
    return total, b.add(error, b.sub(b.const(angle[1]), lo))


def _sides(b: Builder[V], y: V, x: V) -> tuple[V, V, V]:
    """Whether y is larger than x, and the shorter and the longer of them, which are not negative.

    The longer one is neither 0 nor infinite, and so far from both that no step of the division overflows: of two
    infinities, each becomes 1; of one, it becomes 1 and the other 0; of two zeros, the longer becomes 1.
    """
    swapped = b.gt(y, x)
    short, long = b.select(swapped, x, y), b.select(swapped, y, x)
    infinity, zero, one = b.const(inf), b.const(0.0), b.const(1.0)
    endless = b.eq(long, infinity)
    short = b.select(endless, b.select(b.eq(short, infinity), one, zero), short)
    long = b.select(b.or_(endless, b.eq(long, zero)), one, long)
    scale = b.select(b.gt(long, b.const(2.0**960)), b.const(2.0**-64), b.const(1.0))
    scale = b.select(b.lt(long, b.const(2.0**-900)), b.const(2.0**120), scale)
    return swapped, b.mul(short, scale), b.mul(long, scale)
