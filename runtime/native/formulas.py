"""Functions of single elements, and their gradients, each stated once: kernels and plans are made of them.

What is arithmetic alone is also NumPy's form of them, and that of gradients made of operators: `python` takes arrays.
x is an input, y the output, and g the gradient with respect to y. All but log are without branches, so that loops
become vector code. The errors of exp, log, log1p, sigmoid and tanh are a few units in the last place, in float32 and in
float64.
"""

from __future__ import annotations

from optgen.loops.language import function, power_of_2

# ---------------------------------------------------------------- exponentials and logarithms

LOG2_E = 1.4426950408889634
"""1/log(2)."""
LN2_HIGH = 0.693145751953125
"""log(2) to 15 bits, so that its product with an exponent is exact in float32. LN2_LOW is the rest of log(2)."""
LN2_LOW = 1.4286068203094172e-06
SQRT_2 = 1.4142135623730951
MAX_ARGUMENT = 80.0
"""Arguments of expm1 are clamped to [-80, 80]: the result is then finite in float32."""


@function
def series_terms_8_to_13(r: float) -> float:
    """`(r^8/8! + ... + r^13/13!)/r^8`, terms of the series of exp(r)."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    return p


@function
def expm1_series(r: float, p: float) -> float:
    """`exp(r) - 1` by its Taylor series, for small r. p is the sum of the terms from `r^8/8!` on, divided by `r^8`."""
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    return p * r * r + r


@function
def expm1(argument: float) -> float:
    """`exp(x) - 1`, precise for small x too: `2^n exp(r) - 1` with x = n log(2) + r and |r| <= log(2)/2."""
    x = min(max(argument, -MAX_ARGUMENT), MAX_ARGUMENT)
    n = round(x * LOG2_E)
    r = x - n * LN2_HIGH - n * LN2_LOW
    terms = series_terms_8_to_13(r) if 1.0 + 1e-12 > 1.0 else 1.0 / 40320.0  # only float32 rounds 1 + 1e-12 to 1
    p = expm1_series(r, terms)
    scale = power_of_2(n)
    return scale * p + (scale - 1.0)


@function
def exp_nonpositive(argument: float) -> float:
    """`exp(x)` for x <= 0, with an error of at most one unit in the last place.

    Near the end of the normal numbers, for x below -87 in float32 and below -708 in float64, it is 0.
    """
    lowest = -87.0 if 1.0 + 1e-12 == 1.0 else -708.0  # only float32 rounds 1 + 1e-12 to 1
    x = max(argument, lowest)
    n = round(x * LOG2_E)
    r = x - n * LN2_HIGH - n * LN2_LOW
    p = expm1_series(r, series_terms_8_to_13(r) if lowest < -87.0 else 1.0 / 40320.0)
    return 0.0 if argument < lowest else (p + 1.0) * power_of_2(n)


@function
def artanh_terms_17_to_35(s: float) -> float:
    """`1/17 + s/19 + ... + s^9/35`: with `s = t^2`, terms of the series of artanh(t), divided by `t^17`."""
    p = 1.0 / 35.0
    p = p * s + 1.0 / 33.0
    p = p * s + 1.0 / 31.0
    p = p * s + 1.0 / 29.0
    p = p * s + 1.0 / 27.0
    p = p * s + 1.0 / 25.0
    p = p * s + 1.0 / 23.0
    p = p * s + 1.0 / 21.0
    p = p * s + 1.0 / 19.0
    p = p * s + 1.0 / 17.0
    return p


@function
def log1p_of_fraction(x: float) -> float:
    """`log(1 + x)` for x from 0 to 1: `2 artanh(t)` with `t = x/(2 + x)`, of which t^2 is at most 1/9."""
    t = x / (2.0 + x)
    s = t * t
    p = artanh_terms_17_to_35(s) if 1.0 + 1e-12 > 1.0 else 1.0 / 17.0  # only float32 rounds 1 + 1e-12 to 1
    p = p * s + 1.0 / 15.0
    p = p * s + 1.0 / 13.0
    p = p * s + 1.0 / 11.0
    p = p * s + 1.0 / 9.0
    p = p * s + 1.0 / 7.0
    p = p * s + 1.0 / 5.0
    p = p * s + 1.0 / 3.0
    return 2.0 * (p * s * t + t)


@function
def log_from_1(x: float) -> float:
    """`log(x)` for a finite x >= 1, or NaN, with an error of at most one unit in the last place.

    It has a branch for each factor of 2: it is for one number of a row, not for its elements.
    """
    n = 0
    while x > SQRT_2:
        x = 0.5 * x
        n += 1
    # log(1 + f) = 2 artanh(t), as f - (f^2/2 - t (f^2/2 + r)): f, the largest term, has no rounding error.
    f = x - 1.0
    t = f / (2.0 + f)
    r = 0.0
    first = 0 if 1.0 + 1e-12 > 1.0 else 6  # float32 needs the last 5 terms
    for k in range(first, 11):
        r = (r + 2.0 / (23.0 - 2.0 * k)) * t * t
    half_square = 0.5 * f * f
    return n * LN2_HIGH - (half_square - (t * (half_square + r) + n * LN2_LOW) - f)


@function
def sigmoid_value(x: float) -> float:
    """`1/(1 + exp(-x))`."""
    e = exp_nonpositive(-abs(x))
    return (1.0 if x > 0.0 else e) / (1.0 + e)


@function
def tanh_value(x: float) -> float:
    """`(exp(2x) - 1)/(exp(2x) + 1)`."""
    e = expm1(2.0 * x)
    return e / (e + 2.0)


# ---------------------------------------------------------------- activations, and the gradients of some


@function
def relu_value(x: float) -> float:
    """Of NaN NaN, and of -0 the other zero."""
    return 0.0 if x <= 0.0 else x


@function
def relu_gradient(g: float, y: float) -> float:
    """Where y is not positive, it is 0 or NaN, and so is the slope."""
    return g * (1.0 if y > 0.0 else abs(y))


@function
def tanh_gradient(g: float, y: float) -> float:
    return g * (1 - y * y)


@function
def sigmoid_gradient(g: float, y: float) -> float:
    return (1 - y) * y * g


@function
def leaky_value(x: float, slope: float) -> float:
    return x * (1.0 if x > 0.0 else slope)


@function
def leaky_gradient(g: float, x: float, slope: float) -> float:
    return g * (1.0 if x > 0.0 else slope)


@function
def clip_value(x: float, low: float, high: float) -> float:
    """Of NaN NaN, and of a number that is equal to an end that end: zeros have signs."""
    least = low if x <= low else x
    return high if least >= high else least


# ---------------------------------------------------------------- recurrent cells; the gates have their values


@function
def lstm_memory(f: float, before: float, i: float, g: float) -> float:
    """The new content of a cell, of the gates forget and input, and of what is put in."""
    return f * before + i * g


@function
def gru_state(new: float, z: float, before: float) -> float:
    """The new state: the update gate keeps that part of the last one."""
    return new + z * (before - new)
