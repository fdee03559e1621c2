"""Convolution and its two adjoints, each in one pass over the images: windows laid out as a matrix, then GEMM.

Images have three axes: depth, height and width, of which the first may have length 1. An image is handled in tiles of
output pixels, whose windows fit into the L2 cache: `unfold` writes the windows as columns of a matrix, which has a row
for each channel and place in the kernel; `fold` adds such columns to the image.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, TRANS, Array, Ints, function, gemm, shared, short
from runtime.native.vectors import accumulate, clear, copy

# Indices into `g`, the geometry:
CHANNELS, DEPTH, HEIGHT, WIDTH = 0, 1, 2, 3  # the image
FILTERS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH = 4, 5, 6, 7  # the output
KERNEL, STRIDE, PAD, DILATE = 8, 11, 14, 17  # of depth; those of height and width follow
GROUPS, PIXELS, ROWS = 20, 21, 22  # groups; output pixels; rows of the matrix of one group
TILE_ROWS, TILE_WIDTH, TILES = 23, 24, 25  # a tile, rows of the output or a part of one row; the number of tiles


@function
def tile_start(tile: int, g: Ints) -> int:
    """The first output pixel of a tile. For the tile after the last, the number of output pixels."""
    across = (g[OUT_WIDTH] + g[TILE_WIDTH] - 1) // g[TILE_WIDTH]
    row = min(tile // across * g[TILE_ROWS], g[OUT_DEPTH] * g[OUT_HEIGHT])
    return row * g[OUT_WIDTH] + tile % across * g[TILE_WIDTH]


UNFOLD, FOLD = 0, 1
"""What `visit_windows` does. As a constant, once inlined, it leaves no branch."""


@shared
def unfold(image: Array, columns: Array, channels: int, start: int, count: int, g: Ints) -> None:
    """Write the columns of `count` output pixels from `start` on, whole rows or a part of one. Padding gives zeros."""
    visit_windows(UNFOLD, image, columns, channels, start, count, g)


@function
def fold(columns: Array, image: Array, channels: int, start: int, count: int, g: Ints) -> None:
    """The transpose of `unfold`: add each element of such columns to the pixel that it would be copied from."""
    visit_windows(FOLD, image, columns, channels, start, count, g)


@function
def visit_windows(way: int, image: Array, columns: Array, channels: int, start: int, count: int, g: Ints) -> None:
    """Go through the columns in the order of memory: of each channel and place in the kernel, the rows of the output.

    A row has `width` columns; those from `low` to before `high` lie over the image, the others over its padding.
    """
    stride = g[STRIDE + 2]
    width = min(count, g[OUT_WIDTH])
    left = start % g[OUT_WIDTH]
    row = start // g[OUT_WIDTH]
    d0 = row // g[OUT_HEIGHT] * g[STRIDE] - g[PAD]
    column = columns + 0
    for c in range(channels):
        for kd in range(g[KERNEL]):
            for kh in range(g[KERNEL + 1]):
                for kw in range(g[KERNEL + 2]):
                    shift = left * stride + kw * g[DILATE + 2] - g[PAD + 2]
                    low = min(max((stride - 1 - shift) // stride, 0), width)
                    high = min(max((g[WIDTH] - shift + stride - 1) // stride, low), width)
                    d = d0 + kd * g[DILATE]
                    oh = row % g[OUT_HEIGHT]
                    for _ in range(0, count, width):
                        h = oh * g[STRIDE + 1] - g[PAD + 1] + kh * g[DILATE + 1]
                        if d >= 0 and d < g[DEPTH] and h >= 0 and h < g[HEIGHT]:
                            pixel = image + (((c * g[DEPTH] + d) * g[HEIGHT] + h) * g[WIDTH] + shift)
                            if way == UNFOLD:
                                unfold_row(column, pixel, low, high, width, stride)
                            else:
                                fold_row(pixel, column, low, high, stride)
                        elif way == UNFOLD:
                            clear(column, width)
                        column = column + width
                        oh += 1
                        if oh == g[OUT_HEIGHT]:
                            oh = 0
                            d += g[STRIDE]


@function
def unfold_row(column: Array, pixel: Array, low: int, high: int, width: int, stride: int) -> None:
    for i in range(low):
        column[i] = 0.0
    if stride == 1:
        for i in short(low, high):
            column[i] = pixel[i]
    else:
        for i in range(low, high):
            column[i] = pixel[i * stride]
    for i in range(high, width):
        column[i] = 0.0


@function
def fold_row(pixel: Array, column: Array, low: int, high: int, stride: int) -> None:
    if stride == 1:
        for i in short(low, high):
            pixel[i] += column[i]
    else:
        for i in range(low, high):
            pixel[i * stride] += column[i]


@kernel
def convolve(task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, g: Ints) -> None:
    """y = w unfold(x) + bias. One task for each tile of each group of each image."""
    tile = task % g[TILES]
    image = task // g[TILES]
    group = image % g[GROUPS]
    filters = g[FILTERS] // g[GROUPS]
    size = g[CHANNELS] // g[GROUPS] * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    first = tile_start(tile, g)
    n = tile_start(tile + 1, g) - first
    unfold(x + image * size, scratch, g[CHANNELS] // g[GROUPS], first, n, g)
    out = y + (image * filters * g[PIXELS] + first)
    if has_bias == 1:
        for f in range(filters):
            for p in range(n):
                out[f * g[PIXELS] + p] = bias[group * filters + f]
    gemm(
        NO_TRANS, NO_TRANS, filters, n, g[ROWS],
        w + group * filters * g[ROWS], g[ROWS], scratch, n, float(has_bias), out, g[PIXELS],
    )  # fmt: skip


@kernel
def convolve_image(task: int, scratch: Array, y: Array, w: Array, x: Array, g: Ints) -> None:
    """x = fold(w^T y). One task for each group of each image."""
    group = task % g[GROUPS]
    filters = g[FILTERS] // g[GROUPS]
    size = g[CHANNELS] // g[GROUPS] * g[DEPTH] * g[HEIGHT] * g[WIDTH]
    image = x + task * size
    clear(image, size)
    for tile in range(g[TILES]):
        first = tile_start(tile, g)
        n = tile_start(tile + 1, g) - first
        gemm(
            TRANS, NO_TRANS, g[ROWS], n, filters,
            w + group * filters * g[ROWS], g[ROWS], y + (task * filters * g[PIXELS] + first), g[PIXELS],
            0.0, scratch, n,
        )  # fmt: skip
        fold(scratch, image, g[CHANNELS] // g[GROUPS], first, n, g)


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, parts: Array, channels_per_task: int, images_per_part: int,
    images: int, g: Ints,
) -> None:  # fmt: skip
    """parts[p] = the sum of y unfold(x)^T over the images of part p.

    One task for each block of `channels_per_task` channels of each group of each part.
    """
    channels = g[CHANNELS] // g[GROUPS]
    blocks = (channels + channels_per_task - 1) // channels_per_task
    group = task // blocks % g[GROUPS]
    start = task // blocks // g[GROUPS] * images_per_part
    channel = task % blocks * channels_per_task
    count = min(channels_per_task, channels - channel)
    filters = g[FILTERS] // g[GROUPS]
    places = g[ROWS] // channels
    plane = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    to = parts + (task // blocks * filters * g[ROWS] + channel * places)
    beta = 0.0
    for i in range(start, min(start + images_per_part, images)):
        image = i * g[GROUPS] + group
        for tile in range(g[TILES]):
            first = tile_start(tile, g)
            n = tile_start(tile + 1, g) - first
            unfold(x + (image * channels + channel) * plane, scratch, count, first, n, g)
            gemm(
                NO_TRANS, TRANS, filters, count * places, n,
                y + (image * filters * g[PIXELS] + first), g[PIXELS], scratch, n, beta, to, g[ROWS],
            )  # fmt: skip
            beta = 1.0


@kernel
def im2col(task: int, x: Array, columns: Array, g: Ints) -> None:
    """columns = unfold(x), the whole matrix of each image. One task for each image."""
    unfold(
        x + task * g[CHANNELS] * g[DEPTH] * g[HEIGHT] * g[WIDTH], columns + task * g[ROWS] * g[PIXELS], g[CHANNELS],
        0, g[PIXELS], g,
    )  # fmt: skip


@kernel
def col2im(task: int, columns: Array, x: Array, g: Ints) -> None:
    """x += fold(columns), the whole matrix of each image. One task for each image."""
    fold(
        columns + task * g[ROWS] * g[PIXELS], x + task * g[CHANNELS] * g[DEPTH] * g[HEIGHT] * g[WIDTH], g[CHANNELS],
        0, g[PIXELS], g,
    )  # fmt: skip


SUM_ELEMENTS = 4096
"""The elements of a task of `sum_parts`."""


@kernel
def sum_parts(task: int, parts: Array, w: Array, count: int, n: int) -> None:
    """w = the sum of `count` parts of n elements, in order. One task for each SUM_ELEMENTS elements."""
    first = task * SUM_ELEMENTS
    length = min(SUM_ELEMENTS, n - first)
    copy(w + first, parts + first, length)
    for p in range(1, count):
        accumulate(w + first, parts + (p * n + first), length)
