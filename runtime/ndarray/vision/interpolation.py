"""Weighted sums of chosen elements of images: what interpolation is made of.

The three operators are linear in each of their arrays, and each other's gradients, so all can be differentiated any
number of times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.core.backend import add_at, array_module, is_host, to_device_of
from runtime.native import regions as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32


class Taps(NamedTuple):
    """Which elements are chosen. There are groups of as many points; each reads one image, in all its channels."""

    images: np.ndarray
    """(groups,), the image of each."""
    starts: np.ndarray
    """(groups*points + 1,): the taps of a point are those from its start to the next."""
    places: np.ndarray
    """(taps,), counted from the first element that belongs to the channel; of images on a device they may be there."""
    shape: tuple[int, ...]
    """Of the images: (batch, channels, height, width)."""
    numbers: np.ndarray
    """What the kernels want to know."""

    @property
    def output(self) -> tuple[int, int, int]:
        """Groups, channels and points of the result."""
        return tuple(self.numbers[: native.POINTS + 1].tolist())


def taps_of(images: np.ndarray, counts: np.ndarray, places: Sequence, shape: tuple[int, ...], sets: int = 1) -> Taps:
    """Taps with `counts`, (groups, points), of them at each point. Each channel of the result reads `sets` of those of
    the images, side by side: 1, or as many as there are points.
    """
    groups, points = counts.shape
    _, channels, height, width = shape
    numbers = [groups, channels // sets, points, channels * height * width, sets * height * width]
    starts = np.concatenate([[0], np.cumsum(counts)])
    whole = (array_module(x).ascontiguousarray(x, np.int64) for x in (images, starts, places))
    return Taps(*whole, shape, np.array(numbers, np.int64))


@Operator
@in_float32
def mix(x: np.ndarray, weights: np.ndarray, *, taps: Taps) -> np.ndarray:
    """(groups, channels, points): the sums of the elements at the taps, times `weights`, (taps,)."""
    if not is_host(x):
        y = np.zeros_like(x, shape=taps.output)
        seen, kept = _ends(x, taps)
        add_at(_lines(y, taps), kept, _lines(x, taps)[seen] * weights[:, None])
        return y
    y = np.empty(taps.output, x.dtype)
    groups, channels, _ = taps.output
    native.mix(groups * channels, channels * weights.size, x, weights, y, *taps[:3], taps.numbers)
    return y


@Operator
@in_float32
def spread(y: np.ndarray, weights: np.ndarray, *, taps: Taps) -> np.ndarray:
    """Zeros in the shape of the images, with `weights` times `y` added at the taps."""
    if not is_host(y):
        x = np.zeros_like(y, shape=taps.shape)
        seen, kept = _ends(x, taps)
        add_at(_lines(x, taps), seen, _lines(y, taps)[kept] * weights[:, None])
        return x
    x = np.zeros(taps.shape, y.dtype)
    _, channels, _ = taps.output
    native.spread(channels, channels * weights.size, y, weights, x, *taps[:3], taps.numbers)
    return x


@Operator
@in_float32
def match(y: np.ndarray, x: np.ndarray, *, taps: Taps) -> np.ndarray:
    """(taps,): the sum over the channels of `y` at the tap's point times `x` at its place."""
    if not is_host(x):
        seen, kept = _ends(x, taps)
        return (_lines(x, taps)[seen] * _lines(y, taps)[kept]).sum(axis=1)
    weights = np.zeros(taps.places.shape, y.dtype)
    groups, channels, _ = taps.output
    native.match(groups, channels * weights.size, y, x, weights, *taps[:3], taps.numbers)
    return weights


def _lines(x: np.ndarray, taps: Taps) -> np.ndarray:
    """Images, or results, as (images or groups, elements, channels): a view of arrays that are contiguous."""
    channels = taps.output[1]
    return x.reshape(len(x), channels, math.prod(x.shape[1:]) // channels).swapaxes(1, 2)


def _ends(x: np.ndarray, taps: Taps) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """On the device of x, what each tap joins: image and place, group and point; they choose rows of `_lines`."""
    group, point = np.divmod(np.repeat(np.arange(len(taps.starts) - 1), np.diff(taps.starts)), taps.output[2])
    seen, kept = (taps.images[group], taps.places), (group, point)
    return tuple(to_device_of(x, i) for i in seen), tuple(to_device_of(x, i) for i in kept)


@mix.gradient
def _(g: NDArray, y: NDArray, x: NDArray, weights: NDArray, *, taps: Taps) -> NDArray:
    return spread(g, weights, taps=taps)


@mix.gradient
def _(g: NDArray, y: NDArray, x: NDArray, weights: NDArray, *, taps: Taps) -> NDArray:
    return match(g, x, taps=taps)


@spread.gradient
def _(g: NDArray, x: NDArray, y: NDArray, weights: NDArray, *, taps: Taps) -> NDArray:
    return mix(g, weights, taps=taps)


@spread.gradient
def _(g: NDArray, x: NDArray, y: NDArray, weights: NDArray, *, taps: Taps) -> NDArray:
    return match(y, g, taps=taps)


@match.gradient
def _(g: NDArray, weights: NDArray, y: NDArray, x: NDArray, *, taps: Taps) -> NDArray:
    return mix(x, g, taps=taps)


@match.gradient
def _(g: NDArray, weights: NDArray, y: NDArray, x: NDArray, *, taps: Taps) -> NDArray:
    return spread(y, g, taps=taps)
