"""Convolution in which each channel, or each group of a few, has filters of its own, and its two adjoints: sums of
shifted images. The matrices that GEMM would multiply have few rows.

A channel is first copied with its padding around it, cut into phases: with a stride of 2, the pixels of even rows and
columns are one phase, those of even rows and odd columns another. In a phase, adjacent outputs lie under adjacent
pixels, so an element of the kernel is an offset, its tap, whatever the stride and the dilation. Rows follow each other
directly: all outputs of some rows are one loop, which computes a few between the rows that nobody reads.

"Output" and "image" are those of the convolution, also where the output is given. `g` holds the sizes:
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, total
from runtime.native.vectors import clear, copy

CHANNELS, FILTERS, GROUPS = 0, 1, 2  # channels and filters of a group; groups
SIZE, OUT, STRIDE, PAD, PHASE = 3, 6, 9, 12, 15  # of depth; those of height and width follow. PHASE: lengths of a phase
PIXELS, OUT_PIXELS, PHASE_PIXELS, PHASES = 18, 19, 20, 21  # the number of pixels of each; of phases of a channel
PLACES, ROWS, MARGIN = 22, 23, 24  # elements of a kernel; rows that are summed at a time; the largest tap in a phase
TAPS = 25  # for each channel of a group and place of its kernel, the offset; then, by phase:
# the first place of each phase, and one past the last; the places; MARGIN minus their offsets in the phase

LANES = 32
"""Loops go through this many elements at a time: a multiple of all lengths of vectors. What they read has room for it.
"""
CHUNK = 2048
"""Elements of the output that all products of a gradient of weights use, while they are in the L1 cache."""


@function
def whole(n: int) -> int:
    """n, rounded up to a multiple of LANES."""
    return (n + LANES - 1) // LANES * LANES


# ---------------------------------------------------------------- sums of products


@function
def add_9(to: Array, x: Array, w: Array, taps: Ints, n: int) -> None:
    """Add the products of nine weights with the elements at their taps to each of n elements, in whole LANES."""
    for start in range(0, n, LANES):
        for i in range(start, start + LANES):
            a = w[0] * x[taps[0] + i] + w[1] * x[taps[1] + i] + w[2] * x[taps[2] + i]
            b = w[3] * x[taps[3] + i] + w[4] * x[taps[4] + i] + w[5] * x[taps[5] + i]
            c = w[6] * x[taps[6] + i] + w[7] * x[taps[7] + i] + w[8] * x[taps[8] + i]
            to[i] += a + b + c


@function
def add_3(to: Array, x: Array, w: Array, taps: Ints, n: int) -> None:
    for start in range(0, n, LANES):
        for i in range(start, start + LANES):
            to[i] += w[0] * x[taps[0] + i] + w[1] * x[taps[1] + i] + w[2] * x[taps[2] + i]


@function
def add_1(to: Array, x: Array, a: float, n: int) -> None:
    for start in range(0, n, LANES):
        for i in range(start, start + LANES):
            to[i] += a * x[i]


@function
def add_products(to: Array, x: Array, w: Array, taps: Ints, count: int, n: int) -> None:
    """Add the products of `count` weights to each of n elements, in whole LANES."""
    t = 0
    while t + 9 <= count:
        add_9(to, x, w + t, taps + t, n)
        t += 9
    while t + 3 <= count:
        add_3(to, x, w + t, taps + t, n)
        t += 3
    while t < count:
        add_1(to, x + taps[t], w[t], n)
        t += 1


@function
def dot_3(sums: Array, y: Array, x: Array, taps: Ints, n: int) -> None:
    """Add the products of y and x, at three taps, to LANES sums of each."""
    for start in range(0, n, LANES):
        for i in range(LANES):
            sums[i] += y[start + i] * x[taps[0] + start + i]
        for i in range(LANES):
            sums[LANES + i] += y[start + i] * x[taps[1] + start + i]
        for i in range(LANES):
            sums[2 * LANES + i] += y[start + i] * x[taps[2] + start + i]


@function
def dot_1(sums: Array, y: Array, x: Array, n: int) -> None:
    for start in range(0, n, LANES):
        for i in range(LANES):
            sums[i] += y[start + i] * x[start + i]


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
    clear(to, g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS] + LANES)
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
    return g[MARGIN] + g[PHASE_PIXELS] + LANES


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
def convolve(task: int, scratch: Array, x: Array, w: Array, bias: Array, y: Array, has_bias: int, g: Ints) -> None:
    """The outputs of one group of one image. One task for each."""
    pad_channels(scratch, x + task * g[CHANNELS] * g[PIXELS], g)
    sums = scratch + (g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS] + LANES)
    weights = g[CHANNELS] * g[PLACES]
    row = y + task * g[FILTERS] * g[OUT_PIXELS]
    first = task % g[GROUPS] * g[FILTERS]
    for f in range(first, first + g[FILTERS]):
        for d in range(g[OUT]):
            for h in range(0, g[OUT + 1], g[ROWS]):
                rows = min(g[ROWS], g[OUT + 1] - h)
                n = whole((rows - 1) * g[PHASE + 2] + g[OUT + 2])
                for i in range(n):
                    sums[i] = bias[f] if has_bias == 1 else 0.0
                at = scratch + (d * g[PHASE + 1] + h) * g[PHASE + 2]
                add_products(sums, at, w + f * weights, g + TAPS, weights, n)
                for i in range(rows):
                    copy(row, sums + i * g[PHASE + 2], g[OUT + 2])
                    row = row + g[OUT + 2]


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
def add_phases(sums: Array, y: Array, w: Array, phase: int, apart: int, n: int, g: Ints) -> None:
    """The sums of n pixels of each phase of the same rows, of which `phase` is the first, `apart` of each other. y is
    what `lay_outputs` wrote, from the first of these pixels on; w are the weights of one channel, as `convolve_image`
    has them."""
    firsts = g + (TAPS + g[CHANNELS] * g[PLACES])
    taps = firsts + (g[PHASES] + 1 + g[PLACES])
    clear(sums, g[STRIDE + 2] * apart)
    for p in range(g[STRIDE + 2]):
        start = firsts[phase + p]
        count = firsts[phase + p + 1] - start
        for f in range(g[FILTERS]):
            of = y + f * output_size(g)
            add_products(sums + p * apart, of, w + (f * g[PLACES] + start), taps + start, count, n)


@function
def write_phases(x: Array, y: Array, w: Array, sums: Array, rest_d: int, rest_h: int, g: Ints) -> None:
    """The pixels of one channel in the rows of some phases: those with these rests of depth and of height."""
    apart = whole(g[ROWS] * g[PHASE + 2])
    phase = (rest_d * g[STRIDE + 1] + rest_h) * g[STRIDE + 2]
    low = (g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
    high = (g[SIZE + 1] + g[PAD + 1] - rest_h + g[STRIDE + 1] - 1) // g[STRIDE + 1]
    for i in range(g[PHASE]):
        d = i * g[STRIDE] + rest_d - g[PAD]
        if d >= 0 and d < g[SIZE]:
            for j in range(low, high, g[ROWS]):
                rows = min(g[ROWS], high - j)
                at = (i * g[PHASE + 1] + j) * g[PHASE + 2]
                add_phases(sums, y + at, w, phase, apart, whole(rows * g[PHASE + 2]), g)
                padded = sums + 0
                if g[STRIDE + 2] > 1:
                    padded = sums + g[STRIDE + 2] * apart
                    join_phases(padded, sums, apart, rows * g[PHASE + 2], g[STRIDE + 2])
                for k in range(rows):
                    h = (j + k) * g[STRIDE + 1] + rest_h - g[PAD + 1]
                    row = padded + (k * g[STRIDE + 2] * g[PHASE + 2] + g[PAD + 2])
                    copy(x + (d * g[SIZE + 1] + h) * g[SIZE + 2], row, g[SIZE + 2])


@kernel
def convolve_image(task: int, scratch: Array, y: Array, w: Array, x: Array, g: Ints) -> None:
    """x = the transpose of `convolve`, applied to y. One task for each group of each image."""
    lay_outputs(scratch, y + task * g[FILTERS] * g[OUT_PIXELS], g)
    weights = scratch + g[FILTERS] * output_size(g)
    sums = weights + g[FILTERS] * g[PLACES]
    places = g + (TAPS + g[CHANNELS] * g[PLACES] + g[PHASES] + 1)
    first = task % g[GROUPS] * g[FILTERS]
    for c in range(g[CHANNELS]):
        for f in range(g[FILTERS]):
            for i in range(g[PLACES]):
                weights[f * g[PLACES] + i] = w[((first + f) * g[CHANNELS] + c) * g[PLACES] + places[i]]
        channel = x + (task * g[CHANNELS] + c) * g[PIXELS]
        for rest_d in range(g[STRIDE]):
            for rest_h in range(g[STRIDE + 1]):
                write_phases(channel, scratch, weights, sums, rest_d, rest_h, g)


@function
def add_lanes(kept: Array, sums: Array) -> None:
    """Add LANES sums to compensated sums: LANES rounded sums, and then the sums of their rounding errors."""
    for i in range(LANES):
        before = kept[i]
        after = before + sums[i]
        kept[LANES + i] += sums[i] - (after - before)
        kept[i] = after


@kernel
def convolve_weight(task: int, scratch: Array, y: Array, x: Array, w: Array, images: int, g: Ints) -> None:
    """The gradient of the weights of one group, summed over all images. One task for each group.

    `scratch` holds the channels, the outputs, and, for each weight, LANES sums of some images and compensated ones of
    all.
    """
    weights = g[CHANNELS] * g[PLACES]
    outputs = scratch + (g[CHANNELS] * g[PHASES] * g[PHASE_PIXELS] + LANES)
    sums = outputs + g[FILTERS] * output_size(g)
    kept = sums + g[FILTERS] * weights * LANES
    clear(sums, 3 * g[FILTERS] * weights * LANES)
    size = whole(((g[OUT] - 1) * g[PHASE + 1] + g[OUT + 1] - 1) * g[PHASE + 2] + g[OUT + 2])
    summed = 0
    for image in range(images):
        group = image * g[GROUPS] + task
        pad_channels(scratch, x + group * g[CHANNELS] * g[PIXELS], g)
        lay_outputs(outputs, y + group * g[FILTERS] * g[OUT_PIXELS], g)
        for f in range(g[FILTERS]):
            of = outputs + (f * output_size(g) + g[MARGIN])
            to = sums + f * weights * LANES
            for at in range(0, size, CHUNK):
                n = min(CHUNK, size - at)
                for t in range(0, weights - 2, 3):
                    dot_3(to + t * LANES, of + at, scratch + at, g + (TAPS + t), n)
                for t in range(weights // 3 * 3, weights):
                    dot_1(to + t * LANES, of + at, scratch + (at + g[TAPS + t]), n)
        summed += size
        if summed >= CHUNK or image == images - 1:
            for t in range(g[FILTERS] * weights):
                add_lanes(kept + t * 2 * LANES, sums + t * LANES)
            clear(sums, g[FILTERS] * weights * LANES)
            summed = 0
    for i in range(g[FILTERS] * weights):
        w[task * g[FILTERS] * weights + i] = total(kept + i * 2 * LANES, 2 * LANES)
