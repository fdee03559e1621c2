"""Normalization to mean 0 and variance 1: the operator; over a layer, a channel or a group."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime.base import MXNetError, count
from runtime.core.backend import is_host
from runtime.native import normalization as native
from runtime.ndarray.elementwise import sqrt, square
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import repeating
from runtime.ndarray.reduce.reductions import mean
from runtime.ndarray.shape.reshape import axis_of, reshape
from runtime.ndarray.two_gradients import TwoGradientOperator, constants, widen_half

__all__ = ["GroupNorm", "InstanceNorm", "LayerNorm"]

# Whatever is normalized is seen as three axes, the middle one being that of gamma and beta: (before, channels, after).
# The kinds differ in the axes that mean and variance are taken over.
BATCH, LAYER, INSTANCE = (0, 2), (1,), (2,)
_DOTS = {BATCH: "abc,abc->b", LAYER: "abc,abc->ac", INSTANCE: "abc,abc->ab"}
GAMMA = (1, -1, 1)


LAYER_TASKS, MIN_TASK_ELEMENTS = 16, 1 << 10
"""The most tasks of a layer's rows, and the fewest elements of one. Each sums the gradients of gamma and beta of its
rows, and these are summed in order."""
NORMALIZE_WORK = 4
"""The work of a kernel per element, in additions."""
MIN_RUN_ELEMENTS, MAX_SCATTERED_ELEMENTS = 8, 1 << 12
"""Of shorter runs of contiguous elements under one mean, NumPy is as fast as a kernel, unless there are few elements in
all: then the calls of NumPy's functions take longer."""


def _sum(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.sum(axis=axes, keepdims=True)


def _dot(x: np.ndarray, y: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The sum of x y over `axes`, which stay with length 1."""
    if not is_host(x):  # where einsum would turn both about in memory
        return _sum(x * y, axes)
    return np.einsum(_DOTS[axes], x, y).reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[a] for a in axes)


class _Kernels(NamedTuple):
    """How kernels normalize one layout."""

    forward: LoopKernel
    backward: LoopKernel
    tasks: int
    numbers: tuple[int, int, int]  # the last arguments of both
    statistics: tuple[int, ...]  # the shape of mean and variance together
    parts: tuple[int, ...]  # that of the parts of the tasks in the gradients of gamma and beta


@functools.lru_cache(maxsize=1024)
def _kernels(view: tuple[int, int, int], axes: tuple[int, ...]) -> _Kernels | None:
    """None where there is nothing, or NumPy is as good, as each mean is taken over elements that lie apart."""
    before, channels, size = view
    elements, run = before * channels * size, channels if axes == LAYER else size
    if not elements or (run < MIN_RUN_ELEMENTS and elements > MAX_SCATTERED_ELEMENTS) or (axes == LAYER and size > 1):
        return None
    statistics = (2, *(1 if i in axes else n for i, n in enumerate(view)))
    if axes == LAYER:
        share = max(-(-before // LAYER_TASKS), min(before, -(-MIN_TASK_ELEMENTS // channels)))
        tasks, numbers, parts = -(-before // share), (before, channels, share), (channels,)
        return _Kernels(native.layers, native.layers_back, tasks, numbers, statistics, (2, tasks, *parts))
    tasks, together = (channels, before) if axes == BATCH else (before * channels, 1)
    return _Kernels(native.planes, native.planes_back, tasks, (channels, together, size), statistics, (2, tasks))


def in_kernel(x: np.ndarray) -> bool:
    return x.dtype.char in "fd" and type(x) is np.ndarray


def normalize(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, view: tuple[int, ...], axes: tuple[int, ...], eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(x - mean)/sqrt(var + eps) gamma + beta`; and mean and variance, the reduced axes having length 1."""
    if x.dtype.itemsize == 2:
        wide = widen_half(x), widen_half(gamma), widen_half(beta)
        y, mu, var = normalize(*wide, view=view, axes=axes, eps=eps)
        return y.astype(x.dtype), mu, var
    kernels = _kernels(view, axes)
    if kernels is None or not in_kernel(x):
        y, mu, var = _normalize_in_numpy(x.reshape(view), gamma, beta, axes, eps)
        return y.reshape(x.shape), mu, var
    dtype = x.dtype
    y, (mu, var) = np.empty(x.shape, dtype), np.empty(kernels.statistics, dtype)
    arrays = x, gamma, beta, y, mu, var, constants(dtype, eps)
    kernels.forward(kernels.tasks, NORMALIZE_WORK * x.size, *arrays, *kernels.numbers, scratch=native.SCRATCH)
    return y, mu, var


def _normalize_in_numpy(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, axes: tuple[int, ...], eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = _count(x.shape, axes)
    mu = _sum(x, axes)
    mu /= n
    y = x - mu
    var = _dot(y, y, axes)
    var /= n
    y *= 1 / np.sqrt(var + y.dtype.type(eps))
    y *= gamma.reshape(GAMMA)
    y += beta.reshape(GAMMA)
    return y, mu, var


def normalize_back(
    g: tuple, y: tuple, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, view: Any, axes: Any, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What flows into x, gamma and beta; that into mean and variance is ignored."""
    if x.dtype.itemsize == 2:
        wide = widen_half(x), widen_half(gamma), widen_half(beta)
        dx, dgamma, dbeta = normalize_back((widen_half(g[0]),), y, *wide, view=view, axes=axes, eps=eps)
        return dx.astype(x.dtype), dgamma.astype(gamma.dtype), dbeta.astype(beta.dtype)
    dy, (_, mu, var) = g[0], y
    kernels = _kernels(view, axes)
    if kernels is None or not in_kernel(x):
        dx, dgamma, dbeta = _flow_in_numpy(dy.reshape(view), x.reshape(view), gamma, mu, var, axes, eps)
        return dx.reshape(x.shape), dgamma.reshape(gamma.shape), dbeta.reshape(beta.shape)
    dx, parts = np.empty(x.shape, x.dtype), np.empty(kernels.parts, x.dtype)
    arrays = dy, x, gamma, mu, var, constants(x.dtype, eps), dx, parts[0], parts[1]
    kernels.backward(kernels.tasks, NORMALIZE_WORK * x.size, *arrays, *kernels.numbers, scratch=native.SCRATCH)
    dgamma, dbeta = parts.reshape(2, -1) if parts.size == 2 * view[1] else _sum_of_tasks(parts, view[1])
    return dx, dgamma, dbeta


def _sum_of_tasks(parts: np.ndarray, channels: int) -> np.ndarray:
    return np.add.reduce(parts.reshape(2, -1, channels), 1)


def _flow_in_numpy(
    dy: np.ndarray, x: np.ndarray, gamma: np.ndarray, mu: np.ndarray, var: np.ndarray, axes: tuple[int, ...], eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = _count(x.shape, axes)
    scale = gamma.reshape(GAMMA)
    rate = 1 / np.sqrt(var + var.dtype.type(eps))
    xhat = x - mu
    xhat *= rate
    dgamma, dbeta = _dot(dy, xhat, BATCH), _sum(dy, BATCH)
    if axes == BATCH:  # gamma is the same wherever a mean is taken over: it is a factor of the whole
        along, across = dgamma / n, dbeta / n
        rate = rate * scale
    else:
        dy = dy * scale
        along, across = _dot(dy, xhat, axes) / n, _sum(dy, axes) / n
    xhat *= along
    xhat += across
    dx = np.subtract(dy, xhat, out=xhat)
    dx *= rate
    return dx, dgamma, dbeta


def normalize_in_operators(x: NDArray, gamma: NDArray, beta: NDArray, *, view: Any, axes: Any, eps: float) -> NDArray:
    """The first output, to be differentiated again."""

    def part(a: NDArray, shape: tuple[int, ...]) -> NDArray:
        return reshape(a.astype("float32") if a._data.dtype.itemsize == 2 else a, shape)

    centered = part(x, view)
    centered = centered - mean(centered, axis=axes, keepdims=True)
    rate = 1 / sqrt(mean(square(centered), axis=axes, keepdims=True) + eps)
    y = centered * rate * part(gamma, GAMMA) + part(beta, GAMMA)
    return reshape(y, x.shape).astype(x.dtype, copy=False)


_normalize = repeating(TwoGradientOperator(normalize))
_normalize.backward(normalize_back)
_normalize.again(normalize_in_operators)


# ---------------------------------------------------------------- of layers, channels, groups


def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> NDArray | list[NDArray]:
    """`(x - mean)/sqrt(var + eps) gamma + beta`, mean and variance being taken along `axis`.

    `gamma` and `beta` have the length of that axis. With `output_mean_var`, a list: the result, the means and the
    standard deviations, in the shape of `data` with length 1 on `axis`.
    """
    shape = data._data.shape
    axis = axis_of("LayerNorm", shape, axis)
    check_scale("LayerNorm", data, gamma, beta, shape[axis], f"the length of axis {axis}")
    outputs = _normalize(data, gamma, beta, view=around(shape, axis), axes=LAYER, eps=eps)
    if not output_mean_var:
        return outputs[0]
    return _with_statistics(outputs, (*shape[:axis], 1, *shape[axis + 1 :]), eps)


def InstanceNorm(data: NDArray, gamma: NDArray, beta: NDArray, eps: float = 1e-3) -> NDArray:
    """`(x - mean)/sqrt(var + eps) gamma + beta`, mean and variance being taken over each channel of each sample.

    `data` is (batch, channels, ...), `gamma` and `beta` are (channels,).
    """
    if data.ndim < 3:
        raise MXNetError(f"InstanceNorm: data must be (batch, channels, ...), not of shape {data.shape}")
    check_scale("InstanceNorm", data, gamma, beta, data.shape[1], "the number of channels")
    return _normalize(data, gamma, beta, view=around(data.shape, 1), axes=INSTANCE, eps=eps)[0]


def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> NDArray | list[NDArray]:
    """`(x - mean)/sqrt(var + eps) gamma + beta`, mean and variance being taken over each group of channels of a sample.

    `data` is (batch, channels, ...), and channels a multiple of `num_groups`; `gamma` and `beta` are (num_groups,).
    With `output_mean_var`, a list: the result, the means and the standard deviations, (batch, num_groups).
    """
    num_groups = count("GroupNorm: num_groups", num_groups)
    if data.ndim < 3 or data.shape[1] % num_groups:
        raise MXNetError(
            f"GroupNorm: data of shape {data.shape} is not (batch, channels, ...) with channels in {num_groups} groups"
        )
    check_scale("GroupNorm", data, gamma, beta, num_groups, "num_groups")
    view = (data.shape[0], num_groups, data.size // (data.shape[0] * num_groups))
    outputs = _normalize(data, gamma, beta, view=view, axes=INSTANCE, eps=eps)
    return _with_statistics(outputs, view[:2], eps) if output_mean_var else outputs[0]


def _with_statistics(outputs: list[NDArray], shape: tuple[int, ...], eps: float) -> list[NDArray]:
    """The result, and means and standard deviations, which pass no gradient on."""
    y, mu, var = outputs
    return [y, reshape(mu.detach(), shape), reshape(sqrt(var.detach() + eps), shape)]


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """`shape` with the axes before `axis`, and those behind, put together."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def check_scale(name: str, data: NDArray, gamma: NDArray, beta: NDArray, length: int, what: str) -> None:
    wanted, scale, shift = data._data.dtype, gamma._data, beta._data
    if scale.shape == shift.shape == (length,) and scale.dtype == shift.dtype == wanted:
        return
    if gamma.shape != (length,) or beta.shape != (length,):
        raise MXNetError(
            f"{name}: for data of shape {data.shape}, gamma and beta must have shape ({length},), {what}, not "
            f"{gamma.shape} and {beta.shape}"
        )
    for key, x in (("gamma", gamma), ("beta", beta)):
        if x._data.dtype != wanted and not (wanted.itemsize == 2 and x._data.dtype == np.float32):
            raise MXNetError(f"{name}: data is {wanted}, but {key} is {x._data.dtype}; convert one with astype()")
