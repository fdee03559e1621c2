"""Convolution in which each channel has a filter of its own, and its two adjoints: no products of matrices.

A task takes LANES channels of a block of pixels, copied with their channels last, so that what a place of the kernel
adds to a pixel is one vector times another. `g` is as `gathered` has it; its columns are these channels, and a "place"
is one of the kernel's:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, turn
from runtime.native.channels_last import BLOCK_SIZE, COUNT, FIRST, LANES, copy_box_of
from runtime.native.gathered import (
    BLOCK,
    BLOCKS,
    BOX,
    CHANNELS,
    COPY,
    IMAGE,
    IMAGES,
    LARGEST,
    OFFSETS,
    PART,
    PARTS,
    PIXELS,
    PLACES,
    ROWS,
    SEGMENTS,
    SPLITS,
    TO,
    TOGETHER,
)
from runtime.native.vectors import clear

# ---------------------------------------------------------------- sums of products


@function
def add_9(to: Array, places: Ints, x: Array, rows: Ints, w: Array, offsets: Ints, n: int) -> None:
    """Add nine vectors, times those of w, to each of n pixels: those at the row of the pixel and nine offsets."""
    for p in range(n):
        at = x + rows[p]
        for i in range(LANES):
            a = w[i] * at[offsets[0] + i] + w[LANES + i] * at[offsets[1] + i] + w[2 * LANES + i] * at[offsets[2] + i]
            b = w[3 * LANES + i] * at[offsets[3] + i] + w[4 * LANES + i] * at[offsets[4] + i]
            c = w[5 * LANES + i] * at[offsets[5] + i] + w[6 * LANES + i] * at[offsets[6] + i]
            d = w[7 * LANES + i] * at[offsets[7] + i] + w[8 * LANES + i] * at[offsets[8] + i]
            to[places[p] + i] += a + b + (c + d)


@function
def add_1(to: Array, places: Ints, x: Array, rows: Ints, w: Array, n: int) -> None:
    for p in range(n):
        for i in range(LANES):
            to[places[p] + i] += w[i] * x[rows[p] + i]


@function
def add_places(
    to: Array, places: Ints, x: Array, rows: Ints, w: Array, offsets: Ints, count: int, n: int
) -> None:  # fmt: skip
    """Add what `count` places of the kernel give to each of n pixels."""
    k = 0
    while k + 9 <= count:
        add_9(to, places, x, rows, w + k * LANES, offsets + k, n)
        k += 9
    while k < count:
        add_1(to, places, x + offsets[k], rows, w + k * LANES, n)
        k += 1


@function
def dot_3(sums: Array, y: Array, x: Array, rows: Ints, offsets: Ints, n: int) -> None:
    """Add the products of n vectors of y with those of x at three offsets to three vectors of sums."""
    for p in range(n):
        at = x + rows[p]
        for i in range(LANES):
            sums[i] += y[p * LANES + i] * at[offsets[0] + i]
        for i in range(LANES):
            sums[LANES + i] += y[p * LANES + i] * at[offsets[1] + i]
        for i in range(LANES):
            sums[2 * LANES + i] += y[p * LANES + i] * at[offsets[2] + i]


@function
def dot_1(sums: Array, y: Array, x: Array, rows: Ints, n: int) -> None:
    for p in range(n):
        for i in range(LANES):
            sums[i] += y[p * LANES + i] * x[rows[p] + i]


@function
def add_lanes(kept: Array, sums: Array) -> None:
    """Add a vector of sums to compensated sums: LANES rounded sums, and then the sums of their rounding errors."""
    for i in range(LANES):
        before = kept[i]
        after = before + sums[i]
        kept[LANES + i] += sums[i] - (after - before)
        kept[i] = after


# ---------------------------------------------------------------- kernels


@kernel
def convolve(
    task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, places: int, turn_code: int,
    g: Ints, order: Ints,
) -> None:  # fmt: skip
    """y, (images, channels, pixels), of images (images, channels, ...) and w, (channels, places): of a convolution, or
    of its transpose. `order` has where each place goes among the weights. One task for LANES channels of each block."""
    c = task % g[SPLITS] * LANES
    count = min(LANES, g[CHANNELS] - c)
    of_all = task // g[SPLITS]
    first = of_all // g[BLOCKS] * g[TOGETHER]
    block = g + (g[BLOCK] + of_all % g[BLOCKS] * BLOCK_SIZE)
    images = min(g[TOGETHER], g[IMAGES] - first)
    packed = scratch + g[TOGETHER] * g[BOX]
    result = packed + places * LANES
    start = result + g[TOGETHER] * g[LARGEST] * LANES
    if count < LANES:  # what is left over in memory may be slow to compute with
        clear(scratch, g[TOGETHER] * g[BOX] + places * LANES)
    for i in range(images):
        of = x + ((first + i) * g[CHANNELS] + c) * g[IMAGE]
        copy_box_of(block, of, scratch + i * g[BOX], count, turn_code, g + g[COPY])
    turn(turn_code, w + c * places, places, packed, order, count, places)
    clear(start, LANES)
    if has_bias == 1:
        for i in range(count):
            start[i] = bias[c + i]
    for p in range(images * block[COUNT]):
        for i in range(LANES):
            result[p * LANES + i] = start[i]
    for r in range(g[PARTS]):
        part = g + (g[PART] + 3 * r)
        segment = g + (g[SEGMENTS] + (of_all % g[BLOCKS] * g[PARTS] + r) * 2)
        add_places(
            result, g + (g[TO] + segment[0]), scratch, g + (g[ROWS] + segment[0]), packed + part[0] * LANES,
            g + (g[OFFSETS] + part[0]), part[1], segment[1] * images,
        )  # fmt: skip
    for i in range(images):
        to = y + ((first + i) * g[CHANNELS] + c) * g[PIXELS] + block[FIRST]
        turn(turn_code, result + i * block[COUNT] * LANES, LANES, to, g + g[PLACES], block[COUNT], count)


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, parts: Array, blocks: int, of_part: int, turn_code: int, g: Ints,
    order: Ints,
) -> None:  # fmt: skip
    """parts[p] = the gradient of the weights, (channels, places), that `of_part` of the `blocks` blocks give. `order`
    has the places of pixels, LANES apart, and then those of weights. One task for LANES channels of each part."""
    c = task % g[SPLITS] * LANES
    count = min(LANES, g[CHANNELS] - c)
    part = task // g[SPLITS]
    places = g[g[PART] + 1]
    lines = scratch + g[TOGETHER] * g[BOX]
    sums = lines + g[TOGETHER] * g[LARGEST] * LANES
    kept = sums + places * LANES
    clear(kept, places * 2 * LANES)
    if count < LANES:
        clear(scratch, g[TOGETHER] * (g[BOX] + g[LARGEST] * LANES))
    for b in range(part * of_part, min(part * of_part + of_part, blocks)):
        first = b // g[BLOCKS] * g[TOGETHER]
        block = g + (g[BLOCK] + b % g[BLOCKS] * BLOCK_SIZE)
        images = min(g[TOGETHER], g[IMAGES] - first)
        for i in range(images):
            channel = (first + i) * g[CHANNELS] + c
            copy_box_of(block, x + channel * g[IMAGE], scratch + i * g[BOX], count, turn_code, g + g[COPY])
            turn(
                turn_code, y + (channel * g[PIXELS] + block[FIRST]), g[PIXELS], lines + i * block[COUNT] * LANES, order,
                count, block[COUNT],
            )  # fmt: skip
        rows = g + (g[ROWS] + g[g[SEGMENTS] + b % g[BLOCKS] * 2])
        n = images * block[COUNT]
        clear(sums, places * LANES)
        for k in range(0, places - 2, 3):
            dot_3(sums + k * LANES, lines, scratch, rows, g + (g[OFFSETS] + k), n)
        for k in range(places // 3 * 3, places):
            dot_1(sums + k * LANES, lines, scratch + g[g[OFFSETS] + k], rows, n)
        for k in range(places):
            add_lanes(kept + k * 2 * LANES, sums + k * LANES)
    for k in range(places):
        for i in range(LANES):
            sums[k * LANES + i] = kept[k * 2 * LANES + i] + kept[(k * 2 + 1) * LANES + i]
    to = parts + (part * g[CHANNELS] + c) * places
    turn(turn_code, sums, LANES, to, order + g[LARGEST], places, count)
