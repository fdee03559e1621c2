"""Convolution whose channels are in groups of a few, and its two adjoints, as products over the pixels of planes.

Channels come first, as they lie, and vectors are of adjacent pixels: a group fills no vector. A channel is first copied
with its padding around it, cut into phases: with a stride of 2, the pixels of even rows and columns are one phase,
those of even rows and odd columns another. In a phase, adjacent outputs lie under adjacent pixels, so an element of the
kernel is an offset, its tap, whatever the stride and the dilation. Rows follow each other directly: all outputs of some
rows are one product of the weights, a row for each filter, with a matrix that has a tap for each of its rows; it
computes a few between the rows that nobody reads.

"Output" and "image" are those of the convolution, also where the output is given. `g` holds the sizes and the tables:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, gathered_dot, gathered_sum, short, total, turn
from runtime.native.vectors import clear, copy

CHANNELS, FILTERS, GROUPS = 0, 1, 2  # channels and filters of a group; groups
SIZE, OUT, STRIDE, PAD, PHASE = 3, 6, 9, 12, 15  # of depth; those of height and width follow. PHASE: lengths of a phase
PIXELS, OUT_PIXELS, PHASE_PIXELS, PHASES = 18, 19, 20, 21  # the number of pixels of each; of phases of a channel
PLACES, MARGIN = 22, 23  # elements of a kernel; the largest tap in a phase
ROWS, LENGTH = 24, 25  # rows that are computed at a time, and their elements
TABLES = 26  # where the tables begin:
TAPS, PACKED = 26, 27  # the tap of each weight of a filter; where the weights go, for outputs,
IMAGE_PACKED, IMAGE_FIRST, IMAGE_ROWS = 28, 29, 30  # and for images, filter by filter; for these the first row of each
OUTPUT_ROWS = 31  # phase and one past the last, and the rows; where the outputs of each filter begin

STEP = 16
"""The elements from one row of packed weights to the next."""
CHUNK = 1024
"""Pixels whose products are summed at a time for the gradient of weights: they stay in the first cache."""


# ---------------------------------------------------------------- phases


@function
def separate(even: Array, odd: Array, x: Array, n: int) -> None:
    """Every second element of x to `even`, the others to `odd`."""
    for i in range(n // 2):
        even[i] = x[2 * i]
        odd[i] = x[2 * i + 1]
    if n % 2 == 1:
        even[n // 2] = x[n - 1]


@function
def separate_row(to: Array, row: Array, g: Ints) -> None:
    """Copy a row of the image to its phases. `to` is the row of the first one."""
    stride = g[STRIDE + 2]
    pad = g[PAD + 2]
    if stride == 1:
        copy(to + pad, row, g[SIZE + 2])
    elif stride == 2:
        even = to + (pad % 2 * g[PHASE_PIXELS] + pad // 2)
        odd = to + ((pad + 1) % 2 * g[PHASE_PIXELS] + (pad + 1) // 2)
        separate(even, odd, row, g[SIZE + 2])
    else:
        phase = to + pad % stride * g[PHASE_PIXELS]
        left = stride - pad % stride  # pixels of this column of the phases
        column = pad // stride
        for i in range(g[SIZE + 2]):
            phase[column] = row[i]
            phase = phase + g[PHASE_PIXELS]
            left -= 1
            if left == 0:
                phase = to + 0
                left = stride
                column += 1


@function
def pad_channels(to: Array, x: Array, g: Ints) -> None:
    """Copy the channels of a group, in phases, with zeros around each."""
    clear(to, g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS])
    phases = to + 0
    for c in range(g[CHANNELS]):
        for rest_d in range(g[STRIDE]):
            for rest_h in range(g[STRIDE + 1]):
                for i in range(g[PHASE]):
                    d = i * g[STRIDE] + rest_d - g[PAD]
                    if d >= 0 and d < g[SIZE]:
                        for j in range(g[PHASE + 1]):
                            h = j * g[STRIDE + 1] + rest_h - g[PAD + 1]
                            if h >= 0 and h < g[SIZE + 1]:
                                row = x + ((c * g[SIZE] + d) * g[SIZE + 1] + h) * g[SIZE + 2]
                                separate_row(phases + (i * g[PHASE + 1] + j) * g[PHASE + 2], row, g)
                phases = phases + g[STRIDE + 2] * g[PHASE_PIXELS]


@function
def output_size(g: Ints) -> int:
    """The elements that a filter's output has as `lay_outputs` writes it."""
    return g[MARGIN] + g[PHASE_PIXELS]


@function
def lay_outputs(to: Array, y: Array, g: Ints) -> None:
    """Copy the outputs of the filters of a group, each to where a phase has its pixels, after MARGIN zeros, with zeros
    wherever there is no output."""
    clear(to, g[FILTERS] * output_size(g))
    row = y + 0
    for f in range(g[FILTERS]):
        for d in range(g[OUT]):
            for h in range(g[OUT + 1]):
                at = f * output_size(g) + g[MARGIN] + (d * g[PHASE + 1] + h) * g[PHASE + 2]
                copy(to + at, row, g[OUT + 2])
                row = row + g[OUT + 2]


# ---------------------------------------------------------------- kernels


@kernel
def convolve(
    task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, code: int, turn_code: int,
    g: Ints,
) -> None:  # fmt: skip
    """The outputs of one group of one image. One task for each."""
    pad_channels(scratch, x + task * g[CHANNELS] * g[PIXELS], g)
    packed = scratch + g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS]
    weights = g[CHANNELS] * g[PLACES]
    sums = packed + weights * STEP
    first = task % g[GROUPS] * g[FILTERS]
    turn(turn_code, w + first * weights, weights, packed, g + g[PACKED], g[FILTERS], weights)
    outputs = y + task * g[FILTERS] * g[OUT_PIXELS]
    for d in range(g[OUT]):
        for h in range(0, g[OUT + 1], g[ROWS]):
            rows = min(g[ROWS], g[OUT + 1] - h)
            n = (rows - 1) * g[PHASE + 2] + g[OUT + 2]
            if has_bias == 1:
                for f in range(g[FILTERS]):
                    line = sums + f * g[LENGTH]
                    for i in short(n):
                        line[i] = bias[first + f]
            at = scratch + (d * g[PHASE + 1] + h) * g[PHASE + 2]
            gathered_sum(
                code, g[FILTERS], n, weights, packed, g + g[PACKED], at, g + g[TAPS], has_bias, sums, g[LENGTH]
            )  # fmt: skip
            for f in range(g[FILTERS]):
                for i in range(rows):
                    to = outputs + (f * g[OUT_PIXELS] + (d * g[OUT + 1] + h + i) * g[OUT + 2])
                    copy(to, sums + (f * g[LENGTH] + i * g[PHASE + 2]), g[OUT + 2])


@function
def interleave(to: Array, even: Array, odd: Array, n: int) -> None:
    for i in range(n):
        to[2 * i] = even[i]
        to[2 * i + 1] = odd[i]


@function
def join_phases(to: Array, sums: Array, apart: int, n: int, stride: int) -> None:
    """n pixels of each phase of the same rows, `apart` of each other in sums, side by side."""
    if stride == 2:
        interleave(to, sums, sums + apart, n)
    else:
        for p in range(stride):
            for i in range(n):
                to[i * stride + p] = sums[p * apart + i]


@function
def write_rows(x: Array, sums: Array, joined: Array, d: int, h: int, rows: int, g: Ints) -> None:
    """`rows` rows of plane d of the channels of a group, from row h on, a stride apart, of the sums that each phase of
    their columns has. `joined` is memory for phases side by side."""
    for c in range(g[CHANNELS]):
        padded = sums + c * g[STRIDE + 2] * g[LENGTH]
        if g[STRIDE + 2] > 1:
            join_phases(joined, padded, g[LENGTH], rows * g[PHASE + 2], g[STRIDE + 2])
            padded = joined + 0
        for k in range(rows):
            to = x + (c * g[PIXELS] + (d * g[SIZE + 1] + h + k * g[STRIDE + 1]) * g[SIZE + 2])
            copy(to, padded + (k * g[STRIDE + 2] * g[PHASE + 2] + g[PAD + 2]), g[SIZE + 2])


@kernel
def convolve_image(
    task: int, scratch: Array, y: Array, w: Array, x: Array, code: int, turn_code: int, g: Ints
) -> None:  # fmt: skip
    """x = the transpose of `convolve`, applied to y. One task for each group of each image."""
    lay_outputs(scratch, y + task * g[FILTERS] * g[OUT_PIXELS], g)
    weights = g[CHANNELS] * g[PLACES]
    packed = scratch + g[FILTERS] * output_size(g)
    sums = packed + g[FILTERS] * g[PLACES] * STEP
    joined = sums + g[CHANNELS] * g[STRIDE + 2] * g[LENGTH]
    first = task % g[GROUPS] * g[FILTERS]
    for f in range(g[FILTERS]):
        table = g + (g[IMAGE_PACKED] + f * g[PLACES])
        turn(turn_code, w + (first + f) * weights, g[PLACES], packed, table, g[CHANNELS], g[PLACES])
    firsts = g + g[IMAGE_FIRST]
    for rest_d in range(g[STRIDE]):
        for rest_h in range(g[STRIDE + 1]):
            low = (g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
            high = (g[SIZE + 1] + g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
            for i in range(g[PHASE]):
                d = i * g[STRIDE] + rest_d - g[PAD]
                if d >= 0 and d < g[SIZE]:
                    for j in range(low, high, g[ROWS]):
                        rows = min(g[ROWS], high - j)
                        at = scratch + (i * g[PHASE + 1] + j) * g[PHASE + 2]
                        for p in range(g[STRIDE + 2]):
                            start = firsts[(rest_d * g[STRIDE + 1] + rest_h) * g[STRIDE + 2] + p]
                            stop = firsts[(rest_d * g[STRIDE + 1] + rest_h) * g[STRIDE + 2] + p + 1]
                            gathered_sum(
                                code, g[CHANNELS], rows * g[PHASE + 2], stop - start, packed + start * STEP,
                                g + g[PACKED], at, g + (g[IMAGE_ROWS] + start), 0, sums + p * g[LENGTH],
                                g[STRIDE + 2] * g[LENGTH],
                            )  # fmt: skip
                        h = j * g[STRIDE + 1] + rest_h - g[PAD + 1]
                        write_rows(x + task * g[CHANNELS] * g[PIXELS], sums, joined, d, h, rows, g)


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, w: Array, images: int, lanes: int, code: int, g: Ints
) -> None:  # fmt: skip
    """The gradient of the weights of one group, summed over all images. One task for each group."""
    weights = g[CHANNELS] * g[PLACES]
    outputs = scratch + g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS]
    sums = outputs + g[FILTERS] * output_size(g)
    clear(sums, g[FILTERS] * weights * lanes)
    size = ((g[OUT] - 1) * g[PHASE + 1] + g[OUT + 1] - 1) * g[PHASE + 2] + g[OUT + 2]
    for image in range(images):
        group = image * g[GROUPS] + task
        pad_channels(scratch, x + group * g[CHANNELS] * g[PIXELS], g)
        lay_outputs(outputs, y + group * g[FILTERS] * g[OUT_PIXELS], g)
        for at in range(0, size, CHUNK):
            gathered_dot(
                code, lanes, g[FILTERS], weights, min(CHUNK, size - at), outputs + (g[MARGIN] + at),
                g + g[OUTPUT_ROWS], scratch + at, g + g[TAPS], 1, sums, weights * lanes,
            )  # fmt: skip
    for i in range(g[FILTERS] * weights):
        w[task * g[FILTERS] * weights + i] = total(sums + i * lanes, lanes)
