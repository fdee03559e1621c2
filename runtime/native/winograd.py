"""Convolution with kernels of 3 by 3 that move by one pixel by Winograd's algorithm F(2x2, 3x3). The gradient of its
image is such a convolution, too.

Tiles of 2 by 2 outputs are computed from 4 by 4 inputs with 16 multiplications, not 36 (Lavin and Gray, Fast Algorithms
for Convolutional Neural Networks, 2015). With d a tile of the input, k a kernel and * the product of elements, the
outputs are A' [(B' d B) * (G k G')] A, with

    B' = [1  0 -1  0]    G = [ 1    0    0 ]    A' = [1  1  1  0]
         [0  1  1  0]        [1/2  1/2  1/2]         [0  1 -1 -1]
         [0 -1  1  0]        [1/2 -1/2  1/2]
         [0  1  0 -1]        [ 0    0    1 ]

Summed over channels, each of the 16 elements is a product of two matrices. A task copies boxes of the images with their
channels last (`channels_last`), so that a tile is transformed for many channels at once, and the 16 matrices of a
block of tiles stay in the cache. "Tile row" is a row of tiles of an image, counted through all images. `g` holds the
sizes and tables:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, gathered_gemm, short, turn
from runtime.native.channels_last import copy_box
from runtime.native.vectors import accumulate, rectify

IMAGES, CHANNELS, FILTERS = 0, 1, 2
OUT_HEIGHT, OUT_WIDTH = 3, 4
DOWN, ACROSS = 5, 6  # rows of tiles of an image; tiles of a row
PIXEL, LINE = 7, 8  # elements from one pixel of a box to the next, and from one row to the next
ROWS, BLOCK = 9, 10  # tile rows of a task; filters that are computed at a time
RUN, RUNS = 11, 12  # channels of a run; runs of a pixel
IMAGE, WIDTH = 13, 14  # elements of a channel of an image; pixels of a row with its padding
TABLES = 15  # from here on, where each table begins:
TILE_ROWS, PRODUCT_ROWS, OFFSETS = 15, 16, 17  # rows of transforms; rows of products; runs
PLACES, COPY = 18, 19  # filters of an output; what `copy_box` takes


@function
def mix_difference(
    to_0: Array, to_1: Array, to_2: Array, to_3: Array, x: Array, y: Array, line: int, n: int
) -> None:  # fmt: skip
    """B' applied to the difference of two columns of a tile, whose pixels are `line` apart, of n channels."""
    for i in short(n):
        a = x[i] - y[i]
        b = x[line + i] - y[line + i]
        c = x[2 * line + i] - y[2 * line + i]
        d = x[3 * line + i] - y[3 * line + i]
        to_0[i] = a - c
        to_1[i] = b + c
        to_2[i] = c - b
        to_3[i] = b - d


@function
def mix_sum(
    to_0: Array, to_1: Array, to_2: Array, to_3: Array, x: Array, y: Array, line: int, n: int
) -> None:  # fmt: skip
    """The same of the sum of two columns."""
    for i in short(n):
        a = x[i] + y[i]
        b = x[line + i] + y[line + i]
        c = x[2 * line + i] + y[2 * line + i]
        d = x[3 * line + i] + y[3 * line + i]
        to_0[i] = a - c
        to_1[i] = b + c
        to_2[i] = c - b
        to_3[i] = b - d


@function
def transform(x: Array, to: Array, matrix: int, g: Ints) -> None:
    """B' d B of a tile, whose first pixel is at x: a row of each of 16 matrices, which are `matrix` apart."""
    p = g[PIXEL]
    down = 4 * matrix
    n = g[CHANNELS]
    mix_difference(to, to + down, to + 2 * down, to + 3 * down, x, x + 2 * p, g[LINE], n)
    at = to + matrix
    mix_sum(at, at + down, at + 2 * down, at + 3 * down, x + p, x + 2 * p, g[LINE], n)
    at = to + 2 * matrix
    mix_difference(at, at + down, at + 2 * down, at + 3 * down, x + 2 * p, x + p, g[LINE], n)
    at = to + 3 * matrix
    mix_difference(at, at + down, at + 2 * down, at + 3 * down, x + p, x + 3 * p, g[LINE], n)


@function
def transform_rows(
    x: Array, to: Array, box: Array, first: int, last: int, matrix: int, turn_code: int, g: Ints
) -> None:  # fmt: skip
    """The transforms of the tiles of some tile rows, one after the other: the rows of 16 matrices. `box` is memory for
    the pixels of an image under them."""
    for image in range(first // g[DOWN], (last + g[DOWN] - 1) // g[DOWN]):
        low = max(first - image * g[DOWN], 0)
        high = min(last - image * g[DOWN], g[DOWN])
        copy_box(
            x + image * g[CHANNELS] * g[IMAGE], box, g[CHANNELS], 0, 2 * low, 0, 1, 2 * (high - low) + 2, g[WIDTH],
            turn_code, g + g[COPY],
        )  # fmt: skip
        tile = to + (image * g[DOWN] + low - first) * g[ACROSS] * g[PIXEL]
        for row in range(high - low):
            for t in range(g[ACROSS]):
                of = box + (2 * row * g[LINE] + 2 * t * g[PIXEL])
                transform(of, tile + (row * g[ACROSS] + t) * g[PIXEL], matrix, g)


@function
def combine(to_00: Array, to_01: Array, to_10: Array, to_11: Array, m: Array, matrix: int, n: int) -> None:
    """A' m A of a tile: the four pixels, of n filters."""
    for i in short(n):
        a = m[i] + m[4 * matrix + i] + m[8 * matrix + i]
        b = m[matrix + i] + m[5 * matrix + i] + m[9 * matrix + i]
        c = m[2 * matrix + i] + m[6 * matrix + i] + m[10 * matrix + i]
        d = m[3 * matrix + i] + m[7 * matrix + i] + m[11 * matrix + i]
        to_00[i] = a + b + c
        to_01[i] = b - c - d
        e = m[4 * matrix + i] - m[8 * matrix + i] - m[12 * matrix + i]
        f = m[5 * matrix + i] - m[9 * matrix + i] - m[13 * matrix + i]
        p = m[6 * matrix + i] - m[10 * matrix + i] - m[14 * matrix + i]
        q = m[7 * matrix + i] - m[11 * matrix + i] - m[15 * matrix + i]
        to_10[i] = e + f + p
        to_11[i] = f - p - q


@function
def mix_three(to_0: Array, to_1: Array, to_2: Array, to_3: Array, a: Array, b: Array, c: Array, n: int) -> None:
    """G k, of three rows of kernels."""
    for i in range(n):
        half = 0.5 * (a[i] + c[i])
        to_0[i] = a[i]
        to_1[i] = half + 0.5 * b[i]
        to_2[i] = half - 0.5 * b[i]
        to_3[i] = c[i]


@kernel
def transform_weights(task: int, scratch: Array, panels: Array, u: Array, count: int, size: int) -> None:
    """u = G w G', 16 runs of panels, from 9, one for each element of the kernels. A run has `size` elements of each of
    `count` panels. One task for each panel."""
    of = panels + task * 9 * size
    for j in range(3):
        at = scratch + j * size
        mix_three(at, at + 3 * size, at + 6 * size, at + 9 * size, of + j * size, of + (3 + j) * size,
                  of + (6 + j) * size, size)  # fmt: skip
    apart = count * size
    for i in range(4):
        at = u + (4 * i * count + task) * size
        of = scratch + 3 * i * size
        mix_three(at, at + apart, at + 2 * apart, at + 3 * apart, of, of + size, of + 2 * size, size)


@kernel
def convolve(
    task: int, scratch: Array, x: Array, u: Array, bias: Array, y: Array, has_bias: int, relu: int, size: int,
    code: int, turn_code: int, g: Ints,
) -> None:  # fmt: skip
    """y = the convolution of x with the kernels whose transforms are u, 16 runs of `size` elements, plus bias; if
    `relu`, its positive part. One task for each block of tile rows."""
    first = task * g[ROWS]
    last = min(first + g[ROWS], g[IMAGES] * g[DOWN])
    tiles = g[ROWS] * g[ACROSS]
    matrix = tiles * g[PIXEL]
    products = scratch + 16 * matrix
    pixels = products + 16 * tiles * g[BLOCK]
    box = pixels + 4 * g[ACROSS] * g[BLOCK]
    transform_rows(x, scratch, box, first, last, matrix, turn_code, g)
    plane = g[OUT_HEIGHT] * g[OUT_WIDTH]
    for f in range(0, g[FILTERS], g[BLOCK]):
        filters = min(g[BLOCK], g[FILTERS] - f)
        for k in range(16):
            gathered_gemm(
                code, (last - first) * g[ACROSS], filters, g[RUN], g[RUNS], scratch + k * matrix, g + g[TILE_ROWS],
                g + g[OFFSETS], u + (k * size + f * g[CHANNELS]), 0, products + k * tiles * g[BLOCK],
                g + g[PRODUCT_ROWS],
            )  # fmt: skip
        line = 2 * g[ACROSS] * g[BLOCK]
        for row in range(first, last):
            for t in range(g[ACROSS]):
                at = pixels + 2 * t * g[BLOCK]
                of = products + ((row - first) * g[ACROSS] + t) * g[BLOCK]
                combine(at, at + g[BLOCK], at + line, at + line + g[BLOCK], of, tiles * g[BLOCK], filters)
            if has_bias == 1:
                for p in range(4 * g[ACROSS]):
                    accumulate(pixels + p * g[BLOCK], bias + f, filters)
            if relu == 1:
                for p in range(4 * g[ACROSS]):
                    rectify(pixels + p * g[BLOCK], filters)
            h = row % g[DOWN] * 2
            to = y + ((row // g[DOWN] * g[FILTERS] + f) * plane + h * g[OUT_WIDTH])
            lines = min(2, g[OUT_HEIGHT] - h)
            if g[OUT_WIDTH] == 2 * g[ACROSS]:
                turn(turn_code, pixels, g[BLOCK], to, g + g[PLACES], lines * g[OUT_WIDTH], filters)
            else:
                for k in range(lines):
                    turn(
                        turn_code, pixels + k * line, g[BLOCK], to + k * g[OUT_WIDTH], g + g[PLACES], g[OUT_WIDTH],
                        filters,
                    )  # fmt: skip
