"""Convolution with kernels of 3 by 3 or 4 by 4 that move by two pixels, and its two adjoints, by Winograd's algorithm.

Along an axis, the elements of the kernel with even numbers meet the pixels with even numbers, and the odd the odd: two
phases, each a convolution that moves by one pixel, with two elements of the kernel or, in the odd phase of a kernel of
3, with one. Of two elements p and q, two outputs are made of three pixels a, b, c with three products,

    m0 = (a - b) p    m1 = b (p + q)    m2 = (b - c) q    outputs m0 + m1 and m1 - m2,

and of a single element with two: m0 = a p, m2 = -b p. In two axes, product i of one with product j of the other is
element (i, j) of 9. Each is a matrix product that sums over channels and phases: 36 multiplications (of kernels of 3:
25) for 4 outputs and 4 phases of a channel, not 64 (36). Rows of a matrix are ordered by channel, then phase.

The gradient of the image is made of phases as well, from pixels of the output: a single element there has m1 = b p and
m2 = (b - c) p. The product which a single element lacks is called `lone`. `g` is as in `winograd`, with:
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

ODD = 17  # elements of the kernel in its odd phase: 2 or 1
MIDDLE, FIRST = 1, 0
"""`lone`, in the convolution and in the gradient of the image."""


@function
def phases(i: int, lone: int, odd: int) -> int:
    """The number of phases that have product i."""
    return odd if i == lone else 2


@function
def phases_before(i: int, lone: int, odd: int) -> int:
    return 2 * i - (2 - odd if lone < i else 0)


@function
def rows_before(i: int, j: int, lone: int, odd: int) -> int:
    """The rows of the matrices before matrix (i, j), for each channel."""
    return phases_before(i, lone, odd) * (4 + odd) + phases(i, lone, odd) * phases_before(j, lone, odd)


@function
def rows_each(i: int, j: int, lone: int, odd: int) -> int:
    """The rows of matrix (i, j), for each channel."""
    return phases(i, lone, odd) * phases(j, lone, odd)


# ---------------------------------------------------------------- transforms


@function
def mix_columns(to: Array, x: Array, wide: int, odd: int) -> None:
    """Of a row of the image with its padding: what is multiplied in products 0 to 2 of the even phase, and of the odd.
    Six runs of `wide` elements."""
    for i in range(wide):
        to[i] = x[4 * i] - x[4 * i + 2]
        to[wide + i] = x[4 * i + 2]
        to[2 * wide + i] = x[4 * i + 2] - x[4 * i + 4]
    if odd == 2:
        for i in range(wide):
            to[3 * wide + i] = x[4 * i + 1] - x[4 * i + 3]
            to[4 * wide + i] = x[4 * i + 3]
            to[5 * wide + i] = x[4 * i + 3] - x[4 * i + 5]
    else:
        for i in range(wide):
            to[3 * wide + i] = x[4 * i + 1]
            to[5 * wide + i] = -x[4 * i + 3]


@function
def mix_three(to_0: Array, to_1: Array, to_2: Array, a: Array, b: Array, c: Array, n: int) -> None:
    for i in short(n):
        to_0[i] = a[i] - b[i]
        to_1[i] = b[i]
        to_2[i] = b[i] - c[i]


@function
def mix_two(to_0: Array, to_2: Array, a: Array, b: Array, n: int) -> None:
    for i in short(n):
        to_0[i] = a[i]
        to_2[i] = -b[i]


@function
def mix_rows(v: Array, rows: Array, at: int, j: int, phase: int, c: int, channels: int, down: int, g: Ints) -> None:
    """What is multiplied in the matrices (0, j) to (2, j), in a phase of the columns and both of the rows. `rows` are
    the runs of the six rows of the image that the tiles have, `at` the place of the tiles in the matrices."""
    odd = g[ODD]
    across = phases(j, MIDDLE, odd)
    for ph in range(2):
        a = rows + ((4 * down + ph) % 6 * 6 + 3 * phase + j) * g[WIDE]
        b = rows + ((4 * down + ph + 2) % 6 * 6 + 3 * phase + j) * g[WIDE]
        d = rows + ((4 * down + ph + 4) % 6 * 6 + 3 * phase + j) * g[WIDE]
        row = ph * across + phase
        to_0 = v + ((rows_before(0, j, MIDDLE, odd) * channels + c * 2 * across + row) * g[COLUMNS] + at)
        to_2 = v + ((rows_before(2, j, MIDDLE, odd) * channels + c * 2 * across + row) * g[COLUMNS] + at)
        if ph == 0 or odd == 2:
            to_1 = v + ((rows_before(1, j, MIDDLE, odd) * channels + c * odd * across + row) * g[COLUMNS] + at)
            mix_three(to_0, to_1, to_2, a, b, d, g[ACROSS])
        else:
            mix_two(to_0, to_2, a, b, g[ACROSS])


@function
def transform(x: Array, v: Array, scratch: Array, channels: int, first: int, last: int, g: Ints) -> None:
    """What is multiplied with the kernel, for the tiles from tile row `first` to before `last` of `channels` channels:
    x is the first of them in the first image. The next tile row uses two rows of the image again."""
    wide = g[WIDE]
    row = scratch + 36 * wide
    clear(row, 4 * wide + 16)
    for c in range(channels):
        for tiles in range(first, last):
            down = tiles % g[DOWN]
            plane = x + (tiles // g[DOWN] * g[CHANNELS] + c) * g[HEIGHT] * g[WIDTH]
            for k in range(0 if down == 0 or tiles == first else 2, 6):
                h = 4 * down - g[PAD_HEIGHT] + k
                into = scratch + (4 * down + k) % 6 * 6 * wide
                if h >= 0 and h < g[HEIGHT]:
                    copy(row + g[PAD_WIDTH], plane + h * g[WIDTH], g[WIDTH])
                    mix_columns(into, row, wide, g[ODD])
                else:
                    clear(into, 6 * wide)
            for phase in range(2):
                for j in range(3):
                    if phase < phases(j, MIDDLE, g[ODD]):
                        mix_rows(v, scratch, (tiles - first) * g[ACROSS], j, phase, c, channels, down, g)


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
def mix_elements(to: Array, a: float, b: float, c: float, d: float, odd: int, turned: int) -> None:
    """What the elements a to d of a kernel along an axis multiply: in products 0 to 2, each in the even phase and then
    in the odd. `turned`: in the gradient of the image."""
    to[0] = c if turned == 1 else a
    to[2] = a + c
    to[4] = a if turned == 1 else c
    to[1] = d if turned == 1 and odd == 2 else b
    to[3] = b + d
    to[5] = d if turned == 0 and odd == 2 else b


@kernel
def transform_weights(
    task: int, scratch: Array, w: Array, u: Array, turned: int, filters: int, channels: int, odd: int
) -> None:  # fmt: skip
    """What the pixels are multiplied with: 9 matrices (filters, channels * phases). `turned`: for the gradient of the
    image. One task for each filter. `scratch` has 40 elements, and then the filter's rows, each with 16 more."""
    size = 2 + odd
    lone = FIRST if turned == 1 else MIDDLE
    rows = scratch + 40
    for c in range(channels):
        k = w + (task * channels + c) * size * size
        for s in range(size):
            last = k[3 * size + s] if odd == 2 else 0.0
            mix_elements(scratch + 6 * s, k[s], k[size + s], k[2 * size + s], last, odd, turned)
        for i in range(3):
            for ph in range(phases(i, lone, odd)):
                r = scratch + (2 * i + ph)
                mix_elements(scratch + 24, r[0], r[6], r[12], r[18] if odd == 2 else 0.0, odd, turned)
                for j in range(3):
                    each = rows_each(i, j, lone, odd)
                    n = phases(j, lone, odd)
                    to = rows + (rows_before(i, j, lone, odd) * channels + 16 * (3 * i + j) + c * each + ph * n)
                    for phase in range(n):
                        to[phase] = scratch[24 + 2 * j + phase]
    for i in range(3):
        for j in range(3):
            before = rows_before(i, j, lone, odd) * channels
            n = rows_each(i, j, lone, odd) * channels
            copy(u + (before * filters + task * n), rows + (before + 16 * (3 * i + j)), n)


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
    odd = g[ODD]
    m = scratch + (4 + odd) * (4 + odd) * channels * columns
    rest = m + 9 * filters * columns
    transform(x, scratch, rest, channels, first, last, g)
    for i in range(3):
        for j in range(3):
            before = rows_before(i, j, MIDDLE, odd) * channels
            k = rows_each(i, j, MIDDLE, odd) * channels
            gemm(
                NO_TRANS, NO_TRANS, filters, (last - first) * g[ACROSS], k,
                u + (before * g[FILTERS] + f * k), k, scratch + before * columns, columns,
                0.0, m + (3 * i + j) * filters * columns, columns,
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
                mix_three(at, at + 3 * matrix, at + 6 * matrix, a, b, d, g[ACROSS])


@function
def join(to_0: Array, to_1: Array, m_0: Array, m_1: Array, m_2: Array, whole: int, n: int) -> None:
    """Two outputs of products 0 to 2, or without 0 if not `whole`."""
    if whole == 1:
        for i in short(n):
            to_0[i] = m_0[i] + m_1[i]
            to_1[i] = m_1[i] - m_2[i]
    else:
        for i in short(n):
            to_0[i] = m_1[i]
            to_1[i] = m_1[i] - m_2[i]


@function
def interleave_4(to: Array, a: Array, b: Array, c: Array, d: Array, n: int) -> None:
    for i in range(n):
        to[4 * i] = a[i]
        to[4 * i + 1] = b[i]
        to[4 * i + 2] = c[i]
        to[4 * i + 3] = d[i]


@function
def join_phase(
    m: Array, pixels: Array, sums: Array, ph: int, phase: int, c: int, channels: int, n: int, g: Ints
) -> None:
    """The pixels of n tiles in one phase of the rows and one of the columns, of a channel: 16 runs of COLUMNS elements
    are for the four pixels of each phase, of both axes, from those of the first row on."""
    odd = g[ODD]
    columns = g[COLUMNS]
    for j in range(3):
        if phase < phases(j, FIRST, odd):
            across = phases(j, FIRST, odd)
            row = ph * across + phase
            m_0 = m + (rows_before(0, j, FIRST, odd) * channels + c * odd * across + row) * columns
            m_1 = m + (rows_before(1, j, FIRST, odd) * channels + c * 2 * across + row) * columns
            m_2 = m + (rows_before(2, j, FIRST, odd) * channels + c * 2 * across + row) * columns
            whole = 1 if ph < odd else 0
            join(sums + j * columns, sums + (3 + j) * columns, m_0 if whole == 1 else m_1, m_1, m_2, whole, n)
    for k in range(2):
        s = sums + 3 * k * columns
        to = pixels + (4 * (2 * k + ph) + phase) * columns
        join(to, to + 2 * columns, s, s + columns, s + 2 * columns, 1 if phase < odd else 0, n)


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
    odd = g[ODD]
    n = (last - first) * g[ACROSS]
    m = scratch + 9 * channels * columns
    rest = m + (4 + odd) * (4 + odd) * filters * columns
    row = rest + 22 * columns
    transform_output(y, scratch, rest, first, last, g)
    for i in range(3):
        for j in range(3):
            before = rows_before(i, j, FIRST, odd)
            each = rows_each(i, j, FIRST, odd)
            gemm(
                TRANS, NO_TRANS, filters * each, n, channels,
                u + (before * g[FILTERS] * channels + f * each), g[FILTERS] * each,
                scratch + (3 * i + j) * channels * columns, columns, 0.0, m + before * filters * columns, columns,
            )  # fmt: skip
    for c in range(filters):
        for ph in range(2):
            for phase in range(2):
                join_phase(m, rest, rest + 16 * columns, ph, phase, c, filters, n, g)
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
def finish_kernel(w: Array, u: Array, sums: Array, c: int, filter: int, filters: int, channels: int, odd: int) -> None:
    """The transpose of `transform_weights`: one kernel, of the products of one filter and channel. `sums` has 24
    elements, for four rows of the kernel and both phases of the three products along them."""
    for j in range(3):
        across = phases(j, MIDDLE, odd)
        for phase in range(across):
            for ph in range(2):
                row = ph * across + phase
                a = u[(rows_before(0, j, MIDDLE, odd) * filters + filter * 2 * across) * channels + 16 * j
                      + c * 2 * across + row]  # fmt: skip
                d = u[(rows_before(2, j, MIDDLE, odd) * filters + filter * 2 * across) * channels + 16 * (6 + j)
                      + c * 2 * across + row]  # fmt: skip
                to = sums + (6 * ph + 2 * j + phase)
                if ph < odd:
                    b = u[(rows_before(1, j, MIDDLE, odd) * filters + filter * odd * across) * channels
                          + 16 * (3 + j) + c * odd * across + row]  # fmt: skip
                    to[0] = a + b
                    to[12] = b + d
                else:
                    to[0] = a + d
    size = 2 + odd
    for r in range(size):
        s = sums + 6 * r
        w[r * size] = s[0] + s[2]
        w[r * size + 2] = s[2] + s[4]
        if odd == 2:
            w[r * size + 1] = s[1] + s[3]
            w[r * size + 3] = s[3] + s[5]
        else:
            w[r * size + 1] = s[1] + s[5]


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
    odd = g[ODD]
    rows = (4 + odd) * (4 + odd)
    v = scratch + (rows * filters * channels + 144)
    m = v + rows * channels * columns
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
        for i in range(3):
            for j in range(3):
                before = rows_before(i, j, MIDDLE, odd) * channels
                k = rows_each(i, j, MIDDLE, odd) * channels
                gemm(
                    NO_TRANS, TRANS, filters, k, n, m + (3 * i + j) * filters * columns, columns,
                    v + before * columns, columns, beta, scratch + (before * filters + 16 * (3 * i + j)), k,
                )  # fmt: skip
        beta = 1.0
    size = 2 + odd
    for i in range(filters):
        to = parts + ((task // blocks * g[FILTERS] + f + i) * g[CHANNELS] + c) * size * size
        for j in range(channels):
            finish_kernel(to + j * size * size, scratch, rest, j, i, filters, channels, odd)
