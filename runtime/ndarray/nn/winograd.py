"""Convolution with kernels of 3 by 3 that move by one pixel, by Winograd's algorithm: see `native.winograd`."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import winograd as native
from runtime.ndarray.nn.windows import Geometry, Shape, Window

MIN_TILES = 256
"""The fewest tiles of a batch that outweigh the transforms of the weights."""
MIN_CHANNELS = 16
"""The fewest channels, and filters, whose products outweigh the transforms of tiles."""
MAX_TILES_PER_PIXEL = 0.4
"""The most tiles for each pixel of the output. A tile has 4, but those at the margins may lie half outside."""
BLOCK_TILES = 128
"""The number of tiles whose transforms are made at a time."""
MAX_FILTERS = 256
"""The most filters of a task."""
TRANSFORM_WORK = 32
"""The time to transform one kernel, in additions."""


def pays(images: int, channels: int, filters: int, g: Geometry, window: Window) -> bool:
    """Whether the algorithm can be used, and saves time."""
    if window[:2] != ((3, 3), (1, 1)) or min(channels, filters) < MIN_CHANNELS:
        return False
    if window.dilate != (1, 1) or window.groups != 1:
        return False
    tiles = math.prod(halves(g.outputs))
    enough = images * tiles >= MIN_TILES and tiles <= MAX_TILES_PER_PIXEL * math.prod(g.outputs)
    return enough and max(window.pad) <= 2


class Plan(NamedTuple):
    """The sizes of one convolution as the kernels take them, and what follows from them."""

    sizes: np.ndarray
    blocks: int  # of tile rows
    columns: int  # elements from one row of a matrix of transforms to the next
    wide: int  # tiles of a row, in whole vectors


@functools.lru_cache(maxsize=1024)
def _plan(n: int, channels: int, image: Shape, filters: int, pad: Shape, block: int) -> Plan:
    """For n images with `channels` channels and outputs with `filters`, of which a task has `block`."""
    outputs = _outputs(image, pad)
    down, across = halves(outputs)
    wide = -(-across // 16) * 16
    rows = block_length(n * down, max(1, BLOCK_TILES // across))
    columns = -(-(rows * across + wide) // 32) * 32 + 16  # rows a power of 2 apart would share few lines of the cache
    sizes = [n, channels, *image, filters, *outputs, *pad, down, across, wide, rows, columns, block]
    return Plan(np.array(sizes, np.int64), -(-n * down // rows), columns, wide)


def _outputs(image: Shape, pad: Shape) -> Shape:
    return tuple(size + 2 * p - 2 for size, p in zip(image, pad, strict=True))


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
    block = block_length(filters, MAX_FILTERS)
    p = _plan(n, channels, tuple(image), filters, pad, block)
    u = np.empty((16, *w.shape[:2]), w.dtype)
    native.transform_weights(
        len(w), TRANSFORM_WORK * len(w) * w.shape[1], w, u, turned, *w.shape[:2], scratch=16 * (w.shape[1] + 16)
    )
    y = np.empty((n, filters, *_outputs(tuple(image), pad)), x.dtype)
    native.convolve(
        p.blocks * -(-filters // block), _work(y, channels), x, u, bias, y, int(bias is not None), turned, p.sizes,
        scratch=16 * (channels + block) * p.columns + max(20 * p.wide, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return y


def block_length(n: int, most: int) -> int:
    """The length of blocks of about equal length, at most `most`, of n in all."""
    return -(-n // -(-n // most))


def _work(y: np.ndarray, channels: int) -> int:
    """Of the products, in additions: 4 multiplications for each pixel and channel."""
    return 2 * 4 * y.size * channels // FLOPS
