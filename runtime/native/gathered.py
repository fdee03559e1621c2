"""Convolution and its two adjoints as products whose rows are gathered: no matrix of windows is made.

A task copies a box of an image, padding included, with its channels last. Then what is under a place of the kernel is,
for each pixel, a run of consecutive elements, and tables say where: a window is the sum of the place of a pixel and the
offsets of the kernel. `optgen.linalg.own.gathered` has the products. A box, a block of pixels and what is computed of
them stay in the second cache. `g` has the sizes and the tables, which `ndarray.nn.gathered` makes:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, gathered_gemm, gathered_sum, turn
from runtime.native.channels_last import BLOCK_SIZE, COUNT, FIRST, LANES, copy_box_of
from runtime.native.vectors import accumulate, clear, copy, rectify

IMAGES, TOGETHER, BLOCKS = 0, 1, 2  # images; those of a block; blocks of an image
GROUPS, CHANNELS, GROUP_PANELS = 3, 4, 5  # groups, the channels of one, and the elements of its panels
COLUMNS, SPLITS, SPLIT = 6, 7, 8  # columns of the product of a group; tasks that share them; columns of each
RUN, PIXELS = 9, 10  # elements of a run; pixels of a result
PARTS, OVERLAP = 11, 12  # groups of places of the kernel, each for some pixels; whether these may be in many or none
IMAGE, BOX, LARGEST = 13, 14, 15  # elements of a channel of an image, and of a box; the most pixels of a block
TABLES = 16  # from here on, where each table begins:
ROWS, TO, OFFSETS = 16, 17, 18  # rows of boxes; rows of the result; offsets, group by group
PART = 19  # of each group of places: its first offset, how many it has, and where its panels begin
SEGMENTS = 20  # of each block and group: its first row, and its rows in an image
PLACES, BLOCK, COPY = 21, 22, 23  # where `turn` copies to; blocks; what `copy_box` takes

PANELS = 4
"""The panels that `pack_channels` packs at a time: it reads a few lines of the cache of each filter."""


@kernel
def pack_filters(
    task: int, w: Array, panels: Array, width: int, blocks: int, filters: int, rows: int, apart: int, code: int, g: Ints
) -> None:  # fmt: skip
    """Panels that have a line for each filter, of weights (groups, filters, rows): row j of block b goes to b*apart +
    g[j]. One task for each of the `blocks` blocks of panels of a group."""
    b = task % blocks
    of = w + (task // blocks * filters + b * width) * rows
    to = panels + (task // blocks * blocks * width * rows + b * apart)
    count = min(width, filters - b * width)
    if count < width:  # what is left over must not be subnormal numbers, which are slow
        for j in range(rows):
            clear(to + g[j], width)
    turn(code, of, rows, to, g, count, rows)


@kernel
def pack_channels(
    task: int, w: Array, panels: Array, width: int, blocks: int, filters: int, channels: int, places: int, share: int,
    code: int, g: Ints,
) -> None:  # fmt: skip
    """Panels that have a line for each channel, of weights (groups, filters, channels, places): place j of block b goes
    to g[b*places + j], and from there on there are lines of each filter. One task for `share` filters of PANELS
    panels."""
    shares = (filters + share - 1) // share
    low = task % shares * share
    several = (blocks + PANELS - 1) // PANELS
    first = task // shares % several * PANELS
    group = task // shares // several
    size = blocks * width * filters * places
    for f in range(low, min(low + share, filters)):
        for b in range(first, min(first + PANELS, blocks)):
            of = w + ((group * filters + f) * channels + b * width) * places
            to = panels + (group * size + f * width)
            count = min(width, channels - b * width)
            if count < width:
                for j in range(places):
                    clear(to + g[b * places + j], width)
            if places == 1:
                copy(to + g[b], of, count)
            else:
                turn(code, of, places, to, g + b * places, count, places)


@kernel
def convolve(
    task: int, scratch: Array, x: Array, panels: Array, bias: Array, y: Array, has_bias: int, relu: int, code: int,
    turn_code: int, g: Ints,
) -> None:  # fmt: skip
    """y, (images, groups, columns, pixels), from images (images, groups, channels, ...): the sum of products with the
    panels, plus bias; if `relu`, its positive part. One task for some columns of each block of pixels of each group."""
    column = task % g[SPLITS] * g[SPLIT]
    group = task // g[SPLITS] % g[GROUPS]
    of_all = task // g[SPLITS] // g[GROUPS]
    first = of_all // g[BLOCKS] * g[TOGETHER]
    block = g + (g[BLOCK] + of_all % g[BLOCKS] * BLOCK_SIZE)
    images = min(g[TOGETHER], g[IMAGES] - first)
    columns = min(g[SPLIT], g[COLUMNS] - column)
    for i in range(images):
        of = x + ((first + i) * g[GROUPS] + group) * g[CHANNELS] * g[IMAGE]
        copy_box_of(block, of, scratch + i * g[BOX], g[CHANNELS], turn_code, g + g[COPY])
    result = scratch + g[TOGETHER] * g[BOX]
    if has_bias == 1:
        for i in range(images * block[COUNT]):
            copy(result + i * g[SPLIT], bias + (group * g[COLUMNS] + column), columns)
    elif g[OVERLAP] == 1:
        for i in range(images * block[COUNT]):
            clear(result + i * g[SPLIT], columns)
    for r in range(g[PARTS]):
        part = g + (g[PART] + 3 * r)
        segment = g + (g[SEGMENTS] + (of_all % g[BLOCKS] * g[PARTS] + r) * 2)
        at = group * g[GROUP_PANELS] + part[2] + column * part[1] * g[RUN]
        gathered_gemm(
            code, segment[1] * images, columns, g[RUN], part[1], scratch, g + (g[ROWS] + segment[0]),
            g + (g[OFFSETS] + part[0]), panels + at, max(has_bias, g[OVERLAP]), result, g + (g[TO] + segment[0]),
        )  # fmt: skip
    if relu == 1:
        for i in range(images * block[COUNT]):
            rectify(result + i * g[SPLIT], columns)
    for i in range(images):
        to = y + ((((first + i) * g[GROUPS] + group) * g[COLUMNS] + column) * g[PIXELS] + block[FIRST])
        turn(turn_code, result + i * block[COUNT] * g[SPLIT], g[SPLIT], to, g + g[PLACES], block[COUNT], columns)


@function
def copy_block(
    x: Array, y: Array, boxes: Array, lines: Array, images: int, filters: int, step: int, block: Ints, turn_code: int,
    g: Ints,
) -> None:  # fmt: skip
    """Copy what a block of pixels of `images` images meets to `boxes`, and what y has there to a line for each pixel,
    `step` apart. x and y begin with the first of these images, in its group, and with the first of the filters."""
    for i in range(images):
        image = i * g[GROUPS]
        copy_box_of(
            block, x + image * g[CHANNELS] * g[IMAGE], boxes + i * g[BOX], g[CHANNELS], turn_code, g + g[COPY]
        )  # fmt: skip
        for f in range(0, filters, LANES):
            turn(
                turn_code, y + ((image * g[COLUMNS] + f) * g[PIXELS] + block[FIRST]), g[PIXELS],
                lines + (i * block[COUNT] * step + f), g + g[PLACES], min(LANES, filters - f), block[COUNT],
            )  # fmt: skip


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, parts: Array, w: Array, count: int, blocks: int, step: int,
    turned: int, code: int, turn_code: int, g: Ints,
) -> None:  # fmt: skip
    """The gradient of the weights, of y (images, groups, filters, pixels) and x (images, groups, channels, ...).

    parts[p] = what `blocks` blocks of pixels give, (groups, filters, runs). If that is all `count` blocks, w is it,
    (groups, filters, channels, places). One task for some filters, the columns of `g`, of each group of each part.
    Vectors are of runs, or of filters if `turned`, for short runs.
    """
    low = task % g[SPLITS] * g[SPLIT]
    filters = min(g[SPLIT], g[COLUMNS] - low)
    group = task // g[SPLITS] % g[GROUPS]
    of_batch = task // g[SPLITS] // g[GROUPS]
    last = g + (g[PART] + 3 * (g[PARTS] - 1))
    row = (last[0] + last[1]) * g[RUN]
    first_filter = (of_batch * g[GROUPS] + group) * g[COLUMNS] + low
    boxes = scratch + g[TOGETHER] * g[LARGEST] * step
    products = boxes + g[TOGETHER] * g[BOX]
    sums = products + turned * row * step
    if blocks < count:
        sums = parts + first_filter * row
    of_channels = g + (g[PLACES] + g[LARGEST])
    adds = 0
    for b in range(of_batch * blocks, min(of_batch * blocks + blocks, count)):
        first = b // g[BLOCKS] * g[TOGETHER]
        block = g + (g[BLOCK] + b % g[BLOCKS] * BLOCK_SIZE)
        images = min(g[TOGETHER], g[IMAGES] - first)
        image = first * g[GROUPS] + group
        of = y + (image * g[COLUMNS] + low) * g[PIXELS]
        copy_block(x + image * g[CHANNELS] * g[IMAGE], of, boxes, scratch, images, filters, step, block, turn_code, g)
        for r in range(g[PARTS]):
            part = g + (g[PART] + 3 * r)
            segment = g + (g[SEGMENTS] + (b % g[BLOCKS] * g[PARTS] + r) * 2)
            rows = g + (g[ROWS] + segment[0])
            columns = g + (g[TO] + segment[0])
            pixels = segment[1] * images
            for o in range(part[0], part[0] + part[1]):
                of_place = boxes + g[g[OFFSETS] + o]
                if turned == 1:
                    to = products + o * g[RUN] * step
                    gathered_sum(code, g[RUN], filters, pixels, of_place, rows, scratch, columns, adds, to, step)
                else:
                    to = sums + o * g[RUN]
                    gathered_sum(code, filters, g[RUN], pixels, scratch, columns, of_place, rows, adds, to, row)
        adds = 1
    if turned == 1:
        turn(turn_code, products, step, sums, of_channels + g[CHANNELS], row, filters)
    if blocks >= count:
        for f in range(filters):
            turn(
                turn_code, sums + f * row, g[CHANNELS], w + (first_filter + f) * row, of_channels, row // g[CHANNELS],
                g[CHANNELS],
            )  # fmt: skip


@kernel
def sum_weight(
    task: int, scratch: Array, parts: Array, w: Array, count: int, size: int, channels: int, places: int, code: int,
    g: Ints,
) -> None:  # fmt: skip
    """w, (filters, channels, places) = the sum of `count` parts of `size` elements, (filters, places, channels), in
    order. One task for each filter."""
    row = channels * places
    copy(scratch, parts + task * row, row)
    for p in range(1, count):
        accumulate(scratch, parts + (p * size + task * row), row)
    turn(code, scratch, channels, w + task * row, g, places, channels)
