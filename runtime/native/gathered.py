"""Convolution and its two adjoints as products whose rows are gathered: no matrix of windows is made.

Images are copied with their channels last and their padding around them. Then what is under a place of the kernel is,
for each pixel, a run of consecutive elements, and tables say where: a window is the sum of the place of a pixel and the
offsets of the kernel. `optgen.linalg.own.gathered` has the products. `g` has the sizes and the tables, which
`ndarray.nn.gathered` makes:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, gathered_gemm, gathered_sum, turn
from runtime.native.vectors import accumulate, clear, copy, rectify

IMAGES, IMAGE_SIZE = 0, 1  # images, and the elements of one with its padding
TOGETHER, BLOCKS, BLOCK = 2, 3, 4  # images of a block, or blocks of an image; the pixels of a block in an image
GROUPS, GROUP_STEP, GROUP_PANELS = 5, 6, 7  # groups, the channels of one, and the elements of its panels
COLUMNS, SPLITS, SPLIT = 8, 9, 10  # columns of the product of a group; tasks that share them; columns of each
RUN, PIXELS, PHASES = 11, 12, 13  # elements of a run; pixels of a result; its phases
TABLES = 14  # where the tables begin: those of rows, of rows of the result, of offsets, phases, segments, columns
ROWS, TO, OFFSETS, PHASE, SEGMENTS, PLACES = 14, 15, 16, 17, 18, 19

# Indices into the sizes of `channels_last`:
CHANNELS, DEPTH, HEIGHT, WIDTH = 0, 1, 2, 3  # an image
WHOLE_DEPTH, WHOLE_HEIGHT, WHOLE_WIDTH = 4, 5, 6  # with its padding
BEFORE, STEP = 7, 10  # padding before the first of each axis; every how manieth plane, and row, is copied
PIXEL, LINES, PARTS = 12, 13, 14  # elements of a pixel; rows of a task, and tasks of an image
COLUMN_PLACES = 15  # of the pixels of a row

LANES = 16
"""The filters that lie side by side in what `filters_last` makes."""


@function
def source_row(row: int, g: Ints) -> int:
    """The row of the image that becomes this row, counted through all planes; -1 for padding."""
    d = row // g[WHOLE_HEIGHT] * g[STEP] - g[BEFORE]
    h = row % g[WHOLE_HEIGHT] * g[STEP + 1] - g[BEFORE + 1]
    source = -1
    if d >= 0 and d < g[DEPTH] and h >= 0 and h < g[HEIGHT]:
        source = d * g[HEIGHT] + h
    return source


@kernel
def channels_last(task: int, x: Array, to: Array, code: int, g: Ints) -> None:
    """Images (channels, depth, height, width) as (depth, height, width, channels), with padding around them. One task
    for some rows of each image."""
    image = task // g[PARTS]
    first = task % g[PARTS] * g[LINES]
    last = min(first + g[LINES], g[WHOLE_DEPTH] * g[WHOLE_HEIGHT])
    line = g[WHOLE_WIDTH] * g[PIXEL]
    before = g[BEFORE + 2] * g[PIXEL]
    after = before + g[WIDTH] * g[PIXEL]
    plane = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    lines = to + image * g[WHOLE_DEPTH] * g[WHOLE_HEIGHT] * line
    for row in range(first, last):
        if source_row(row, g) >= 0:
            clear(lines + row * line, before)
            clear(lines + (row * line + after), line - after)
        else:
            clear(lines + row * line, line)
    for c in range(0, g[CHANNELS], LANES):  # each channel is read in the order of memory
        for row in range(first, last):
            source = source_row(row, g)
            if source >= 0:
                turn(
                    code, x + ((image * g[CHANNELS] + c) * plane + source * g[WIDTH]), plane,
                    lines + (row * line + before + c), g + COLUMN_PLACES, min(LANES, g[CHANNELS] - c), g[WIDTH],
                )  # fmt: skip


@kernel
def filters_last(task: int, y: Array, to: Array, filters: int, images: int, pixels: int, code: int, g: Ints) -> None:
    """LANES filters at a time, their pixels of all images, with these filters last. One task for each image."""
    for f in range(0, filters, LANES):
        turn(
            code, y + (task * filters + f) * pixels, pixels, to + (f * images + task * LANES) * pixels, g,
            min(LANES, filters - f), pixels,
        )  # fmt: skip


@kernel
def pack_filters(
    task: int, w: Array, panels: Array, width: int, blocks: int, filters: int, rows: int, code: int, g: Ints
) -> None:  # fmt: skip
    """Panels that have a line for each filter, of weights (groups, filters, rows): row j goes to g[j]. One task for
    each panel; a group has `blocks` of them."""
    f = task % blocks * width
    of = w + (task // blocks * filters + f) * rows
    if f + width > filters:  # what is left over must not be subnormal numbers, which are slow
        clear(panels + task * width * rows, width * rows)
    turn(code, of, rows, panels + task * width * rows, g, min(width, filters - f), rows)


@kernel
def pack_channels(
    task: int, w: Array, panels: Array, width: int, blocks: int, filters: int, channels: int, places: int, code: int,
    g: Ints,
) -> None:  # fmt: skip
    """Panels that have a line for each channel, of weights (groups, filters, channels, places): place j of block b goes
    to g[b*places + j], and from there on there are lines of each filter. One task for each filter."""
    group = task // filters
    size = blocks * width * filters * places
    for b in range(blocks):
        of = w + (task * channels + b * width) * places
        to = panels + (group * size + task % filters * width)
        if b == blocks - 1:
            for j in range(places):
                clear(to + g[b * places + j], width)
        turn(code, of, places, to, g + b * places, min(width, channels - b * width), places)


@kernel
def convolve(
    task: int, scratch: Array, x: Array, panels: Array, bias: Array, y: Array, has_bias: int, relu: int, code: int,
    turn_code: int, g: Ints,
) -> None:  # fmt: skip
    """y, channels first, from images with their channels last: the sum of products with the panels, plus bias; if
    `relu`, its positive part. One task for some columns of each block of pixels of each group."""
    column = task % g[SPLITS] * g[SPLIT]
    group = task // g[SPLITS] % g[GROUPS]
    block = task // g[SPLITS] // g[GROUPS]
    first = block // g[BLOCKS] * g[TOGETHER]
    start = block % g[BLOCKS] * g[BLOCK]
    images = min(g[TOGETHER], g[IMAGES] - first)
    pixels = min(g[BLOCK], g[PIXELS] - start)
    columns = min(g[SPLIT], g[COLUMNS] - column)
    if has_bias == 1:
        for i in range(images * pixels):
            copy(scratch + i * g[SPLIT], bias + (group * g[COLUMNS] + column), columns)
    rows = x + (first * g[IMAGE_SIZE] + group * g[GROUP_STEP])
    for r in range(g[PHASES]):
        phase = g + (g[PHASE] + 3 * r)
        segment = g + (g[SEGMENTS] + (block % g[BLOCKS] * g[PHASES] + r) * 2)
        at = group * g[GROUP_PANELS] + phase[2] + column * phase[1] * g[RUN]
        gathered_gemm(
            code, segment[1] * images, columns, g[RUN], phase[1], rows, g + (g[ROWS] + segment[0]),
            g + (g[OFFSETS] + phase[0]), panels + at, has_bias, scratch, g + (g[TO] + segment[0]),
        )  # fmt: skip
    if relu == 1:
        for i in range(images * pixels):
            rectify(scratch + i * g[SPLIT], columns)
    for i in range(images):
        to = y + ((((first + i) * g[GROUPS] + group) * g[COLUMNS] + column) * g[PIXELS] + start)
        turn(turn_code, scratch + i * pixels * g[SPLIT], g[SPLIT], to, g + g[PLACES], pixels, columns)


@kernel
def convolve_weight(
    task: int, y: Array, x: Array, parts: Array, filters: int, share: int, blocks: int, code: int, g: Ints
) -> None:  # fmt: skip
    """parts[p] = the gradient of the weights, (groups, filters, runs), that `blocks` blocks of pixels give, of y as of
    `filters_last`. One task for `share` filters, a multiple of LANES, of each group of each part."""
    shares = (filters + share - 1) // share
    low = task % shares * share
    group = task // shares % g[GROUPS]
    part = task // shares // g[GROUPS]
    runs = g[PHASE] + 1
    row = g[runs] * g[RUN]
    count = (g[IMAGES] + g[TOGETHER] - 1) // g[TOGETHER] * g[BLOCKS]
    to = parts + (part * g[GROUPS] + group) * filters * row
    adds = 0
    for block in range(part * blocks, min(part * blocks + blocks, count)):
        first = block // g[BLOCKS] * g[TOGETHER]
        start = block % g[BLOCKS] * g[BLOCK]
        pixels = min(g[TOGETHER], g[IMAGES] - first) * min(g[BLOCK], g[PIXELS] - start)
        image = x + (first * g[IMAGE_SIZE] + group * g[GROUP_STEP])
        for o in range(g[runs]):
            for f in range(low, min(low + share, filters), LANES):
                lines = y + ((group * filters + f) * g[IMAGES] * g[PIXELS] + (first * g[PIXELS] + start) * LANES)
                gathered_sum(
                    code, min(LANES, filters - f), g[RUN], pixels, lines, LANES, image + g[g[OFFSETS] + o],
                    g + (g[ROWS] + start), adds, to + (f * row + o * g[RUN]), row,
                )  # fmt: skip
        adds = 1


@kernel
def finish_weight(
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
