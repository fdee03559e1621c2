"""Convolution with a few channels in each group, one above all: see `native.depthwise`."""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import depthwise as native
from runtime.native.depthwise import LANES
from runtime.ndarray.nn.windows import Shape, Window

MAX_CHANNELS = 8
"""The most channels, and filters, of a group for which direct sums are faster than GEMM,"""
MAX_CHANNELS_ALONE = 4
"""and the most with kernels of one element, whose windows GEMM need not copy."""
SUM_ELEMENTS = 2048
"""Elements that are summed at a time: they stay in the L1 cache."""
WORK = 3
"""The time of a multiplication, in those of GEMM."""


def pays(channels: int, filters: int, window: Window) -> bool:
    """Whether the sums are faster than products of matrices, of more than one group."""
    most = MAX_CHANNELS if max(window.kernel) > 1 else MAX_CHANNELS_ALONE
    return max(channels, filters) <= most * window.groups


class Plan(NamedTuple):
    """The sizes of one convolution as the kernels take them, and the elements of what they keep in memory."""

    sizes: np.ndarray
    image: int  # the channels of a group
    output: int  # the outputs of a group
    sums: int  # what is summed at a time, for all phases of a row


@functools.lru_cache(maxsize=1024)
def plan(channels: int, image: Shape, filters: int, window: Window) -> Plan:
    """The plan of a convolution of images with `channels` channels and spatial axes `image`, with `filters` filters."""
    lead = 3 - len(image)
    kernel, stride, dilate, size, out = (
        (1,) * lead + shape for shape in (window.kernel, window.stride, window.dilate, image, window.outputs(image))
    )
    pad = (0,) * lead + window.pad
    phase = tuple(-(-(n + 2 * p) // s) for n, p, s in zip(size, pad, stride, strict=True))
    phases, pixels = math.prod(stride), math.prod(phase)
    of_phase, offsets = [], []
    for place in itertools.product(*map(range, kernel)):
        at = [k * d for k, d in zip(place, dilate, strict=True)]
        of_phase.append(_flat([i % s for i, s in zip(at, stride, strict=True)], stride))
        offsets.append(_flat([i // s for i, s in zip(at, stride, strict=True)], phase))
    channels, filters, margin = channels // window.groups, filters // window.groups, max(offsets)
    rows = min(max(1, SUM_ELEMENTS // phase[2]), phase[1])
    places = sorted(range(len(offsets)), key=of_phase.__getitem__)
    numbers = [channels, filters, window.groups, *size, *out, *stride, *pad, *phase]
    numbers += [math.prod(size), math.prod(out), pixels, phases, len(offsets), rows, margin]
    numbers += [(c * phases + p) * pixels + o for c in range(channels) for p, o in zip(of_phase, offsets, strict=True)]
    numbers += [sum(p < first for p in of_phase) for first in range(phases + 1)]
    numbers += [*places, *(margin - offsets[i] for i in places)]
    return Plan(
        np.array(numbers, np.int64),
        channels * phases * pixels + LANES,
        filters * (margin + pixels + LANES),
        stride[2] * (2 * rows * phase[2] + LANES),
    )


def _flat(index: list[int], shape: Shape) -> int:
    return (index[0] * shape[1] + index[1]) * shape[2] + index[2]


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (filters, channels/groups, ...) and (filters,): (n, filters, ...)."""
    p = plan(x.shape[1], x.shape[2:], len(w), window)
    y = np.empty((len(x), len(w), *window.outputs(x.shape[2:])), x.dtype)
    native.convolve(
        len(x) * window.groups, _work(y, w), x, w, bias, y, int(bias is not None), p.sizes, scratch=p.image + p.sums
    )
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, *image)."""
    channels = w.shape[1] * window.groups
    p = plan(channels, image, len(w), window)
    x = np.empty((len(y), channels, *image), y.dtype)
    scratch = p.output + w.size // w.shape[1] // window.groups + p.sums
    native.convolve_image(len(y) * window.groups, _work(y, w), y, w, x, p.sizes, scratch=scratch)
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels/groups, ...)."""
    filters, channels = y.shape[1], x.shape[1]
    p = plan(channels, x.shape[2:], filters, window)
    w = np.empty((filters, channels // window.groups, *window.kernel), x.dtype)
    sums = LANES * 3 * w.size // window.groups
    native.convolve_weight(window.groups, _work(y, w), y, x, w, len(x), p.sizes, scratch=p.image + p.output + sums)
    return w


def _work(y: np.ndarray, w: np.ndarray) -> int:
    """The time of all products, in additions."""
    return WORK * 2 * y.size * math.prod(w.shape[1:]) // FLOPS
