"""Convolution whose channels are in groups of a few, and its two adjoints, as products over the pixels of planes.

Channels come first, as they lie: vectors are of adjacent pixels, and groups fill no vectors. A group is copied in
phases, with padding, as for depthwise kernels, so that an element of a kernel is an offset. Then the outputs of a group
are the product of its weights, a row for each filter, with a matrix that has such an offset for each of its rows, and
all pixels of some rows for its columns. `g` is what `depthwise` has, and `t` has the tables:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, gathered_dot, gathered_sum, short, total, turn
from runtime.native.depthwise import (
    CHANNELS,
    FILTERS,
    GROUPS,
    LANES,
    MARGIN,
    OUT,
    OUT_PIXELS,
    PAD,
    PHASE,
    PHASE_PIXELS,
    PHASES,
    PIXELS,
    PLACES,
    SIZE,
    STRIDE,
    TAPS,
    join_phases,
    lay_outputs,
    output_size,
    pad_channels,
)
from runtime.native.vectors import clear, copy

ROWS, LENGTH = 0, 1  # rows that are computed at a time; elements that such rows have at most
PACKED, IMAGE_PACKED = 2, 3  # where the tables begin: where weights go, for outputs; for images, filter by filter;
IMAGE_FIRST, IMAGE_ROWS = 4, 5  # for images, the first row of each phase, and one past the last; those rows;
OUTPUT_ROWS = 6  # and where the outputs of each filter begin

STEP = 16
"""The elements from one row of packed weights to the next."""
CHUNK = 1024
"""Pixels whose products are summed at a time for the gradient of weights: they stay in the first cache."""


@kernel
def convolve(
    task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, code: int, turn_code: int,
    g: Ints, t: Ints,
) -> None:  # fmt: skip
    """The outputs of one group of one image. One task for each."""
    pad_channels(scratch, x + task * g[CHANNELS] * g[PIXELS], g)
    packed = scratch + (g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS] + LANES)
    weights = g[CHANNELS] * g[PLACES]
    sums = packed + weights * STEP
    first = task % g[GROUPS] * g[FILTERS]
    turn(turn_code, w + first * weights, weights, packed, t + t[PACKED], g[FILTERS], weights)
    outputs = y + task * g[FILTERS] * g[OUT_PIXELS]
    for d in range(g[OUT]):
        for h in range(0, g[OUT + 1], t[ROWS]):
            rows = min(t[ROWS], g[OUT + 1] - h)
            n = (rows - 1) * g[PHASE + 2] + g[OUT + 2]
            if has_bias == 1:
                for f in range(g[FILTERS]):
                    line = sums + f * t[LENGTH]
                    for i in short(n):
                        line[i] = bias[first + f]
            at = scratch + (d * g[PHASE + 1] + h) * g[PHASE + 2]
            gathered_sum(
                code, g[FILTERS], n, weights, packed, t + t[PACKED], at, g + TAPS, has_bias, sums, t[LENGTH]
            )  # fmt: skip
            for f in range(g[FILTERS]):
                for i in range(rows):
                    to = outputs + (f * g[OUT_PIXELS] + (d * g[OUT + 1] + h + i) * g[OUT + 2])
                    copy(to, sums + (f * t[LENGTH] + i * g[PHASE + 2]), g[OUT + 2])


@kernel
def convolve_image(
    task: int, scratch: Array, y: Array, w: Array, x: Array, code: int, turn_code: int, g: Ints, t: Ints
) -> None:  # fmt: skip
    """x = the transpose of `convolve`, applied to y. One task for each group of each image."""
    lay_outputs(scratch, y + task * g[FILTERS] * g[OUT_PIXELS], g)
    weights = g[CHANNELS] * g[PLACES]
    packed = scratch + g[FILTERS] * output_size(g)
    sums = packed + g[FILTERS] * g[PLACES] * STEP
    joined = sums + g[CHANNELS] * g[STRIDE + 2] * t[LENGTH]
    first = task % g[GROUPS] * g[FILTERS]
    for f in range(g[FILTERS]):
        table = t + (t[IMAGE_PACKED] + f * g[PLACES])
        turn(turn_code, w + (first + f) * weights, g[PLACES], packed, table, g[CHANNELS], g[PLACES])
    firsts = t + t[IMAGE_FIRST]
    for rest_d in range(g[STRIDE]):
        for rest_h in range(g[STRIDE + 1]):
            low = (g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
            high = (g[SIZE + 1] + g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
            for i in range(g[PHASE]):
                d = i * g[STRIDE] + rest_d - g[PAD]
                if d >= 0 and d < g[SIZE]:
                    for j in range(low, high, t[ROWS]):
                        rows = min(t[ROWS], high - j)
                        at = scratch + (i * g[PHASE + 1] + j) * g[PHASE + 2]
                        for p in range(g[STRIDE + 2]):
                            start = firsts[(rest_d * g[STRIDE + 1] + rest_h) * g[STRIDE + 2] + p]
                            stop = firsts[(rest_d * g[STRIDE + 1] + rest_h) * g[STRIDE + 2] + p + 1]
                            gathered_sum(
                                code, g[CHANNELS], rows * g[PHASE + 2], stop - start, packed + start * STEP,
                                t + t[PACKED], at, t + (t[IMAGE_ROWS] + start), 0, sums + p * t[LENGTH],
                                g[STRIDE + 2] * t[LENGTH],
                            )  # fmt: skip
                        for c in range(g[CHANNELS]):
                            padded = sums + c * g[STRIDE + 2] * t[LENGTH]
                            if g[STRIDE + 2] > 1:
                                join_phases(joined, padded, t[LENGTH], rows * g[PHASE + 2], g[STRIDE + 2])
                                padded = joined + 0
                            for k in range(rows):
                                h = (j + k) * g[STRIDE + 1] + rest_h - g[PAD + 1]
                                to = x + (task * g[CHANNELS] + c) * g[PIXELS] + (d * g[SIZE + 1] + h) * g[SIZE + 2]
                                copy(to, padded + (k * g[STRIDE + 2] * g[PHASE + 2] + g[PAD + 2]), g[SIZE + 2])


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, w: Array, images: int, lanes: int, code: int, g: Ints, t: Ints
) -> None:  # fmt: skip
    """The gradient of the weights of one group, summed over all images. One task for each group."""
    weights = g[CHANNELS] * g[PLACES]
    outputs = scratch + (g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS] + LANES)
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
                t + t[OUTPUT_ROWS], scratch + at, g + TAPS, 1, sums, weights * lanes,
            )  # fmt: skip
    for i in range(g[FILTERS] * weights):
        w[task * g[FILTERS] * weights + i] = total(sums + i * lanes, lanes)
