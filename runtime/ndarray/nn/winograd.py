"""Convolution with kernels of 3 by 3 that move by one pixel, by Winograd's algorithm: see `native.winograd`.

A dilated kernel is an ordinary one on each phase of an image.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from optgen.backends import machine
from runtime.core.blas import FLOPS
from runtime.core.kept import kept, of_sizes
from runtime.native import winograd as native
from runtime.native.panels import aligned, panel_width
from runtime.ndarray.nn import channels_last, gathered
from runtime.ndarray.nn.windows import Geometry, Shape, Window

MIN_TILES = 256
"""The fewest tiles of a batch that outweigh the transforms of the weights."""
MIN_CHANNELS = 16
"""The fewest channels, and filters, whose products outweigh the transforms of tiles."""
MAX_TILES_PER_PIXEL = 0.4
"""The most tiles for each pixel of the output. A tile has 4, but those at the margins may lie half outside."""
BLOCK_ELEMENTS = machine.value("convolutions.winograd_elements")
"""About so many elements of transforms, and of products, are made at a time: they fit into the second cache."""
EVEN = 4
"""The number of tasks is a multiple of this, so that threads have the same work."""
MAX_FILTERS = machine.value("convolutions.winograd_filters")
"""The most filters whose products are made at a time."""


def pays(images: int, channels: int, filters: int, g: Geometry, window: Window) -> bool:
    """Whether the algorithm can be used, and saves time."""
    if window[:2] != ((3, 3), (1, 1)) or window.groups != 1 or min(channels, filters) < MIN_CHANNELS:
        return False
    if any(p % d or p > 2 * d for p, d in zip(window.pad, window.dilate, strict=True)):
        return False
    tiles = math.prod(window.dilate) * math.prod(_tiles(_lengths(g.outputs, window.dilate)))
    return images * tiles >= MIN_TILES and tiles <= MAX_TILES_PER_PIXEL * math.prod(g.outputs)


class Plan(NamedTuple):
    """The sizes of one convolution as the kernels take them, and what follows from them."""

    sizes: np.ndarray
    tasks: int
    scratch: int


@kept
def _plan(n: int, channels: int, image: Shape, filters: int, pad: Shape, width: int) -> Plan:
    """For n images with `channels` channels and outputs with `filters`; panels have `width` lines."""
    outputs = _outputs(image, pad)
    down, across = _tiles(outputs)
    boxes = channels_last.Boxes(channels, (1, *image), (0, *pad), (1, 1, 1))
    block, pixel = channels_last.block_length(filters, MAX_FILTERS, width), boxes.pixel
    most = max(1, BLOCK_ELEMENTS // (16 * (pixel + block) * across))
    tasks = -(-max(gathered.MIN_TASKS, -(-n * down // most)) // EVEN) * EVEN
    rows = -(-n * down // tasks)
    box = 1, 2 * min(rows, down) + 2, 2 * across + 2
    tiles = np.arange(rows * across)
    run, [offsets] = gathered.short_runs(channels, [np.zeros(1, np.int64)])
    tables = [tiles * pixel, tiles * block, offsets, np.arange(block) * math.prod(outputs), boxes.sizes(box)]
    places = np.cumsum([native.TABLES + len(tables), *map(len, tables)])[:-1]
    sizes = [n, channels, filters, *outputs, down, across, pixel, box[2] * pixel, rows, block, run, len(offsets)]
    g = np.concatenate([sizes, [math.prod(image), box[2]], places, *tables]).astype(np.int64)
    scratch = 16 * len(tiles) * (pixel + block) + 4 * across * block + math.prod(box) * pixel
    return Plan(g, -(-n * down // rows), scratch)


def _tiles(outputs: Shape) -> Shape:
    """The tiles along each axis, each with two pixels."""
    return tuple(-(-n // 2) for n in outputs)


def _outputs(image: Shape, pad: Shape, dilate: Shape = (1, 1)) -> Shape:
    return tuple(size + 2 * p - 2 * d for size, p, d in zip(image, pad, dilate, strict=True))


# ---------------------------------------------------------------- dilation


def _lengths(image: Shape, dilate: Shape) -> Shape:
    """The pixels of a phase along each axis."""
    return tuple(-(-size // d) for size, d in zip(image, dilate, strict=True))


def _quotients(pad: Shape, dilate: Shape) -> Shape:
    return tuple(p // d for p, d in zip(pad, dilate, strict=True))


def _phases(x: np.ndarray, dilate: Shape) -> np.ndarray:
    """(n, channels, height, width) as `n down across` images, of every `down`th row and every `across`th column, with
    zeros after the last: a dilated kernel is an ordinary one on each of them."""
    n, channels, *image = x.shape
    (down, across), (rows, columns) = dilate, _lengths(tuple(image), dilate)
    after = rows * down - image[0], columns * across - image[1]
    if any(after):
        x = np.pad(x, ((0, 0), (0, 0), (0, after[0]), (0, after[1])))
    parts = x.reshape(n, channels, rows, down, columns, across).transpose(0, 3, 5, 1, 2, 4)
    return np.ascontiguousarray(parts).reshape(-1, channels, rows, columns)


def _joined(y: np.ndarray, dilate: Shape, image: Shape) -> np.ndarray:
    """Phases as images of this height and width."""
    down, across = dilate
    _, channels, rows, columns = y.shape
    parts = y.reshape(-1, down, across, channels, rows, columns).transpose(0, 3, 4, 1, 5, 2)
    whole = parts.reshape(-1, channels, rows * down, columns * across)
    return np.ascontiguousarray(whole[:, :, : image[0], : image[1]])


# ---------------------------------------------------------------- the two operators


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, pad: Shape, dilate: Shape = (1, 1)) -> np.ndarray:
    """(n, channels, height, width), (filters, channels, 3, 3) and (filters,): (n, filters, ...)."""
    if dilate != (1, 1):
        y = convolve(_phases(x, dilate), w, bias, _quotients(pad, dilate))
        return _joined(y, dilate, _outputs(x.shape[2:], pad, dilate))
    filters, channels = w.shape[:2]
    width = panel_width(w.dtype)
    blocks = -(-filters // width)
    size = width * channels * 9
    panels = gathered.packed_filters(w, blocks * size, 1, width, _order(channels, width), size)
    return _product(x, panels, bias, filters, blocks, pad)


def convolve_image(y: np.ndarray, w: np.ndarray, pad: Shape, dilate: Shape = (1, 1)) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, height, width): the convolution of y with the kernels turned."""
    if dilate != (1, 1):
        x = convolve_image(_phases(y, dilate), w, _quotients(pad, dilate))
        turned = tuple(2 * d - p for p, d in zip(pad, dilate, strict=True))
        return _joined(x, dilate, _outputs(y.shape[2:], turned, dilate))
    filters, channels = w.shape[:2]
    width = panel_width(w.dtype)
    blocks = -(-channels // width)
    order = _turned_order(blocks, filters * width)
    panels = gathered.packed_channels(w, blocks * width * filters * 9, 1, order)
    return _product(y, panels, None, channels, blocks, tuple(2 - p for p in pad))


@functools.lru_cache(maxsize=256)
@of_sizes
def _order(channels: int, width: int) -> np.ndarray:
    """Where the rows of weights, (channels, 9), go in a panel, (9, channels, width)."""
    return np.arange(9 * channels).reshape(9, channels).T.reshape(-1) * width


@functools.lru_cache(maxsize=256)
@of_sizes
def _turned_order(blocks: int, size: int) -> np.ndarray:
    """Where the 9 elements of kernels go in panels, (blocks, 9, size), turned by half a turn."""
    return (np.arange(blocks)[:, None] * 9 + np.arange(8, -1, -1)).reshape(-1) * size


def _product(
    x: np.ndarray, panels: np.ndarray, bias: np.ndarray | None, filters: int, blocks: int, pad: Shape
) -> np.ndarray:
    """The convolution of x with the kernels in panels."""
    n, channels, *image = x.shape
    y = np.empty((n, filters, *_outputs(tuple(image), pad)), x.dtype)  # before the tables: there may be no memory
    p = _plan(n, channels, tuple(image), filters, pad, panel_width(x.dtype))
    u = aligned(panels.size // 9 * 16, x.dtype)
    size = panels.size // 9 // blocks
    native.transform_weights(blocks, u.size, panels, u, blocks, size, scratch=12 * size)
    native.convolve(
        p.tasks, 2 * 4 * y.size * channels // FLOPS, x, u, bias, y, int(bias is not None), 0,
        u.size // 16, gathered.code_of("gathered_gemm", x), gathered.code_of("turn", x), p.sizes, scratch=p.scratch,
    )  # fmt: skip
    return y
