"""Boxes of images with their channels last and their padding around them: what lies under a place of a kernel is
consecutive then, for one pixel after the other."""

from __future__ import annotations

from optgen.loops.language import Array, Ints, function, scalar, shared, turn
from runtime.native.vectors import clear

# Indices into the sizes of `copy_box`. Planes, rows and columns are counted with the padding, unless it is an image's:
DEPTH, HEIGHT, WIDTH = 0, 1, 2  # an image
BEFORE, STEP = 3, 6  # padding before the first of each axis; every how manieth plane, and row, is copied
PIXEL, LINE, BOX_ROWS = 8, 9, 10  # elements of a pixel and of a row of a box; rows of a plane of a box
COLUMN_PLACES = 11  # where in a box the pixels of consecutive rows of an image go

# Indices into the numbers of a block of pixels:
FIRST, COUNT = 0, 1  # its first pixel, and how many it has
START, LENGTH = 2, 5  # where its box begins along each axis, and how long that is
BLOCK_SIZE = 8  # how many numbers there are

LANES = 16
"""The channels that `copy_box` copies at a time."""
FEW = 4
"""Channels left over from whole vectors are copied one by one if there are at most so many: a vector would be nearly
empty."""


@function
def first_inside(start: int, before: int, step: int, length: int) -> int:
    """How many of the planes, rows or columns of a box come before the image; all of them are `length`."""
    return min((max(before - start * step, 0) + step - 1) // step, length)


@function
def first_behind(start: int, before: int, step: int, size: int, length: int) -> int:
    """How many come before the end of the image, whose length is `size`."""
    return min((max(size + before - start * step, 0) + step - 1) // step, length)


@function
def spread(to: Array, x: Array, step: int, n: int) -> None:
    """Write n elements `step` apart."""
    for i in scalar(n):
        to[i * step] = x[i]


@shared
def copy_box(
    x: Array, to: Array, channels: int, plane: int, row: int, column: int, planes: int, rows: int, columns: int,
    code: int, g: Ints,
) -> None:  # fmt: skip
    """A box of an image (channels, depth, height, width) as (planes, rows, columns, channels), with zeros for padding.
    It begins at a plane, a row and a column."""
    left = first_inside(column, g[BEFORE + 2], 1, columns)
    right = max(first_behind(column, g[BEFORE + 2], 1, g[WIDTH], columns), left)
    low = first_inside(row, g[BEFORE + 1], g[STEP + 1], rows)
    high = first_behind(row, g[BEFORE + 1], g[STEP + 1], g[HEIGHT], rows)
    margin = left * g[PIXEL]
    middle = right * g[PIXEL]
    end = columns * g[PIXEL]
    size = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    each = 1  # rows that are copied at a time: all, if they are consecutive
    if g[STEP + 1] == 1 and right - left == g[WIDTH]:
        each = max(high - low, 1)
    for p in range(planes):
        lines = to + p * g[BOX_ROWS] * g[LINE]
        d = (plane + p) * g[STEP] - g[BEFORE]
        inside = 0
        if d >= 0 and d < g[DEPTH] and low < high:
            inside = 1
            for r in range(low, high):
                clear(lines + r * g[LINE], margin)
                clear(lines + (r * g[LINE] + middle), end - middle)
            source = x + (d * g[HEIGHT] * g[WIDTH] + column + left - g[BEFORE + 2])
            several = channels // LANES * LANES
            if channels - several > FEW:
                several = channels
            for c in range(0, several, LANES):  # each channel is read in the order of memory
                for r in range(low, high, each):
                    turn(
                        code, source + (c * size + ((row + r) * g[STEP + 1] - g[BEFORE + 1]) * g[WIDTH]), size,
                        lines + (r * g[LINE] + margin + c), g + COLUMN_PLACES, min(LANES, channels - c),
                        each * (right - left),
                    )  # fmt: skip
            for c in range(several, channels):
                for r in range(low, high):
                    line = source + (c * size + ((row + r) * g[STEP + 1] - g[BEFORE + 1]) * g[WIDTH])
                    spread(lines + (r * g[LINE] + margin + c), line, g[PIXEL], right - left)
        for r in range(rows):
            if inside == 0 or r < low or r >= high:
                clear(lines + r * g[LINE], end)


@function
def copy_box_of(block: Ints, x: Array, to: Array, channels: int, code: int, g: Ints) -> None:
    """The box of a block of pixels."""
    copy_box(
        x, to, channels, block[START], block[START + 1], block[START + 2], block[LENGTH], block[LENGTH + 1],
        block[LENGTH + 2], code, g,
    )  # fmt: skip
