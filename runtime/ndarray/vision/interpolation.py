"""Weighted sums of chosen elements of images, which interpolation and regions of interest are made of.

Each point of the result sums its *sources*, elements of one image, times their weights. The three operators are linear
in each of their arrays, and each other's gradients, so all can be differentiated any number of times.
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


class Sources(NamedTuple):
    """Which elements of the images each point of the result sums.

    Points come in groups, all of one size. The points of a group read one image, in all its channels.
    """

    images: np.ndarray
    """(groups,), the image of each."""
    starts: np.ndarray
    """(groups*points + 1,): the sources of a point are those from its start to the next."""
    places: np.ndarray
    """(sources,), counted from the first element of the channel; on a GPU if the images are there, or on the CPU."""
    shape: tuple[int, ...]
    """Of the images: (batch, channels, height, width)."""
    kernel_params: np.ndarray
    """Lengths and steps, as the kernels of `native.regions` index them."""

    @property
    def output(self) -> tuple[int, int, int]:
        """Groups, channels and points of the result."""
        return tuple(self.kernel_params[: native.POINTS + 1].tolist())


def sources_of(
    images: np.ndarray, counts: np.ndarray, places: Sequence, shape: tuple[int, ...], sets: int = 1
) -> Sources:
    """The sources of points that have `counts`, (groups, points), of them.

    Each channel of the result reads `sets` channels of the images, which lie side by side: 1, or as many as there are
    points.
    """
    groups, points = counts.shape
    _, channels, height, width = shape
    numbers = [groups, channels // sets, points, channels * height * width, sets * height * width]
    starts = np.concatenate([[0], np.cumsum(counts)])
    whole = (array_module(x).ascontiguousarray(x, np.int64) for x in (images, starts, places))
    return Sources(*whole, shape, np.array(numbers, np.int64))


@Operator
@in_float32
def weighted_sum(x: np.ndarray, weights: np.ndarray, *, sources: Sources) -> np.ndarray:
    """(groups, channels, points): the sums of the elements at the sources, times `weights`, (sources,)."""
    if not is_host(x):
        y = np.zeros_like(x, shape=sources.output)
        seen, kept = _ends(x, sources)
        add_at(_lines(y, sources), kept, _lines(x, sources)[seen] * weights[:, None])
        return y
    y = np.empty(sources.output, x.dtype)
    groups, channels, _ = sources.output
    native.mix(groups * -(-channels // 4), channels * weights.size, x, weights, y, *sources[:3], sources.kernel_params)
    return y


@Operator
@in_float32
def scatter_weighted(y: np.ndarray, weights: np.ndarray, *, sources: Sources) -> np.ndarray:
    """Zeros in the shape of the images, with `weights` times `y` added at the sources."""
    if not is_host(y):
        x = np.zeros_like(y, shape=sources.shape)
        seen, kept = _ends(x, sources)
        add_at(_lines(x, sources), seen, _lines(y, sources)[kept] * weights[:, None])
        return x
    x = np.zeros(sources.shape, y.dtype)
    _, channels, _ = sources.output
    native.spread(channels, channels * weights.size, y, weights, x, *sources[:3], sources.kernel_params)
    return x


@Operator
@in_float32
def weight_gradient(y: np.ndarray, x: np.ndarray, *, sources: Sources) -> np.ndarray:
    """(sources,): the sum over the channels of `y` at the source's point times `x` at its place."""
    if not is_host(x):
        seen, kept = _ends(x, sources)
        return (_lines(x, sources)[seen] * _lines(y, sources)[kept]).sum(axis=1)
    weights = np.zeros(sources.places.shape, y.dtype)
    groups, channels, _ = sources.output
    native.match(groups, channels * weights.size, y, x, weights, *sources[:3], sources.kernel_params)
    return weights


def _lines(x: np.ndarray, sources: Sources) -> np.ndarray:
    """Images, or results, as (images or groups, elements, channels): a view of arrays that are contiguous."""
    channels = sources.output[1]
    return x.reshape(len(x), channels, math.prod(x.shape[1:]) // channels).swapaxes(1, 2)


def _ends(x: np.ndarray, sources: Sources) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """On the device of x, what each source joins: image and place, group and point; they choose rows of `_lines`."""
    group, point = np.divmod(np.repeat(np.arange(len(sources.starts) - 1), np.diff(sources.starts)), sources.output[2])
    seen, kept = (sources.images[group], sources.places), (group, point)
    return tuple(to_device_of(x, i) for i in seen), tuple(to_device_of(x, i) for i in kept)


@weighted_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, weights: NDArray, *, sources: Sources) -> NDArray:
    return scatter_weighted(g, weights, sources=sources)


@weighted_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, weights: NDArray, *, sources: Sources) -> NDArray:
    return weight_gradient(g, x, sources=sources)


@scatter_weighted.gradient
def _(g: NDArray, x: NDArray, y: NDArray, weights: NDArray, *, sources: Sources) -> NDArray:
    return weighted_sum(g, weights, sources=sources)


@scatter_weighted.gradient
def _(g: NDArray, x: NDArray, y: NDArray, weights: NDArray, *, sources: Sources) -> NDArray:
    return weight_gradient(y, g, sources=sources)


@weight_gradient.gradient
def _(g: NDArray, weights: NDArray, y: NDArray, x: NDArray, *, sources: Sources) -> NDArray:
    return weighted_sum(x, g, sources=sources)


@weight_gradient.gradient
def _(g: NDArray, weights: NDArray, y: NDArray, x: NDArray, *, sources: Sources) -> NDArray:
    return scatter_weighted(y, g, sources=sources)
