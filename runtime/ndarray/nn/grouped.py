"""Convolution whose channels are in groups of a few: see `native.grouped`."""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from optgen.backends import machine
from runtime.core.blas import FLOPS
from runtime.core.kept import of_sizes
from runtime.native import grouped as native
from runtime.ndarray.nn import gathered
from runtime.ndarray.nn.channels_last import three
from runtime.ndarray.nn.windows import MAX_EXTENT, Shape, Window

MAX_CHANNELS = 8
"""The most channels, and filters, of a group: half as many as fill vectors of channels,"""
MAX_CHANNELS_ALONE = 4
"""and the most with kernels of one element, whose windows need no copies elsewhere."""
MAX_PHASES = 64
"""The most phases of a channel."""
ROW_ELEMENTS = machine.value("convolutions.grouped_elements")
"""About so many pixels are computed at a time: their sums stay in the first cache."""
MIN_ROWS = 4
"""The rows of a product that fill the registers: fewer filters take as long."""


class Plan(NamedTuple):
    """The sizes and tables of one convolution as the kernels take them, and elements of memory."""

    sizes: np.ndarray
    image: int  # the channels of a group
    output: int  # the outputs of a group
    length: int  # the rows that are computed at a time


def pays(channels: int, filters: int, window: Window) -> bool:
    """Whether this is the way to compute a convolution."""
    if window.groups == 1 or math.prod(window.stride) > MAX_PHASES or window.extent > MAX_EXTENT:
        return False
    most = MAX_CHANNELS if max(window.kernel) > 1 else MAX_CHANNELS_ALONE
    return max(channels, filters) <= most * window.groups


@functools.lru_cache(maxsize=1024)
@of_sizes
def plan(channels: int, image: Shape, filters: int, window: Window) -> Plan:
    """The plan of a convolution of images with `channels` channels and spatial axes `image`, with `filters` filters."""
    size, out = three(image, 1), three(window.outputs(image), 1)
    kernel, stride, pad, dilate = (three(x, d) for x, d in zip(window[:4], (1, 1, 0, 1), strict=True))
    phase = tuple(-(-(n + 2 * p) // s) for n, p, s in zip(size, pad, stride, strict=True))
    phases, pixels = math.prod(stride), math.prod(phase)
    of_phase, offsets = [], []
    for place in itertools.product(*map(range, kernel)):
        at = [k * d for k, d in zip(place, dilate, strict=True)]
        of_phase.append(_flat([i % s for i, s in zip(at, stride, strict=True)], stride))
        offsets.append(_flat([i // s for i, s in zip(at, stride, strict=True)], phase))
    channels, filters, margin = channels // window.groups, filters // window.groups, max(offsets)
    rows = min(max(1, ROW_ELEMENTS // phase[2]), phase[1])
    numbers = [channels, filters, window.groups, *size, *out, *stride, *pad, *phase]
    numbers += [math.prod(size), math.prod(out), pixels, phases, len(offsets), margin, rows, rows * phase[2]]
    taps = [(c * phases + p) * pixels + o for c in range(channels) for p, o in zip(of_phase, offsets, strict=True)]
    output = margin + pixels
    tables = [
        taps, np.arange(max(channels, filters) * len(offsets)) * native.STEP,
        *_image_tables(filters, of_phase, margin - np.array(offsets), phases, output), np.arange(filters) * output,
    ]  # fmt: skip
    starts = np.cumsum([native.TABLES + len(tables), *map(len, tables)])[:-1]
    g = np.concatenate([numbers, starts, *tables]).astype(np.int64)
    return Plan(g, channels * phases * pixels, filters * output, rows * phase[2])


def _image_tables(
    filters: int, of_phase: list[int], distances: np.ndarray, phases: int, output: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the products that give images, whose rows are the places of each filter, phase by phase: where the weights of
    each filter go, the first row of each phase and one past the last, and where what they meet begins."""
    packed, firsts, rows = np.empty((filters, len(of_phase)), np.int64), [0], []
    for p in range(phases):
        places = np.flatnonzero(np.array(of_phase) == p)
        packed[:, places] = firsts[-1] + np.arange(filters)[:, None] * len(places) + np.arange(len(places))
        firsts.append(firsts[-1] + filters * len(places))
        rows.append((np.arange(filters)[:, None] * output + distances[places]).reshape(-1))
    return packed.reshape(-1) * native.STEP, np.array(firsts), np.concatenate(rows)


def _flat(index: list[int], shape: Shape) -> int:
    return (index[0] * shape[1] + index[1]) * shape[2] + index[2]


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    p = plan(x.shape[1], x.shape[2:], len(w), window)
    y = np.empty((len(x), len(w), *window.outputs(x.shape[2:])), x.dtype)
    native.convolve(
        len(x) * window.groups, _work(y, w), x, w, bias, y, int(bias is not None), gathered.code_of("gathered_sum", x),
        gathered.code_of("turn", x), p.sizes,
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
        p.sizes, scratch=p.output + packed + (w.shape[1] + 1) * window.stride[-1] * p.length,
    )  # fmt: skip
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels/groups, ...)."""
    from optgen.linalg.own.packed import tile_of

    filters, channels = y.shape[1], x.shape[1]
    p, lanes = plan(channels, x.shape[2:], filters, window), tile_of(x.dtype).lanes
    w = np.empty((filters, channels // window.groups, *window.kernel), x.dtype)
    native.convolve_weight(
        window.groups, _work(y, w), y, x, w, len(x), lanes, gathered.code_of("gathered_dot", x), p.sizes,
        scratch=p.image + p.output + w.size // window.groups * lanes,
    )  # fmt: skip
    return w


def _work(y: np.ndarray, w: np.ndarray) -> int:
    """The time of all products, in additions."""
    groups_work = 2 * y.size * math.prod(w.shape[1:]) // FLOPS
    return MIN_ROWS * groups_work
