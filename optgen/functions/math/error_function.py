"""erf: polynomials in three intervals, the last one of 1 - exp(-x^2) times a polynomial."""

from __future__ import annotations

from optgen.functions.builder import Builder, V
from optgen.functions.math.exponential import exp
from optgen.functions.math.tools import clamp, copy_sign, horner

ERF = (  # erf(x)/x - 1, z = x^2 on [0, 0.5626]
    0.1283791670955126,
    -0.37612638903183715,
    0.11283791670952592,
    -0.026866170644427513,
    0.005223977615408468,
    -0.0008548326187902369,
    0.00012055289530626987,
    -1.4924195325647666e-05,
    1.6430668513426108e-06,
    -1.5939928608120978e-07,
    1.1471982626262433e-08,
)
ERF_ONE = (  # (erf(1 + s) - erf(1)) / s, s on [-0.2501, 0.5001]
    0.4151074974205947,
    -0.41510749742059483,
    0.1383691658068741,
    0.0691845829034554,
    -0.0691845829048718,
    0.004612305528021902,
    0.015154718241048495,
    -0.004777030943716526,
    -0.0018851902483298791,
    0.0012262962001433442,
    8.553560985301573e-05,
    -0.00020018159206015366,
    1.887710060511194e-05,
    2.41980637006269e-05,
    -7.242752016756979e-06,
)
ERFC = (  # erfc(x) e^(x^2), u = (x - 3)/(x + 3) of x in [1.5, 6.1]
    0.17900115118138998,
    -0.326233560043037,
    0.24560380171230167,
    -0.15011593650083047,
    0.07166583720210938,
    -0.02439249931490193,
    0.004269136113427675,
    0.0007077463322578645,
    -0.0005970563875655098,
    4.525653094765241e-05,
    6.398394440219349e-05,
    -1.2862785082171504e-05,
    -7.50418688739096e-06,
    2.0645770468661014e-06,
)
AT_ONE, AT_ONE_LO = 0.8427007929497149, -2.4801011789118602e-17  # erf(1)


def erf(b: Builder[V], x: V) -> V:
    """The error function, 2/sqrt(pi) times the integral of e^(-s^2) from 0 to x."""
    one, three = b.const(1.0), b.const(3.0)
    inner = b.add(x, b.mul(x, horner(b, b.mul(x, x), ERF)))
    a = clamp(b, b.abs(x), 0.0, 6.0)
    s = b.sub(a, one)
    middle = b.add(b.const(AT_ONE), b.add(b.mul(s, horner(b, s, ERF_ONE)), b.const(AT_ONE_LO)))
    u = b.div(b.sub(a, three), b.add(a, three))
    outer = b.sub(one, b.mul(exp(b, b.neg(b.mul(a, a))), horner(b, u, ERFC)))
    outside = copy_sign(b, b.select(b.lt(a, b.const(1.5)), middle, outer), x)
    return b.select(b.lt(b.abs(x), b.const(0.75)), inner, outside)
