"""Convolution with kernels of 4 by 4 that move by two pixels, and its two adjoints, by Winograd's algorithm.

Along an axis, the two elements of the kernel with even numbers meet the pixels with even numbers, and the odd the odd:
two phases, each a convolution that moves by one pixel. Of its elements p and q, two outputs are made of three pixels
a, b, c with three products,

    m0 = (a - b) p    m1 = b (p + q)    m2 = (b - c) q    outputs m0 + m1 and m1 - m2.

In two axes, product i of one with product j of the other is element (i, j) of 9. Each is a matrix product that sums
over channels and the four phases of both axes: 36 multiplications for 4 outputs and a channel, not 64. A matrix has
four rows for each channel of the image, its phases. The gradient of the image consists of phases as well, which are
made of the same pixels of the output. `g` is as in `winograd`.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, TRANS, Array, Ints, function, gemm, short
from runtime.native.vectors import clear, copy
from runtime.native.winograd import (
    ACROSS,
    CHANNEL_BLOCK,
    CHANNELS,
    COLUMNS,
    DOWN,
    FILTER_BLOCK,
    FILTERS,
    HEIGHT,
    IMAGES,
    OUT_HEIGHT,
    OUT_WIDTH,
    PAD_HEIGHT,
    PAD_WIDTH,
    PART_ROWS,
    ROWS,
    WIDE,
    WIDTH,
    read_tiles,
    write_tiles,
)  # fmt: skip

# ---------------------------------------------------------------- transforms


@function
def mix_columns(to: Array, x: Array, wide: int) -> None:
    """Of a row of the image with its padding: what is multiplied in products 0 to 2 of the even phase, and of the odd.
    Six runs of `wide` elements."""
    for i in range(wide):
        to[i] = x[4 * i] - x[4 * i + 2]
        to[wide + i] = x[4 * i + 2]
        to[2 * wide + i] = x[4 * i + 2] - x[4 * i + 4]
    for i in range(wide):
        to[3 * wide + i] = x[4 * i + 1] - x[4 * i + 3]
        to[4 * wide + i] = x[4 * i + 3]
        to[5 * wide + i] = x[4 * i + 3] - x[4 * i + 5]


@function
def mix_rows(to_0: Array, to_1: Array, to_2: Array, a: Array, b: Array, c: Array, n: int) -> None:
    for i in short(n):
        to_0[i] = a[i] - b[i]
        to_1[i] = b[i]
        to_2[i] = b[i] - c[i]


@function
def transform(x: Array, v: Array, scratch: Array, channels: int, first: int, last: int, g: Ints) -> None:
    """What is multiplied with the kernel, 9 matrices (4 * channels, COLUMNS), for the tiles from tile row `first` to
    before `last`: x is the first channel in the first image. The next tile row uses two rows of the image again."""
    wide = g[WIDE]
    row = scratch + 36 * wide
    clear(row, 4 * wide + 16)
    matrix = 4 * channels * g[COLUMNS]
    for c in range(channels):
        for tiles in range(first, last):
            down = tiles % g[DOWN]
            plane = x + (tiles // g[DOWN] * g[CHANNELS] + c) * g[HEIGHT] * g[WIDTH]
            for k in range(0 if down == 0 or tiles == first else 2, 6):
                h = 4 * down - g[PAD_HEIGHT] + k
                into = scratch + (4 * down + k) % 6 * 6 * wide
                if h >= 0 and h < g[HEIGHT]:
                    copy(row + g[PAD_WIDTH], plane + h * g[WIDTH], g[WIDTH])
                    mix_columns(into, row, wide)
                else:
                    clear(into, 6 * wide)
            at = v + (4 * c * g[COLUMNS] + (tiles - first) * g[ACROSS])
            for ph in range(2):
                upper = scratch + (4 * down + ph) % 6 * 6 * wide
                middle = scratch + (4 * down + ph + 2) % 6 * 6 * wide
                lower = scratch + (4 * down + ph + 4) % 6 * 6 * wide
                for k in range(6):
                    to = at + (k % 3 * matrix + (2 * ph + k // 3) * g[COLUMNS])
                    r = k * wide
                    mix_rows(to, to + 3 * matrix, to + 6 * matrix, upper + r, middle + r, lower + r, g[ACROSS])


@function
def combine(to_00: Array, to_01: Array, to_10: Array, to_11: Array, m: Array, matrix: int, n: int) -> None:
    """The four pixels of n tiles, of the 9 products of each."""
    for i in short(n):
        a = m[i] + m[3 * matrix + i]
        b = m[matrix + i] + m[4 * matrix + i]
        c = m[2 * matrix + i] + m[5 * matrix + i]
        to_00[i] = a + b
        to_01[i] = b - c
        d = m[3 * matrix + i] - m[6 * matrix + i]
        e = m[4 * matrix + i] - m[7 * matrix + i]
        f = m[5 * matrix + i] - m[8 * matrix + i]
        to_10[i] = d + e
        to_11[i] = e - f


@function
def mix_elements(to: Array, k: Array, apart: int, turned: int) -> None:
    """What four elements of a kernel along an axis, `apart`, multiply: in products 0 to 2, each in the even phase and
    then in the odd. `turned`: in the gradient of the image, where the elements of a phase change places."""
    for ph in range(2):
        p = k[ph * apart]
        q = k[(2 + ph) * apart]
        to[ph] = q if turned == 1 else p
        to[2 + ph] = p + q
        to[4 + ph] = p if turned == 1 else q


@kernel
def transform_weights(task: int, scratch: Array, w: Array, u: Array, turned: int, filters: int, channels: int) -> None:
    """What the pixels are multiplied with: 9 matrices (filters, 4 * channels). `turned`: for the gradient of the image.
    One task for each filter. `scratch` has 32 elements, and then the filter's rows, each with 16 more."""
    along = scratch + 24
    rows = scratch + 32
    apart = 4 * channels + 16
    for c in range(channels):
        for s in range(4):
            mix_elements(scratch + 6 * s, w + (task * channels + c) * 16 + s, 4, turned)
        for r in range(6):
            mix_elements(along, scratch + r, 6, turned)
            to = rows + (r // 2 * 3 * apart + 4 * c + r % 2 * 2)
            for k in range(6):
                to[k // 2 * apart + k % 2] = along[k]
    for k in range(9):
        copy(u + (k * filters + task) * 4 * channels, rows + k * apart, 4 * channels)


# ---------------------------------------------------------------- the convolution


@kernel
def convolve(task: int, scratch: Array, x: Array, u: Array, bias: Array, y: Array, has_bias: int, g: Ints) -> None:
    """y = the convolution of x with the kernels whose transforms are u, plus bias. One task for each block of filters
    of each block of tile rows."""
    blocks = (g[FILTERS] + g[FILTER_BLOCK] - 1) // g[FILTER_BLOCK]
    f = task % blocks * g[FILTER_BLOCK]
    filters = min(g[FILTER_BLOCK], g[FILTERS] - f)
    first = task // blocks * g[ROWS]
    last = min(first + g[ROWS], g[IMAGES] * g[DOWN])
    columns = g[COLUMNS]
    channels = g[CHANNELS]
    m = scratch + 36 * channels * columns
    rest = m + 9 * filters * columns
    transform(x, scratch, rest, channels, first, last, g)
    rows = 4 * channels
    for k in range(9):
        gemm(
            NO_TRANS, NO_TRANS, filters, (last - first) * g[ACROSS], rows, u + (k * g[FILTERS] + f) * rows, rows,
            scratch + k * rows * columns, columns, 0.0, m + k * filters * columns, columns,
        )  # fmt: skip
    for i in range(filters):
        channel = y + (f + i) * g[OUT_HEIGHT] * g[OUT_WIDTH]
        combine(
            rest, rest + columns, rest + 2 * columns, rest + 3 * columns, m + i * columns, filters * columns,
            (last - first) * g[ACROSS],
        )  # fmt: skip
        write_tiles(rest, channel, rest + 4 * columns, bias[f + i] if has_bias == 1 else 0.0, first, last, g)


# ---------------------------------------------------------------- the gradient of the image


@function
def mix_output_columns(to: Array, y: Array, wide: int) -> None:
    for i in range(wide):
        to[i] = y[2 * i] - y[2 * i + 1]
        to[wide + i] = y[2 * i + 1]
        to[2 * wide + i] = y[2 * i + 1] - y[2 * i + 2]


@function
def transform_output(y: Array, v: Array, scratch: Array, first: int, last: int, g: Ints) -> None:
    """As `transform`, of the output: 9 matrices (CHANNELS, COLUMNS), whose channels are filters. A tile has 3 by 3
    pixels, the first of which are those before the tile's own."""
    wide = g[WIDE]
    row = scratch + 9 * wide
    clear(row, 2 * wide + 16)
    matrix = g[CHANNELS] * g[COLUMNS]
    for c in range(g[CHANNELS]):
        for tiles in range(first, last):
            down = tiles % g[DOWN]
            plane = y + (tiles // g[DOWN] * g[CHANNELS] + c) * g[HEIGHT] * g[WIDTH]
            for k in range(0 if down == 0 or tiles == first else 1, 3):
                h = 2 * down - 1 + k
                into = scratch + (2 * down + k) % 3 * 3 * wide
                if h >= 0 and h < g[HEIGHT]:
                    copy(row + 1, plane + h * g[WIDTH], g[WIDTH])
                    mix_output_columns(into, row, wide)
                else:
                    clear(into, 3 * wide)
            to = v + (c * g[COLUMNS] + (tiles - first) * g[ACROSS])
            for j in range(3):
                at = to + j * matrix
                a = scratch + (2 * down % 3 * 3 + j) * wide
                b = scratch + ((2 * down + 1) % 3 * 3 + j) * wide
                d = scratch + ((2 * down + 2) % 3 * 3 + j) * wide
                mix_rows(at, at + 3 * matrix, at + 6 * matrix, a, b, d, g[ACROSS])


@function
def join(to_0: Array, to_1: Array, m_0: Array, m_1: Array, m_2: Array, n: int) -> None:
    """Two outputs of products 0 to 2."""
    for i in short(n):
        to_0[i] = m_0[i] + m_1[i]
        to_1[i] = m_1[i] - m_2[i]


@function
def interleave_4(to: Array, a: Array, b: Array, c: Array, d: Array, n: int) -> None:
    for i in range(n):
        to[4 * i] = a[i]
        to[4 * i + 1] = b[i]
        to[4 * i + 2] = c[i]
        to[4 * i + 3] = d[i]


@function
def join_phases(m: Array, pixels: Array, sums: Array, matrix: int, n: int, columns: int) -> None:
    """The pixels of n tiles of a channel: 16 runs of COLUMNS elements, those of a row of a tile after those of the row
    above. m is the channel's first row in the first matrix."""
    for k in range(4):
        at = m + k * columns
        for j in range(3):
            z = at + j * matrix
            join(sums + j * columns, sums + (3 + j) * columns, z, z + 3 * matrix, z + 6 * matrix, n)
        for row in range(2):
            s = sums + 3 * row * columns
            to = pixels + (4 * (2 * row + k // 2) + k % 2) * columns
            join(to, to + 2 * columns, s, s + columns, s + 2 * columns, n)


@kernel
def convolve_image(task: int, scratch: Array, y: Array, u: Array, x: Array, g: Ints) -> None:
    """x = the transpose of `convolve`, applied to y, whose channels, filters, are CHANNELS here: FILTERS are those of
    the image, and a tile has 4 by 4 of its pixels. One task for each block of these of each block of tile rows."""
    blocks = (g[FILTERS] + g[FILTER_BLOCK] - 1) // g[FILTER_BLOCK]
    f = task % blocks * g[FILTER_BLOCK]
    filters = min(g[FILTER_BLOCK], g[FILTERS] - f)
    first = task // blocks * g[ROWS]
    last = min(first + g[ROWS], g[IMAGES] * g[DOWN])
    columns = g[COLUMNS]
    channels = g[CHANNELS]
    n = (last - first) * g[ACROSS]
    m = scratch + 9 * channels * columns
    rest = m + 36 * filters * columns
    row = rest + 22 * columns
    transform_output(y, scratch, rest, first, last, g)
    for k in range(9):
        gemm(
            TRANS, NO_TRANS, 4 * filters, n, channels, u + (k * channels * g[FILTERS] + f) * 4, 4 * g[FILTERS],
            scratch + k * channels * columns, columns, 0.0, m + 4 * k * filters * columns, columns,
        )  # fmt: skip
    for c in range(filters):
        join_phases(m + 4 * c * columns, rest, rest + 16 * columns, 4 * filters * columns, n, columns)
        for tiles in range(first, last):
            plane = x + (tiles // g[DOWN] * g[FILTERS] + f + c) * g[OUT_HEIGHT] * g[OUT_WIDTH]
            for k in range(4):
                h = 4 * (tiles % g[DOWN]) + k - g[PAD_HEIGHT]
                if h >= 0 and h < g[OUT_HEIGHT]:
                    at = rest + (4 * k * columns + (tiles - first) * g[ACROSS])
                    interleave_4(row, at, at + columns, at + 2 * columns, at + 3 * columns, g[WIDE])
                    copy(plane + h * g[OUT_WIDTH], row + g[PAD_WIDTH], g[OUT_WIDTH])


# ---------------------------------------------------------------- the gradient of the weights


@function
def spread(to: Array, matrix: int, a: Array, b: Array, c: Array, d: Array, n: int) -> None:
    """The transpose of `combine`."""
    for i in short(n):
        to[i] = a[i]
        to[matrix + i] = a[i] + b[i]
        to[2 * matrix + i] = -b[i]
        e = a[i] + c[i]
        f = b[i] + d[i]
        to[3 * matrix + i] = e
        to[4 * matrix + i] = e + f
        to[5 * matrix + i] = -f
        to[6 * matrix + i] = -c[i]
        to[7 * matrix + i] = -c[i] - d[i]
        to[8 * matrix + i] = d[i]


@function
def finish_kernel(w: Array, u: Array, sums: Array, matrix: int) -> None:
    """The transpose of `transform_weights`: one kernel, of the products of one filter and channel. `sums` has 24
    elements: six for each row of the kernel."""
    for j in range(3):
        for phase in range(2):
            for ph in range(2):
                z = u + (j * matrix + 2 * ph + phase)
                to = sums + (6 * ph + 2 * j + phase)
                to[0] = z[0] + z[3 * matrix]
                to[12] = z[3 * matrix] + z[6 * matrix]
    for r in range(4):
        s = sums + 6 * r
        for phase in range(2):
            w[4 * r + phase] = s[phase] + s[2 + phase]
            w[4 * r + 2 + phase] = s[2 + phase] + s[4 + phase]


@kernel
def convolve_weight(task: int, scratch: Array, y: Array, x: Array, parts: Array, g: Ints) -> None:
    """parts[p] = the gradient of the weights that the tile rows of part p give. One task for each block of filters with
    each block of channels of each part."""
    across = (g[CHANNELS] + g[CHANNEL_BLOCK] - 1) // g[CHANNEL_BLOCK]
    blocks = (g[FILTERS] + g[FILTER_BLOCK] - 1) // g[FILTER_BLOCK] * across
    f = task % blocks // across * g[FILTER_BLOCK]
    c = task % across * g[CHANNEL_BLOCK]
    filters = min(g[FILTER_BLOCK], g[FILTERS] - f)
    channels = min(g[CHANNEL_BLOCK], g[CHANNELS] - c)
    columns = g[COLUMNS]
    rows = 4 * channels
    matrix = rows * filters + 16
    v = scratch + 9 * matrix
    m = v + 9 * rows * columns
    rest = m + 9 * filters * columns
    end = min(task // blocks * g[PART_ROWS] + g[PART_ROWS], g[IMAGES] * g[DOWN])
    beta = 0.0
    for first in range(task // blocks * g[PART_ROWS], end, g[ROWS]):
        last = min(first + g[ROWS], end)
        n = (last - first) * g[ACROSS]
        transform(x + c * g[HEIGHT] * g[WIDTH], v, rest, channels, first, last, g)
        for i in range(filters):
            read_tiles(rest, y + (f + i) * g[OUT_HEIGHT] * g[OUT_WIDTH], rest + 4 * columns, first, last, g)
            spread(
                m + i * columns, filters * columns, rest, rest + columns, rest + 2 * columns, rest + 3 * columns, n
            )  # fmt: skip
        for k in range(9):
            gemm(
                NO_TRANS, TRANS, filters, rows, n, m + k * filters * columns, columns, v + k * rows * columns, columns,
                beta, scratch + k * matrix, rows,
            )  # fmt: skip
        beta = 1.0
    for i in range(filters):
        to = parts + ((task // blocks * g[FILTERS] + f + i) * g[CHANNELS] + c) * 16
        for j in range(channels):
            finish_kernel(to + j * 16, scratch + (i * channels + j) * 4, rest, matrix)
