"""Images of another size: sums over a few pixels of each axis, its taps, times coefficients.

Images are rows of numbers, (rows, n). The taps of an axis are (taps, n) places and coefficients.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function
from runtime.native.vectors import clear


@kernel
def across(task: int, x: Array, coefficients: Array, y: Array, places: Ints, taps: int, width: int, n: int) -> None:
    """y, (rows, n): in each row of x, (rows, width), the sums of the taps of n numbers. One task for each row."""
    of = x + task * width
    to = y + task * n
    for k in range(n):
        sum = of[places[k]] * coefficients[k]
        for t in range(1, taps):
            sum += of[places[t * n + k]] * coefficients[t * n + k]
        to[k] = sum


@function
def add_scaled(to: Array, x: Array, by: float, n: int) -> None:
    for k in range(n):
        to[k] += x[k] * by


@kernel
def down(task: int, x: Array, coefficients: Array, y: Array, places: Ints, taps: int, rows: int, n: int) -> None:
    """y, (rows, n): the sums of the taps of its rows, which are rows of x, (..., n). One task for each row."""
    clear(y + task * n, n)
    for t in range(taps):
        add_scaled(y + task * n, x + places[t * rows + task] * n, coefficients[t * rows + task], n)


@function
def whole_256th(x: float) -> float:
    """The whole part of `x/256`, x being a whole number below 2^20."""
    return round(x * 0.00390625 - 0.498046875)


@function
def cut_product(x: float, by: float) -> float:
    """The whole part of `(x // 16) by/65536`, exact in float32: x is a whole number from 0 to 255*2048, and `by` one up
    to 2048."""
    a = round(x * 0.0625 - 0.46875)
    high = whole_256th(a)
    low = a - 256.0 * high
    return whole_256th(high * by + whole_256th(low * by))


@function
def mix_cut(to: Array, x: Array, y: Array, of_x: float, of_y: float, n: int) -> None:
    for k in range(n):
        to[k] = round((cut_product(x[k], of_x) + cut_product(y[k], of_y)) * 0.25 + 0.125)


@kernel
def down_cut(task: int, x: Array, coefficients: Array, y: Array, places: Ints, rows: int, n: int) -> None:
    """`down` of two taps, of whole numbers, as OpenCV has it: bits are cut off on the way."""
    mix_cut(
        y + task * n,
        x + places[task] * n,
        x + places[rows + task] * n,
        coefficients[task],
        coefficients[rows + task],
        n,
    )
