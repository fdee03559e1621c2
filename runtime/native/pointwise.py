"""Convolutions whose kernels are single pixels: products with the images as they are, whose channels come first. Where
they move by several pixels, the images that they meet are copied before."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, gathered_gemm, gathered_sum, packed_gemm, short, turn
from runtime.native.channels_last import LANES
from runtime.native.vectors import clear, copy

BLOCK = 480
"""The pixels of a task."""
CHUNK = 64
"""The channels that are added up at a time: so much of BLOCK pixels stays in the second cache."""
OUTPUTS = 64
"""The outputs of a task of `multiply_pixels`: so many rows of weights stay in the second cache."""
SUMMED = 256
"""About so many pixels are added up before they are added to the gradient of the weights."""


# Indices into `g`:
DEPTH, HEIGHT, WIDTH = 0, 1, 2  # an image
OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH = 3, 4, 5  # every how manieth plane, row and column of it
STEP = 6  # these three numbers


@kernel
def pick(task: int, x: Array, y: Array, g: Ints) -> None:
    """y = every so manieth plane, row and column of x. One task for each channel of each image."""
    to = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    for row in range(g[OUT_DEPTH] * g[OUT_HEIGHT]):
        d = row // g[OUT_HEIGHT] * g[STEP]
        h = row % g[OUT_HEIGHT] * g[STEP + 1]
        of = x + ((task * g[DEPTH] + d) * g[HEIGHT] + h) * g[WIDTH]
        for i in short(g[OUT_WIDTH]):
            to[row * g[OUT_WIDTH] + i] = of[i * g[STEP + 2]]


@kernel
def spread(task: int, y: Array, x: Array, g: Ints) -> None:
    """The transpose of `pick`: y is there in x, and zeros are elsewhere."""
    size = g[DEPTH] * g[HEIGHT] * g[WIDTH]
    clear(x + task * size, size)
    of = y + task * g[OUT_DEPTH] * g[OUT_HEIGHT] * g[OUT_WIDTH]
    for row in range(g[OUT_DEPTH] * g[OUT_HEIGHT]):
        d = row // g[OUT_HEIGHT] * g[STEP]
        h = row % g[OUT_HEIGHT] * g[STEP + 1]
        to = x + ((task * g[DEPTH] + d) * g[HEIGHT] + h) * g[WIDTH]
        for i in short(g[OUT_WIDTH]):
            to[i * g[STEP + 2]] = of[row * g[OUT_WIDTH] + i]


@kernel
def pack_channels(task: int, w: Array, panels: Array, filters: int, channels: int) -> None:
    """Panels that have a line for each channel, of weights (groups, filters, channels). One task for each panel."""
    blocks = (channels + LANES - 1) // LANES
    first = task % blocks * LANES
    of = w + (task // blocks * filters * channels + first)
    for f in range(filters):
        copy(panels + (task * filters + f) * LANES, of + f * channels, min(LANES, channels - first))


@kernel
def multiply(
    task: int, x: Array, panels: Array, bias: Array, y: Array, has_bias: int, groups: int, inputs: int, outputs: int,
    share: int, pixels: int, code: int, rows: Ints,
) -> None:  # fmt: skip
    """y (images, groups, outputs, pixels) = the sums over inputs of x (images, groups, inputs, pixels) times a weight,
    plus bias. One task for `share` outputs, a multiple of LANES, of BLOCK pixels of each group of each image.

    Panels have LANES lines of outputs. `rows` has the places of CHUNK inputs in x, and then in panels.
    """
    shares = (outputs + share - 1) // share
    low = task % shares * share
    high = min(low + share, outputs)
    blocks = (pixels + BLOCK - 1) // BLOCK
    start = task // shares % blocks * BLOCK
    n = min(BLOCK, pixels - start)
    image = task // shares // blocks
    group = image % groups
    to = y + (image * outputs * pixels + start)
    if has_bias == 1:
        for f in range(low, high):
            for i in range(n):
                to[f * pixels + i] = bias[group * outputs + f]
    panel = (outputs + LANES - 1) // LANES * LANES * inputs
    for first in range(0, inputs, CHUNK):
        of = x + ((image * inputs + first) * pixels + start)
        for f in range(low, high, LANES):
            gathered_sum(
                code, min(LANES, high - f), n, min(CHUNK, inputs - first),
                panels + (group * panel + f * inputs + first * LANES), rows + CHUNK, of, rows, first + has_bias,
                to + f * pixels, pixels,
            )  # fmt: skip


# ---------------------------------------------------------------- few pixels: their panels, and weights as they are


@kernel
def pack_pixels(
    task: int, x: Array, panels: Array, images: int, groups: int, channels: int, pixels: int, width: int
) -> None:  # fmt: skip
    """Panels that have a line for each pixel of all images, of x (images, groups, channels, pixels). One task for each
    panel of each group."""
    blocks = (images * pixels + width - 1) // width
    first = task % blocks * width
    last = min(first + width, images * pixels)
    to = panels + task * width * channels
    if last < first + width:
        clear(to, width * channels)
    for image in range(first // pixels, (last - 1) // pixels + 1):
        start = max(first, image * pixels)
        count = min(last, image * pixels + pixels) - start
        of = x + ((image * groups + task // blocks) * channels * pixels + start - image * pixels)
        for c in range(channels):
            copy(to + (c * width + start - first), of + c * pixels, count)


@kernel
def multiply_pixels(
    task: int, scratch: Array, w: Array, panels: Array, bias: Array, y: Array, has_bias: int, images: int, groups: int,
    inputs: int, outputs: int, pixels: int, width: int, code: int,
) -> None:  # fmt: skip
    """y (images, groups, outputs, pixels) = the sums over inputs of a weight, of w (groups, outputs, inputs), times a
    pixel of the panels, plus bias. One task for OUTPUTS outputs of each group."""
    blocks = (outputs + OUTPUTS - 1) // OUTPUTS
    low = task % blocks * OUTPUTS
    group = task // blocks
    count = min(OUTPUTS, outputs - low)
    n = images * pixels
    if has_bias == 1:
        for j in range(count):
            for i in range(n):
                scratch[j * n + i] = bias[group * outputs + low + j]
    of = panels + group * ((n + width - 1) // width * width * inputs)
    packed_gemm(
        code, count, n, inputs, w + (group * outputs + low) * inputs, inputs, 1, of, has_bias, scratch, n
    )  # fmt: skip
    for j in range(count):
        for image in range(images):
            to = y + ((image * groups + group) * outputs + low + j) * pixels
            copy(to, scratch + (j * n + image * pixels), pixels)


# ---------------------------------------------------------------- weights


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, parts: Array, images: int, of_part: int, together: int, groups: int,
    channels: int, share: int, filters: int, pixels: int, width: int, turn_code: int, code: int, g: Ints,
) -> None:  # fmt: skip
    """parts[p] = the gradient of the weights (groups, filters, channels) that `of_part` images give. One task for
    `share` channels of each group of each part.

    `together` images are added up at a time, or SUMMED pixels of one. g has SUMMED places of pixels in panels, and then
    the places of filters in y, the places of filters in parts, and those of images in y.
    """
    shares = (channels + share - 1) // share
    low = task % shares * share
    count = min(share, channels - low)
    group = task // shares % groups
    part = task // shares // groups
    to = parts + (task // shares * filters * channels + low)
    end = min(part * of_part + of_part, images)
    adds = 0
    for first in range(part * of_part, end, together):
        several = min(together, end - first)
        for start in range(0, pixels, SUMMED):
            n = min(SUMMED, pixels - start)
            k = several * n
            for c in range(0, count, width):
                if c + width > count:
                    clear(scratch + c * k, width * k)
                for i in range(several):
                    of = x + ((((first + i) * groups + group) * channels + low + c) * pixels + start)
                    turn(turn_code, of, pixels, scratch + (c * k + i * n * width), g, min(width, count - c), n)
            gathered_gemm(
                code, filters, count, n, several, y + ((first * groups + group) * filters * pixels + start),
                g + SUMMED, g + (SUMMED + 2 * filters), scratch, adds, to, g + (SUMMED + filters),
            )  # fmt: skip
            adds = 1
