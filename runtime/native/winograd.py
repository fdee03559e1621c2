"""Convolution with kernels of 3 by 3 that move by one pixel by Winograd's algorithm F(2x2, 3x3). The gradient of its
image is such a convolution, too.

Tiles of 2 by 2 outputs are computed from 4 by 4 inputs with 16 multiplications, not 36 (Lavin and Gray, Fast Algorithms
for Convolutional Neural Networks, 2015). With d a tile of the input, k a kernel and * the product of elements, the
outputs are A' [(B' d B) * (G k G')] A, with

    B' = [1  0 -1  0]    G = [ 1    0    0 ]    A' = [1  1  1  0]
         [0  1  1  0]        [1/2  1/2  1/2]         [0  1 -1 -1]
         [0 -1  1  0]        [1/2 -1/2  1/2]
         [0  1  0 -1]        [ 0    0    1 ]

Summed over channels, each of the 16 elements is a product of two matrices: GEMM does it for a block of tiles whose
transforms stay in the cache. The 16 matrices lie one after the other; "tile row" is a row of tiles of an image, counted
through all images. `g` holds the sizes:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, TRANS, Array, Ints, function, gemm, short
from runtime.native.vectors import clear, copy

IMAGES, CHANNELS, HEIGHT, WIDTH = 0, 1, 2, 3  # the image
FILTERS, OUT_HEIGHT, OUT_WIDTH = 4, 5, 6  # the output
PAD_HEIGHT, PAD_WIDTH = 7, 8
DOWN, ACROSS, WIDE = 9, 10, 11  # rows of tiles of an image; tiles of a row; the same, in whole vectors
ROWS, COLUMNS = 12, 13  # tile rows of a block, and its tiles; the columns of a matrix, with room for a vector
FILTER_BLOCK = 14  # filters of a task


# ---------------------------------------------------------------- transforms


@function
def mix_columns(to: Array, x: Array, wide: int) -> None:
    """x B of a row of the image with its padding: four runs of `wide` elements."""
    for i in range(wide):
        to[i] = x[2 * i] - x[2 * i + 2]
        to[wide + i] = x[2 * i + 1] + x[2 * i + 2]
        to[2 * wide + i] = x[2 * i + 2] - x[2 * i + 1]
        to[3 * wide + i] = x[2 * i + 1] - x[2 * i + 3]


@function
def mix_rows(
    to_0: Array, to_1: Array, to_2: Array, to_3: Array, a: Array, b: Array, c: Array, d: Array, n: int
) -> None:  # fmt: skip
    """B' x, of rows a to d."""
    for i in short(n):
        to_0[i] = a[i] - c[i]
        to_1[i] = b[i] + c[i]
        to_2[i] = c[i] - b[i]
        to_3[i] = b[i] - d[i]


@function
def transform_channel(
    x: Array, to: Array, matrix: int, row: Array, mixed: Array, first: int, last: int, g: Ints
) -> None:
    """B' d B for the tiles from tile row `first` to before `last` of one channel: x is that of the first image, `to`
    the row of the first matrix, and `matrix` the distance of matrices. `row` is for a row with its padding, whose
    margins are 0, and `mixed` for four rows of the image, of which the next tile row uses two again."""
    wide = g[WIDE]
    for tiles in range(first, last):
        down = tiles % g[DOWN]
        plane = x + tiles // g[DOWN] * g[CHANNELS] * g[HEIGHT] * g[WIDTH]
        for k in range(0 if down == 0 or tiles == first else 2, 4):
            h = 2 * down - g[PAD_HEIGHT] + k
            into = mixed + (2 * down + k) % 4 * 4 * wide
            if h >= 0 and h < g[HEIGHT]:
                copy(row + g[PAD_WIDTH], plane + h * g[WIDTH], g[WIDTH])
                mix_columns(into, row, wide)
            else:
                clear(into, 4 * wide)
        even = 2 * down % 4 * 4 * wide
        odd = (2 * down + 2) % 4 * 4 * wide
        at = to + (tiles - first) * g[ACROSS]
        for j in range(4):
            a = mixed + (even + j * wide)
            c = mixed + (odd + j * wide)
            z = at + j * matrix
            mix_rows(
                z, z + 4 * matrix, z + 8 * matrix, z + 12 * matrix, a, a + 4 * wide, c, c + 4 * wide, g[ACROSS]
            )  # fmt: skip


@function
def transform(x: Array, to: Array, scratch: Array, channels: int, first: int, last: int, g: Ints) -> None:
    """B' d B for `channels` channels: 16 matrices (channels, COLUMNS)."""
    row = scratch + 16 * g[WIDE]
    clear(row, 4 * g[WIDE])
    for c in range(channels):
        channel = x + c * g[HEIGHT] * g[WIDTH]
        transform_channel(channel, to + c * g[COLUMNS], channels * g[COLUMNS], row, scratch, first, last, g)


@function
def combine(to_00: Array, to_01: Array, to_10: Array, to_11: Array, m: Array, matrix: int, n: int) -> None:
    """A' m A of n tiles: the four pixels of each."""
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
def interleave(to: Array, even: Array, odd: Array, n: int) -> None:
    for i in range(n):
        to[2 * i] = even[i]
        to[2 * i + 1] = odd[i]


@function
def add_constant(to: Array, x: Array, a: float, n: int) -> None:
    for i in short(n):
        to[i] = x[i] + a


@function
def write_tiles(pixels: Array, y: Array, row: Array, bias: float, first: int, last: int, g: Ints) -> None:
    """The tiles from tile row `first` to before `last`, plus bias, into one channel of the output: y is that of the
    first image, and `pixels` has COLUMNS elements for each of the four pixels of a tile. `row` is for a row."""
    columns = g[COLUMNS]
    for tiles in range(first, last):
        plane = y + tiles // g[DOWN] * g[FILTERS] * g[OUT_HEIGHT] * g[OUT_WIDTH]
        for k in range(2):
            h = tiles % g[DOWN] * 2 + k
            if h < g[OUT_HEIGHT]:
                at = pixels + (2 * k * columns + (tiles - first) * g[ACROSS])
                interleave(row, at, at + columns, g[WIDE])
                add_constant(plane + h * g[OUT_WIDTH], row, bias, g[OUT_WIDTH])


@function
def finish_channel(
    m: Array, y: Array, matrix: int, scratch: Array, bias: float, first: int, last: int, g: Ints
) -> None:
    """A' m A + bias into one channel of the output: y is that of the first image, m the row of the first matrix."""
    columns = g[COLUMNS]
    combine(
        scratch, scratch + columns, scratch + 2 * columns, scratch + 3 * columns, m, matrix, (last - first) * g[ACROSS]
    )  # fmt: skip
    write_tiles(scratch, y, scratch + 4 * columns, bias, first, last, g)


# ---------------------------------------------------------------- kernels


@function
def mix_kernel(to: Array, k: Array, apart: int, first: int, step: int) -> None:
    """G k G' of one kernel, whose elements are read from `first` on, `step` apart. The 16 are written `apart`."""
    for j in range(3):
        a = k[first + step * j]
        b = k[first + step * (3 + j)]
        c = k[first + step * (6 + j)]
        to[j * apart] = a
        to[(4 + j) * apart] = 0.5 * (a + b + c)
        to[(8 + j) * apart] = 0.5 * (a - b + c)
        to[(12 + j) * apart] = c
    for i in range(4):
        a = to[4 * i * apart]
        b = to[(4 * i + 1) * apart]
        c = to[(4 * i + 2) * apart]
        to[(4 * i + 1) * apart] = 0.5 * (a + b + c)
        to[(4 * i + 2) * apart] = 0.5 * (a - b + c)
        to[(4 * i + 3) * apart] = c


@kernel
def transform_weights(task: int, scratch: Array, w: Array, u: Array, flip: int, filters: int, channels: int) -> None:
    """u = G w G' for each kernel of one filter: 16 matrices (filters, channels). `flip`: of the kernels turned by half
    a turn. One task for each filter.

    Matrices are often a power of 2 apart, at which writing all in turn would find none in the cache: so the rows of a
    filter are made elsewhere, `apart` of each other.
    """
    apart = channels + 16
    for c in range(channels):
        mix_kernel(scratch + c, w + (task * channels + c) * 9, apart, 8 * flip, 1 - 2 * flip)
    for k in range(16):
        copy(u + (k * filters + task) * channels, scratch + k * apart, channels)


@kernel
def convolve(
    task: int, scratch: Array, x: Array, u: Array, bias: Array, y: Array, has_bias: int, trans: int, g: Ints
) -> None:  # fmt: skip
    """y = the convolution of x with the kernels whose transforms are u, plus bias. `trans`: u has a row for each
    channel, and not for each filter. One task for each block of filters of each block of tile rows."""
    blocks = (g[FILTERS] + g[FILTER_BLOCK] - 1) // g[FILTER_BLOCK]
    f = task % blocks * g[FILTER_BLOCK]
    filters = min(g[FILTER_BLOCK], g[FILTERS] - f)
    first = task // blocks * g[ROWS]
    last = min(first + g[ROWS], g[IMAGES] * g[DOWN])
    columns = g[COLUMNS]
    channels = g[CHANNELS]
    m = scratch + 16 * channels * columns
    rest = m + 16 * filters * columns
    transform(x, scratch, rest, channels, first, last, g)
    for k in range(16):
        a = u + k * channels * g[FILTERS]
        b = scratch + k * channels * columns
        c = m + k * filters * columns
        n = (last - first) * g[ACROSS]
        if trans == 1:
            gemm(TRANS, NO_TRANS, filters, n, channels, a + f, g[FILTERS], b, columns, 0.0, c, columns)
        else:
            gemm(NO_TRANS, NO_TRANS, filters, n, channels, a + f * channels, channels, b, columns, 0.0, c, columns)
    for i in range(filters):
        channel = y + (f + i) * g[OUT_HEIGHT] * g[OUT_WIDTH]
        added = bias[f + i] if has_bias == 1 else 0.0
        finish_channel(m + i * columns, channel, filters * columns, rest, added, first, last, g)
