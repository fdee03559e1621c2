"""Convolution with kernels of 3 by 3 that move by one pixel, by Winograd's algorithm: see `native.winograd`.

Of kernels of 4 by 4 that move by two, `winograd_strided` is the same.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import convolution
from runtime.native import winograd as native
from runtime.ndarray.nn.windows import Geometry, Shape, Window

MIN_TILES = {((3, 3), (1, 1)): 64, ((4, 4), (2, 2)): 512}
"""Kernels with their strides, and the fewest tiles of a batch that outweigh the transforms of the weights."""
MIN_CHANNELS = 16
"""The fewest channels, and filters, whose products outweigh the transforms of tiles."""
MAX_TILES_PER_PIXEL = 0.4
"""The most tiles for each pixel of the output. A tile has 4, but those at the margins may lie half outside."""
BLOCK_TILES = 128
"""The number of tiles whose transforms are made at a time."""
MAX_FILTERS = 256
"""The most filters of a task,"""
GRADIENT_BLOCK = 128
"""and the most filters and channels of one that computes the gradient of weights."""
TRANSFORM_WORK = 32
"""The time to transform one kernel, in additions."""
GRADIENT_TASKS = 8
"""The least number of tasks of the gradient of the weights, for which parts of the batch are summed apart."""


def pays(images: int, channels: int, filters: int, g: Geometry, window: Window) -> bool:
    """Whether the algorithm can be used, and saves time."""
    least = MIN_TILES.get((window.kernel, window.stride))
    if least is None or min(channels, filters) < MIN_CHANNELS or window.dilate != (1, 1) or window.groups != 1:
        return False
    tiles = math.prod(halves(g.outputs))
    enough = images * tiles >= least and tiles <= MAX_TILES_PER_PIXEL * math.prod(g.outputs)
    return enough and max(window.pad) <= 2


class Plan(NamedTuple):
    """The sizes of one convolution as the kernels take them, and what follows from them."""

    sizes: np.ndarray
    blocks: int  # of tile rows
    parts: int  # of the batch, for the gradient of the weights
    columns: int  # elements from one row of a matrix of transforms to the next
    wide: int  # tiles of a row, in whole vectors


@functools.lru_cache(maxsize=1024)
def plan(
    n: int, channels: int, image: Shape, filters: int, outputs: Shape, pad: Shape, grid: Shape, block: Shape,
    parts: int,
) -> Plan:  # fmt: skip
    """For n images with `channels` channels and outputs with `filters`, in tiles of which there are `grid` down and
    across. A task has `block` filters and channels."""
    down, across = grid
    wide = -(-across // 16) * 16
    part = -(-n * down // parts)
    rows = block_length(part, max(1, BLOCK_TILES // across))
    columns = -(-(rows * across + wide) // 32) * 32 + 16  # rows a power of 2 apart would share few lines of the cache
    sizes = [n, channels, *image, filters, *outputs, *pad, down, across, wide, rows, columns, *block, part]
    return Plan(np.array(sizes, np.int64), -(-n * down // rows), -(-n * down // part), columns, wide)


def halves(shape: Shape) -> Shape:
    """The tiles along each axis, each with two pixels."""
    return tuple(-(-n // 2) for n in shape)


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, pad: Shape) -> np.ndarray:
    """(n, channels, height, width), (filters, channels, 3, 3) and (filters,): (n, filters, ...)."""
    return _product(x, w, bias, len(w), pad, 0)


def convolve_image(y: np.ndarray, w: np.ndarray, pad: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, height, width): the convolution of y with the kernels turned."""
    return _product(y, w, None, w.shape[1], tuple(2 - p for p in pad), 1)


def _product(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, filters: int, pad: Shape, turned: int
) -> np.ndarray:
    """The convolution of x with w, or with its kernels turned by half a turn and its first two axes exchanged."""
    n, channels, *image = x.shape
    outputs = tuple(size + 2 * p - 2 for size, p in zip(image, pad, strict=True))
    block = block_length(filters, MAX_FILTERS)
    p = plan(n, channels, tuple(image), filters, outputs, pad, halves(outputs), (block, channels), 1)
    u = np.empty((16, *w.shape[:2]), w.dtype)
    native.transform_weights(
        len(w), TRANSFORM_WORK * len(w) * w.shape[1], w, u, turned, *w.shape[:2], scratch=16 * (w.shape[1] + 16)
    )
    y = np.empty((n, filters, *outputs), x.dtype)
    native.convolve(
        p.blocks * -(-filters // block), _work(y, channels), x, u, bias, y, int(bias is not None), turned, p.sizes,
        scratch=16 * (channels + block) * p.columns + max(20 * p.wide, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return y


def convolve_weight(y: np.ndarray, x: np.ndarray, pad: Shape) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels, 3, 3).

    Few weights are summed for fixed parts of the batch, and these in order; of many, each task has a block.
    """
    n, channels, *image = x.shape
    filters, *outputs = y.shape[1:]
    f, c, parts = gradient_blocks(filters, channels)
    p = plan(n, channels, tuple(image), filters, tuple(outputs), pad, halves(tuple(outputs)), (f, c), parts)
    w = np.empty((p.parts, filters, channels, 3, 3), x.dtype)
    tasks = p.parts * -(-filters // f) * -(-channels // c)
    scratch = 16 * (f * c + 16 + (f + c) * p.columns) + max(20 * p.wide, 4 * p.columns + 2 * p.wide)
    native.convolve_weight(tasks, _work(y, channels), y, x, w, p.sizes, scratch=scratch)
    return sum_parts(w)


def sum_parts(parts: np.ndarray) -> np.ndarray:
    """The sum over the first axis, in order."""
    if len(parts) < 2:
        return parts[0] if len(parts) else np.zeros(parts.shape[1:], parts.dtype)
    w = np.empty(parts.shape[1:], parts.dtype)
    convolution.sum_parts(-(-w.size // convolution.SUM_ELEMENTS), parts.size, parts, w, len(parts), w.size)
    return w


def gradient_blocks(filters: int, channels: int) -> tuple[int, int, int]:
    """The filters and the channels of a task of the gradient of the weights, and the parts of the batch."""
    f, c = block_length(filters, GRADIENT_BLOCK), block_length(channels, GRADIENT_BLOCK)
    return f, c, max(1, GRADIENT_TASKS // (-(-filters // f) * -(-channels // c)))


def block_length(n: int, most: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all."""
    return -(-n // -(-n // most))


def _work(y: np.ndarray, channels: int) -> int:
    """Of the products, in additions: 4 multiplications for each pixel and channel."""
    return 2 * 4 * y.size * channels // FLOPS
