"""Convolution with kernels of single pixels, without padding, and its two adjoints: see `native.pointwise`.

One with a stride is one without, of the pixels that it meets. Small images are left to `gathered`, whose rows are
pixels of several images.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from runtime.core.blas import FLOPS
from runtime.core.kept import of_sizes
from runtime.native import pointwise as native
from runtime.native.channels_last import LANES
from runtime.native.panels import aligned, panel_width
from runtime.native.panels import code as packed_product
from runtime.ndarray.nn import gathered
from runtime.ndarray.nn.channels_last import block_length
from runtime.ndarray.nn.windows import Shape, Window

FILLED = 0.8
"""The least part of the vectors that is to be filled with pixels."""
MIN_PIXELS = 48
"""Fewer do not fill the widest tile, and are added to the gradient of the weights too often."""
MAX_PACKED = 1 << 20
"""The most elements of pixels that are packed: all tasks read them."""
PARTS = 8
"""Parts of the batch for which the gradient of weights is computed apart;"""
SPLIT_WEIGHTS = 1 << 17
"""from so many weights on, channels are divided among tasks instead."""
SHARE = 48
"""The channels of a task are a multiple of this: the columns of a tile."""


def pays(pixels: int, window: Window) -> bool:
    """Whether this is the way to compute a convolution of images with so many pixels."""
    if not _single(window) or pixels < MIN_PIXELS:
        return False
    return pixels >= FILLED * -(-pixels // LANES) * LANES


def pays_for_weight(pixels: int, window: Window) -> bool:
    """The same for the gradient of weights."""
    return _single(window) and pixels >= MIN_PIXELS


def few_pixels_pay(images: int, pixels: int, inputs: int, outputs: int, window: Window) -> bool:
    """Whether the pixels of images are packed, and the weights are multiplied as they are: where there are fewer."""
    n, inputs, outputs = images * pixels, inputs // window.groups, outputs // window.groups
    if not _single(window) or n * inputs > MAX_PACKED or outputs < native.OUTPUTS:
        return False
    return n * (inputs + outputs) < inputs * outputs or (n < outputs and not pays(pixels, window))


def _single(window: Window) -> bool:
    return max(*window.kernel, *window.stride) == 1 and max(window.pad) == 0


def skips(window: Window) -> bool:
    """Whether the kernel is a single pixel that does not meet all pixels of an image."""
    return max(window.kernel) == 1 < max(window.stride) and max(window.pad) == 0


def picked(x: np.ndarray, window: Window) -> tuple[np.ndarray, Window]:
    """The pixels of images (n, channels, ...) that such a kernel meets, and the window over them."""
    y = np.empty((*x.shape[:2], *window.outputs(x.shape[2:])), x.dtype)
    native.pick(len(x) * x.shape[1], x.size, x, y, _steps(x.shape[2:], window))
    return y, every_pixel(window)


def spread(y: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `picked`: images with y where such a kernel meets them, and zeros elsewhere."""
    x = np.empty((*y.shape[:2], *image), y.dtype)
    native.spread(len(y) * y.shape[1], x.size, y, x, _steps(image, window))
    return x


def every_pixel(window: Window) -> Window:
    """The window without its stride."""
    return window._replace(stride=(1,) * len(window.stride))


@functools.lru_cache(maxsize=256)
@of_sizes
def _steps(image: Shape, window: Window) -> np.ndarray:
    lead = (1,) * (3 - len(image))
    return np.array([*lead, *image, *lead, *window.outputs(image), *lead, *window.stride], np.int64)


def convolve_few(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """`convolve`, where there are few pixels."""
    width, groups, pixels = panel_width(x.dtype), window.groups, math.prod(x.shape[2:])
    filters, channels = len(w) // groups, w.shape[1]
    blocks = groups * -(-len(x) * pixels // width)
    panels = aligned(blocks * width * channels, x.dtype)
    native.pack_pixels(blocks, x.size, x, panels, len(x), groups, channels, pixels, width)
    y = np.empty((len(x), len(w), *x.shape[2:]), x.dtype)
    native.multiply_pixels(
        groups * -(-filters // native.OUTPUTS), 2 * x.size * filters // FLOPS, w, panels, bias, y,
        int(bias is not None), len(x), groups, channels, filters, pixels, width, packed_product(x.dtype),
        scratch=min(filters, native.OUTPUTS) * len(x) * pixels,
    )  # fmt: skip
    return y


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    filters, channels = len(w) // window.groups, w.shape[1]
    blocks = -(-filters // LANES)
    panels = gathered.packed_filters(
        w, window.groups * blocks * LANES * channels, window.groups, LANES, gathered.places_of(channels, LANES),
        LANES * channels,
    )  # fmt: skip
    return _multiply(x, panels, bias, window.groups, channels, filters)


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in x: (n, channels, ...)."""
    filters, channels = len(w) // window.groups, w.shape[1]
    blocks = -(-channels // LANES)
    panels = aligned(window.groups * blocks * LANES * filters, w.dtype)
    native.pack_channels(window.groups * blocks, w.size, w, panels, filters, channels)
    return _multiply(y, panels, None, window.groups, filters, channels)


def _multiply(
    x: np.ndarray, panels: np.ndarray, bias: np.ndarray | None, groups: int, inputs: int, outputs: int
) -> np.ndarray:
    pixels = math.prod(x.shape[2:])
    y = np.empty((len(x), groups * outputs, *x.shape[2:]), x.dtype)
    blocks = len(x) * groups * -(-pixels // native.BLOCK)
    share = block_length(outputs, -(-outputs // -(-gathered.MIN_TASKS // blocks)), LANES)
    native.multiply(
        blocks * -(-outputs // share), 2 * x.size * outputs // FLOPS, x, panels, bias, y, int(bias is not None), groups,
        inputs, outputs, share, pixels, gathered.code_of("gathered_sum", x), _inputs(pixels),
    )  # fmt: skip
    return y


@functools.lru_cache(maxsize=256)
@of_sizes
def _inputs(pixels: int) -> np.ndarray:
    """The places that `native.multiply` takes."""
    return np.concatenate([gathered.places_of(native.CHUNK, step) for step in (pixels, LANES)])


def weight_parts(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w, for fixed parts of the batch: (parts, filters, channels/groups).

    Of many weights, there is one part, and each task has some channels.
    """
    n, groups, pixels, width = len(x), window.groups, math.prod(x.shape[2:]), panel_width(x.dtype)
    channels, filters = x.shape[1] // groups, y.shape[1] // groups
    share, of_part = channels, -(-n // PARTS)
    if groups * filters * channels >= SPLIT_WEIGHTS:
        share, of_part = -(-channels // (PARTS * SHARE)) * SHARE, n
    together = min(of_part, max(1, native.SUMMED // pixels))
    parts = np.empty((-(-n // of_part), groups * filters, channels), x.dtype)
    native.convolve_weight(
        len(parts) * groups * -(-channels // share), 2 * y.size * channels // FLOPS, y, x, parts, n, of_part, together,
        groups, channels, share, filters, pixels, width, gathered.code_of("turn", x),
        gathered.code_of("gathered_gemm", x), _places(width, groups, filters, channels, pixels, together),
        scratch=-(-share // width) * width * min(native.SUMMED, pixels) * together,
    )  # fmt: skip
    return parts


@functools.lru_cache(maxsize=256)
@of_sizes
def _places(width: int, groups: int, filters: int, channels: int, pixels: int, together: int) -> np.ndarray:
    """The tables that `native.convolve_weight` takes."""
    tables = (
        (native.SUMMED, width), (filters, pixels), (filters, channels), (together, groups * filters * pixels)
    )  # fmt: skip
    return np.concatenate([gathered.places_of(*x) for x in tables])
