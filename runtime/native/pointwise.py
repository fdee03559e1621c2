"""Convolutions whose kernels are single pixels: products with the images as they are, whose channels come first."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, gathered_sum, packed_gemm, turn
from runtime.native.gathered import LANES
from runtime.native.vectors import clear, copy

BLOCK = 480
"""The pixels of a task."""
CHUNK = 64
"""The channels that are added up at a time: so much of BLOCK pixels stays in the second cache."""
SUMMED = 256
"""The pixels whose products are added up before they are added to the gradient of the weights."""


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
    pixels: int, code: int, rows: Ints,
) -> None:  # fmt: skip
    """y (images, groups, outputs, pixels) = the sums over inputs of x (images, groups, inputs, pixels) times a weight,
    plus bias. One task for BLOCK pixels of each group of each image.

    Panels have LANES lines of outputs, and rows the places of CHUNK inputs.
    """
    blocks = (pixels + BLOCK - 1) // BLOCK
    start = task % blocks * BLOCK
    n = min(BLOCK, pixels - start)
    image = task // blocks
    group = image % groups
    to = y + (image * outputs * pixels + start)
    if has_bias == 1:
        for f in range(outputs):
            for i in range(n):
                to[f * pixels + i] = bias[group * outputs + f]
    panel = (outputs + LANES - 1) // LANES * LANES * inputs
    for first in range(0, inputs, CHUNK):
        of = x + ((image * inputs + first) * pixels + start)
        for f in range(0, outputs, LANES):
            gathered_sum(
                code, min(LANES, outputs - f), n, min(CHUNK, inputs - first),
                panels + (group * panel + f * inputs + first * LANES), LANES, of, rows, first + has_bias,
                to + f * pixels, pixels,
            )  # fmt: skip


@kernel
def convolve_weight(
    task: int, scratch: Array, y: Array, x: Array, parts: Array, images: int, of_part: int, groups: int, channels: int,
    share: int, filters: int, pixels: int, width: int, turn_code: int, code: int, places: Ints,
) -> None:  # fmt: skip
    """parts[p] = the gradient of the weights (groups, filters, channels) that `of_part` images give. One task for
    `share` channels of each group of each part."""
    shares = (channels + share - 1) // share
    low = task % shares * share
    count = min(share, channels - low)
    group = task // shares % groups
    part = task // shares // groups
    to = parts + (task // shares * filters * channels + low)
    adds = 0
    for i in range(part * of_part, min(part * of_part + of_part, images)):
        image = i * groups + group
        for start in range(0, pixels, SUMMED):
            n = min(SUMMED, pixels - start)
            for c in range(0, count, width):
                if c + width > count:
                    clear(scratch + c * n, width * n)
                turn(
                    turn_code, x + ((image * channels + low + c) * pixels + start), pixels, scratch + c * n, places,
                    min(width, count - c), n,
                )  # fmt: skip
            packed_gemm(
                code, filters, count, n, y + (image * filters * pixels + start), pixels, 1, scratch, adds, to, channels
            )
            adds = 1
