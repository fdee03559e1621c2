"""Convolution whose channels are in groups of a few: see `native.grouped`."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import grouped as native
from runtime.ndarray.nn import depthwise, gathered
from runtime.ndarray.nn.windows import Shape, Window

MIN_CHANNELS = 4
"""The fewest channels, and filters, of a group, whose products fill the registers;"""
MAX_CHANNELS = 8
"""the most: half as many as fill vectors of channels."""
ROW_ELEMENTS = 512
"""About so many pixels are computed at a time: their sums stay in the first cache."""


def pays(channels: int, filters: int, window: Window) -> bool:
    """Whether this is the way to compute a convolution, of more than one group."""
    sizes = channels // window.groups, filters // window.groups
    return min(sizes) >= MIN_CHANNELS and max(sizes) <= MAX_CHANNELS and max(window.kernel) > 1


class Plan(NamedTuple):
    """The sizes of one convolution and the tables, as the kernels take them; and elements of memory."""

    sizes: np.ndarray
    tables: np.ndarray
    image: int  # the channels of a group
    output: int  # the outputs of a group
    length: int  # the rows that are computed at a time


@functools.lru_cache(maxsize=256)
def plan(channels: int, image: Shape, filters: int, window: Window) -> Plan:
    """The plan of a convolution of images with `channels` channels and spatial axes `image`, with `filters` filters."""
    whole = depthwise.plan(channels, image, filters, window)
    g, n = whole.sizes, filters // window.groups
    places, phases = math.prod(window.kernel), math.prod(window.stride)
    row = int(g[depthwise.native.PHASE + 2])
    rows = int(min(max(1, ROW_ELEMENTS // row), g[depthwise.native.PHASE + 1]))
    # What `depthwise` has for images: the first place of each phase, the places, and their distances.
    firsts, order, distances = np.split(g[-(phases + 1 + 2 * places) :], [phases + 1, phases + 1 + places])
    counts = np.diff(firsts)
    packed, image_rows = np.empty((n, places), np.int64), np.empty(n * places, np.int64)
    filter_size = whole.output // n
    for first, count in zip(firsts, counts, strict=False):
        at = n * first + np.arange(n)[:, None] * count + np.arange(count)
        packed[:, order[first : first + count]] = at
        image_rows[at] = np.arange(n)[:, None] * filter_size + distances[first : first + count]
    weights = max(channels // window.groups, n) * places
    tables = [
        np.arange(weights) * native.STEP, packed.reshape(-1) * native.STEP, n * firsts, image_rows,
        np.arange(n) * filter_size,
    ]  # fmt: skip
    starts = np.cumsum([native.PACKED + len(tables), *map(len, tables)])[:-1]
    t = np.concatenate([[rows, rows * row], starts, *tables]).astype(np.int64)
    return Plan(g, t, whole.image, whole.output, rows * row)


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    p = plan(x.shape[1], x.shape[2:], len(w), window)
    y = np.empty((len(x), len(w), *window.outputs(x.shape[2:])), x.dtype)
    native.convolve(
        len(x) * window.groups, _work(y, w), x, w, bias, y, int(bias is not None), gathered.code_of("gathered_sum", x),
        gathered.code_of("turn", x), p.sizes, p.tables,
        scratch=p.image + w[0].size * native.STEP + len(w) // window.groups * p.length,
    )  # fmt: skip
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, *image)."""
    channels = w.shape[1] * window.groups
    p = plan(channels, image, len(w), window)
    x = np.empty((len(y), channels, *image), y.dtype)
    packed = len(w) // window.groups * math.prod(window.kernel) * native.STEP
    native.convolve_image(
        len(y) * window.groups, _work(y, w), y, w, x, gathered.code_of("gathered_sum", y), gathered.code_of("turn", y),
        p.sizes, p.tables, scratch=p.output + packed + (w.shape[1] + 1) * window.stride[-1] * p.length,
    )  # fmt: skip
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels/groups, ...)."""
    from optgen.linalg.own.packed import tile_of

    filters, channels = y.shape[1], x.shape[1]
    p, lanes = plan(channels, x.shape[2:], filters, window), tile_of(x.dtype).lanes
    w = np.empty((filters, channels // window.groups, *window.kernel), x.dtype)
    native.convolve_weight(
        window.groups, _work(y, w), y, x, w, len(x), lanes, gathered.code_of("gathered_dot", x), p.sizes, p.tables,
        scratch=p.image + p.output + w.size // window.groups * lanes,
    )  # fmt: skip
    return w


def _work(y: np.ndarray, w: np.ndarray) -> int:
    """The time of all products, in additions."""
    return 2 * y.size * math.prod(w.shape[1:]) // FLOPS
