"""Pooling over windows, with one to three spatial axes.

Sums and means are linear: each is the gradient of its transpose. The position of a maximum does not depend on the
gradient. So all can be differentiated any number of times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.base import MXNetError, did_you_mean, numeric_types
from runtime.core.backend import is_host, to_device_of
from runtime.core.kept import of_sizes
from runtime.native import pooling as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn import gpu_windows
from runtime.ndarray.nn.windows import LAYOUTS, Shape, Window, floating, per_axis
from runtime.ndarray.operator import Operator, in_float32, repeating
from runtime.ndarray.shape.reshape import transpose
from runtime.ndarray.two_gradients import DirectOperator

__all__ = ["Pooling"]

# ---------------------------------------------------------------- windows over a plane


class Pool(NamedTuple):
    """The windows over a plane, with one number per spatial axis.

    `mean` is 0 for sums, 1 for means over the elements in the plane, 2 for means over the padding, too.
    """

    kernel: Shape
    stride: Shape
    pad: Shape
    outputs: Shape
    mean: int

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, self.pad, (1,) * len(self.kernel))


class Geometry(NamedTuple):
    """The sizes of one pooling, as the kernels of `native.pooling` take them."""

    kernel_params: np.ndarray  # lengths and steps, as the kernels index them
    scale: np.ndarray  # for each window, what its sum is multiplied with
    scratch: int
    squares: bool  # whether windows are adjacent, of 2 by 2 pixels, and in the plane


@functools.lru_cache(maxsize=1024)
@of_sizes
def _geometry(plane: Shape, pool: Pool, dtype: np.dtype) -> Geometry:
    ones, zeros = (1,) * (3 - len(plane)), (0,) * (3 - len(plane))
    numbers = [*ones, *plane, *ones, *pool.outputs, *ones, *pool.kernel, *ones, *pool.stride, *zeros, *pool.pad]
    height, width = (1, *plane)[-2:]
    numbers += np.tensordot((height * width, width, 1), np.indices((*ones, *pool.kernel)), 1).ravel().tolist()
    scale = np.ones(pool.outputs, np.float64)
    for axis, (n, k, s, p, out) in enumerate(zip(plane, pool.kernel, pool.stride, pool.pad, pool.outputs, strict=True)):
        start = np.arange(out) * s - p
        padded = np.minimum(start + k, n + p) - start
        inside = np.minimum(start + k, n) - np.maximum(start, 0)
        count = np.maximum((inside, padded)[pool.mean - 1], 1) if pool.mean else np.ones(out)
        scale /= count.reshape([-1 if a == axis else 1 for a in range(len(plane))])
    squares = pool[:3] == ((2, 2), (2, 2), (0, 0))
    squares = squares and all(2 * o <= n for o, n in zip(pool.outputs, plane, strict=True))
    return Geometry(np.array(numbers, np.int64), scale.astype(dtype), plane[-1] + pool.outputs[-1], squares)


def _planes(x: np.ndarray) -> int:
    return x.shape[0] * x.shape[1]


# ---------------------------------------------------------------- operators


@repeating
@DirectOperator
@in_float32
def _pool_max(x: np.ndarray, *, pool: Pool) -> np.ndarray:
    if not is_host(x):
        return gpu_windows.pool_max(x, pool.window, pool.outputs)
    g = _geometry(x.shape[2:], pool, x.dtype)
    y = np.empty((*x.shape[:2], *pool.outputs), x.dtype)
    if g.squares:
        native.pool_squares(_planes(x), x.size, x, y, g.kernel_params)
    else:
        native.pool_max(_planes(x), x.size, x, y, g.kernel_params, scratch=g.scratch)
    return y


@repeating
@Operator
@in_float32
def _unpool_max(y: np.ndarray, x: np.ndarray, *, pool: Pool) -> np.ndarray:
    if not is_host(x):
        return gpu_windows.unpool_max(y, x, pool.window)
    g = _geometry(x.shape[2:], pool, x.dtype)
    to = np.empty(x.shape, x.dtype)
    if g.squares:
        native.unpool_squares(_planes(x), 4 * x.size, y, x, to, g.kernel_params)
    else:
        native.unpool_max(_planes(x), 4 * x.size, y, x, to, g.kernel_params, scratch=2 * g.scratch)
    return to


@repeating
@Operator
@in_float32
def _gather_max(of: np.ndarray, x: np.ndarray, *, pool: Pool) -> np.ndarray:
    if not is_host(x):
        return gpu_windows.gather_max(of, x, pool.window, pool.outputs)
    g = _geometry(x.shape[2:], pool, x.dtype)
    y = np.empty((*x.shape[:2], *pool.outputs), x.dtype)
    native.gather_max(_planes(x), 4 * x.size, of, x, y, g.kernel_params)
    return y


@_pool_max.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, pool: Pool) -> tuple[np.ndarray]:
    return (_unpool_max.forward(g, x, pool=pool),)


@_pool_max.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, pool: Pool) -> NDArray:
    return _unpool_max(g, x, pool=pool)


@_unpool_max.gradient
def _(g: NDArray, to: NDArray, y: NDArray, x: NDArray, *, pool: Pool) -> NDArray:
    return _gather_max(g, x, pool=pool)


@_gather_max.gradient
def _(g: NDArray, y: NDArray, of: NDArray, x: NDArray, *, pool: Pool) -> NDArray:
    return _unpool_max(g, x, pool=pool)


@repeating
@Operator
@in_float32
def _pool_sum(x: np.ndarray, *, pool: Pool) -> np.ndarray:
    g = _geometry(x.shape[2:], pool, x.dtype)
    if not is_host(x):
        return gpu_windows.pool_sum(x, to_device_of(x, g.scale), pool.window, pool.outputs)
    y = np.empty((*x.shape[:2], *pool.outputs), x.dtype)
    native.pool_sum(_planes(x), x.size, x, g.scale, y, g.kernel_params, scratch=g.scratch)
    return y


@repeating
@Operator
@in_float32
def unpool_sum(y: np.ndarray, *, pool: Pool, plane: Shape) -> np.ndarray:
    """The transpose of `_pool_sum`: (n, channels, *plane), to whose elements the values of their windows are added."""
    g = _geometry(plane, pool, y.dtype)
    if not is_host(y):
        return gpu_windows.unpool_sum(y, to_device_of(y, g.scale), pool.window, plane)
    x = np.empty((*y.shape[:2], *plane), y.dtype)
    native.unpool_sum(_planes(y), x.size, y, g.scale, x, g.kernel_params, scratch=g.scratch)
    return x


@_pool_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, pool: Pool) -> NDArray:
    return unpool_sum(g, pool=pool, plane=x.shape[2:])


@unpool_sum.gradient
def _(g: NDArray, x: NDArray, y: NDArray, *, pool: Pool, plane: Shape) -> NDArray:
    return _pool_sum(g, pool=pool)


@Operator
@in_float32
def _root(x: np.ndarray, *, p: int) -> np.ndarray:
    """The square root, or the cubic one."""
    return np.sqrt(x) if p == 2 else np.cbrt(x)


@_root.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, p: int) -> NDArray:
    """At 0, where there is none: 0."""
    return g * (y != 0) / (p * (y + (y == 0)) ** (p - 1))


# ---------------------------------------------------------------- the layer

_TYPES = ("max", "avg", "sum", "lp")
_CONVENTIONS = ("valid", "full", "same")


def Pooling(
    data: NDArray,
    kernel: Sequence[int] = (),
    pool_type: str = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = "valid",
    stride: Sequence[int] = (),
    pad: Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
) -> NDArray:
    """One value for each window of each channel: its maximum, mean ('avg'), sum, or `(sum of x^p)^(1/p)` ('lp').

    `data` is (batch, channels, [[depth,] height,] width), or, by `layout`, has the channels last. Along an axis of
    length n there are (n + 2 pad - kernel)/stride + 1 windows, rounded down ('valid') or up ('full'), or
    n/stride, rounded up ('same', for maxima without padding); `stride` is 1 where it is not given. Of more strides or
    pads than there are axes the first count. A mean is over all elements of the window, those of the padding among them
    unless `count_include_pad` is False. `global_pool` makes the whole plane the window. `p_value` is 1, 2 or 3.
    `cudnn_off` does nothing here.
    """
    _check_arguments(data, pool_type, pooling_convention, p_value)
    floating("Pooling", data)
    axes = data.ndim - 2
    if layout == LAYOUTS[axes]:
        layout = None
    if layout is not None:
        if layout != f"N{LAYOUTS[axes][2:]}C":
            raise MXNetError(f"Pooling: layout '{layout}' does not fit data of shape {data.shape}")
        data = transpose(data, (0, axes + 1, *range(1, axes + 1)))
    y = _pooled(
        data,
        pool_type,
        p_value,
        _pool(data, kernel, pool_type, global_pool, pooling_convention, stride, pad, count_include_pad),
    )
    return y if layout is None else transpose(y, (0, *range(2, axes + 2), 1))


def _pooled(data: NDArray, pool_type: str, p: int | None, pool: Pool) -> NDArray:
    if pool_type == "max":
        return _pool_max(data, pool=pool)
    if pool_type != "lp" or p == 1:
        return _pool_sum(data, pool=pool)
    return _root(_pool_sum(data**p, pool=pool), p=p)


def _pool(
    data: NDArray,
    kernel: Sequence[int],
    pool_type: str,
    global_pool: bool,
    convention: str,
    stride: Sequence[int],
    pad: Sequence[int],
    count_include_pad: bool | None,
) -> Pool:
    """The windows over `data`; MXNetError where they do not fit."""
    plane = data.shape[2:]
    axes = len(plane)
    mean = 0 if pool_type != "avg" else 1 if count_include_pad is False else 2
    if global_pool:
        return Pool(plane, (1,) * axes, (0,) * axes, (1,) * axes, mean)
    kernel = per_axis("Pooling", "kernel", kernel, axes, None)
    stride = per_axis("Pooling", "stride", _leading(stride, axes), axes, 1)
    pad = per_axis("Pooling", "pad", _leading(pad, axes), axes, 0)
    if convention == "same" and any(pad):
        raise MXNetError(f"Pooling: pooling_convention 'same' has no padding of its own, but pad is {pad}")
    return _fitted(data.shape, kernel, stride, pad, convention, mean)


def _leading(given: Sequence[int], axes: int) -> Sequence[int]:
    """The first `axes` of the numbers, as MXNet reads them."""
    return given if isinstance(given, numeric_types) else tuple(given or ())[:axes]


@functools.lru_cache(maxsize=1024)
def _fitted(shape: Shape, kernel: Shape, stride: Shape, pad: Shape, convention: str, mean: int) -> Pool:
    plane = shape[2:]
    for n, k, p in zip(plane, kernel, pad, strict=True):
        if k > n + 2 * p:
            raise MXNetError(f"Pooling: a kernel of {kernel} exceeds data of shape {shape} padded by {pad}")
    if convention == "same":
        outputs = tuple(math.ceil(n / s) for n, s in zip(plane, stride, strict=True))
    else:
        rounded = math.ceil if convention == "full" else math.floor
        sizes = zip(plane, kernel, stride, pad, strict=True)
        outputs = tuple(rounded((n + 2 * p - k) / s) + 1 for n, k, s, p in sizes)
    return Pool(kernel, stride, pad, outputs, mean)


def _check_arguments(data: NDArray, pool_type: str, convention: str, p: int | None) -> None:
    if data.ndim not in (3, 4, 5):
        raise MXNetError(
            f"Pooling: data must have 3 to 5 axes, batch and channels first, but its shape is {data.shape}"
        )
    if pool_type not in _TYPES:
        raise MXNetError(f"Pooling: unknown pool_type '{pool_type}'{did_you_mean(str(pool_type), _TYPES)}")
    if convention not in _CONVENTIONS:
        raise MXNetError(
            f"Pooling: unknown pooling_convention '{convention}'{did_you_mean(str(convention), _CONVENTIONS)}"
        )
    if convention == "same" and pool_type != "max":
        raise MXNetError(f"Pooling: pooling_convention 'same' is for pool_type 'max', not '{pool_type}'")
    if pool_type == "lp" and p not in (1, 2, 3):
        raise MXNetError(f"Pooling: pool_type 'lp' needs p_value 1, 2 or 3, not {p}")
