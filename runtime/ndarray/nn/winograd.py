"""Convolution with kernels of 3 by 3 that move by one pixel, by Winograd's algorithm: see `native.winograd`."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import winograd as native
from runtime.ndarray.nn.windows import Geometry, Shape, Window

MIN_CHANNELS = 16
"""The fewest channels, and filters, whose products outweigh the transforms,"""
MIN_TILES = 64
"""and the fewest tiles of the batch, for those of the weights."""
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
    if min(channels, filters) < MIN_CHANNELS or window.kernel != (3, 3):
        return False
    if (window.stride, window.dilate, window.groups) != ((1, 1), (1, 1), 1):
        return False
    tiles = math.prod(-(-n // 2) for n in g.outputs)
    enough = images * tiles >= MIN_TILES and tiles <= MAX_TILES_PER_PIXEL * math.prod(g.outputs)
    return enough and max(window.pad) <= 2


class _Plan(NamedTuple):
    """The sizes of one convolution as the kernels take them, and what follows from them."""

    sizes: np.ndarray
    blocks: int  # of tile rows
    parts: int  # of the batch, for the gradient of the weights
    columns: int  # elements from one row of a matrix of transforms to the next
    pixels: int  # elements of scratch memory for the pixels of a block of tiles


@functools.lru_cache(maxsize=1024)
def _plan(
    n: int, channels: int, image: Shape, filters: int, pad: Shape, filter_block: int, channel_block: int, parts: int
) -> _Plan:
    outputs = tuple(size + 2 * p - 2 for size, p in zip(image, pad, strict=True))
    down, across = (-(-size // 2) for size in outputs)
    wide = -(-across // 16) * 16
    part = -(-n * down // parts)
    rows = _block(part, max(1, BLOCK_TILES // across))
    columns = -(-(rows * across + wide) // 32) * 32 + 16  # rows a power of 2 apart would share few lines of the cache
    numbers = [n, channels, *image, filters, *outputs, *pad, down, across, wide, rows, columns]
    sizes = np.array([*numbers, filter_block, channel_block, part], np.int64)
    return _Plan(sizes, -(-n * down // rows), -(-n * down // part), columns, max(20 * wide, 4 * columns + 2 * wide))


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
    block = _block(filters, MAX_FILTERS)
    plan = _plan(n, channels, tuple(image), filters, pad, block, channels, 1)
    u = np.empty((16, *w.shape[:2]), w.dtype)
    native.transform_weights(
        len(w), TRANSFORM_WORK * len(w) * w.shape[1], w, u, turned, *w.shape[:2], scratch=16 * (w.shape[1] + 16)
    )
    y = np.empty((n, filters, *(size + 2 * p - 2 for size, p in zip(image, pad, strict=True))), x.dtype)
    native.convolve(
        plan.blocks * -(-filters // block), _work(y, channels), x, u, bias, y, int(bias is not None), turned,
        plan.sizes, scratch=16 * (channels + block) * plan.columns + plan.pixels,
    )  # fmt: skip
    return y


def convolve_weight(y: np.ndarray, x: np.ndarray, pad: Shape) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels, 3, 3).

    Few weights are summed for fixed parts of the batch, and these in order; of many, each task has a block.
    """
    n, channels, *image = x.shape
    filters = y.shape[1]
    f, c = _block(filters, GRADIENT_BLOCK), _block(channels, GRADIENT_BLOCK)
    blocks = -(-filters // f) * -(-channels // c)
    plan = _plan(n, channels, tuple(image), filters, pad, f, c, max(1, GRADIENT_TASKS // blocks))
    parts = np.empty((plan.parts, filters, channels, 3, 3), x.dtype)
    scratch = 16 * (f * c + 16 + (f + c) * plan.columns) + plan.pixels
    native.convolve_weight(plan.parts * blocks, _work(y, channels), y, x, parts, plan.sizes, scratch=scratch)
    return parts[0] if plan.parts == 1 else parts.sum(axis=0)


def _block(n: int, most: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all."""
    return -(-n // -(-n // most))


def _work(y: np.ndarray, channels: int) -> int:
    """Of the products, in additions: 4 multiplications for each pixel and channel."""
    return 2 * 4 * y.size * channels // FLOPS
