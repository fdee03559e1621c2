"""Convolution in which each channel has a filter of its own: see `native.depthwise`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from runtime.core.blas import FLOPS
from runtime.core.kept import kept
from runtime.native import depthwise as native
from runtime.native.channels_last import LANES
from runtime.ndarray.nn import channels_last, gathered
from runtime.ndarray.nn.channels_last import Blocks, Windows, blocks
from runtime.ndarray.nn.windows import MAX_EXTENT, Shape, Window

WORK = 8
"""The time of a multiplication, in those of a product of matrices."""


class Plan(NamedTuple):
    """The sizes and tables of one convolution as the kernels take them; tasks, of each part of the batch for weights;
    elements of memory; and the blocks of all images and of a part."""

    sizes: np.ndarray
    order: np.ndarray
    tasks: int
    scratch: int
    blocks: int
    of_part: int


def pays(channels: int, filters: int, window: Window) -> bool:
    """Whether this is the way to compute a convolution."""
    return window.groups > 1 and channels == filters == window.groups and window.extent <= MAX_EXTENT


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    """(n, channels, ...), (channels, 1, ...) and (channels,): (n, channels, ...)."""
    p = _of_outputs(len(x), x.shape[1], x.shape[2:], window)
    return _convolve(p, x, w, bias, window.outputs(x.shape[2:]))


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, *image)."""
    return _convolve(_of_image(len(y), y.shape[1], image, window), y, w, None, image)


def _convolve(p: Plan, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, outputs: Shape) -> np.ndarray:
    y, places = np.empty((*x.shape[:2], *outputs), x.dtype), w[0].size
    native.convolve(
        p.tasks, WORK * max(x.size, y.size) * places // FLOPS, x, w, bias, y, int(bias is not None), places,
        gathered.code_of("turn", x), p.sizes, p.order, scratch=p.scratch,
    )  # fmt: skip
    return y


def weight_parts(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """The transpose of `convolve` in w, for fixed parts of the batch: (parts, channels, places)."""
    channels, places = x.shape[1], math.prod(window.kernel)
    p = _of_weights(len(x), channels, x.shape[2:], window)
    parts = np.empty((-(-p.blocks // p.of_part), channels, places), x.dtype)
    native.convolve_weight(
        len(parts) * p.tasks, WORK * y.size * places // FLOPS, y, x, parts, p.blocks, p.of_part,
        gathered.code_of("turn", x), p.sizes, p.order, scratch=p.scratch,
    )  # fmt: skip
    return parts


@kept
def _of_outputs(n: int, channels: int, image: Shape, window: Window) -> Plan:
    """The plan of outputs."""
    return _plan(channels_last.of_outputs(LANES, image, window), n, channels)


@kept
def _of_image(n: int, channels: int, image: Shape, window: Window) -> Plan:
    """The plan of the gradient of images."""
    return _plan(channels_last.of_image(LANES, image, window), n, channels)


def _plan(windows: Windows, n: int, channels: int) -> Plan:
    b, sorted_places = blocks(windows, n), np.concatenate([x.places for x in windows.groups])
    order = np.empty(len(sorted_places), np.int64)
    order[sorted_places] = np.arange(len(order)) * LANES
    in_all, splits = b.in_all(n), -(-channels // LANES)
    scratch = b.together * (b.box + b.pixels * LANES) + len(order) * LANES + LANES
    return Plan(_sizes(windows, b, n, channels), order, in_all * splits, scratch, in_all, in_all)


@kept
def _of_weights(n: int, channels: int, image: Shape, window: Window) -> Plan:
    """The plan of the gradient of weights."""
    windows = channels_last.of_outputs(LANES, image, window)
    b, places = blocks(windows, n), math.prod(window.kernel)
    in_all, splits = b.in_all(n), -(-channels // LANES)
    of_part = max(1, -(-in_all // -(-gathered.MIN_TASKS // splits)))
    order = np.concatenate([np.arange(b.pixels) * LANES, np.arange(LANES) * places])
    scratch = b.together * (b.box + b.pixels * LANES) + 3 * places * LANES
    return Plan(_sizes(windows, b, n, channels), order, splits, scratch, in_all, of_part)


def _sizes(windows: Windows, b: Blocks, n: int, channels: int) -> np.ndarray:
    offsets, pixels = [x.offsets @ b.steps for x in windows.groups], math.prod(windows.pixels)
    numbers = [1, channels, 0, LANES, -(-channels // LANES), LANES, LANES, pixels]
    return gathered.tables(b, n, windows, numbers, b.of_rows * LANES, offsets, 0, np.arange(LANES) * pixels)
