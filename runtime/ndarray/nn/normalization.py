"""Normalization to mean 0 and variance 1, over a batch, a layer, a channel or a group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError, count
from runtime.core.backend import device_scope, is_host
from runtime.native import normalization as native
from runtime.ndarray.elementwise import ones_like, sqrt, square
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.activation import relu
from runtime.ndarray.operator import Operator
from runtime.ndarray.reduce.reductions import mean
from runtime.ndarray.reduce.reductions import sum as sum_
from runtime.ndarray.shape.reshape import axis_of, reshape
from runtime.ndarray.two_gradients import TwoGradientOperator, widen_half

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm"]
CONTRIB = ("BatchNormWithReLU",)

# Whatever is normalized is seen as three axes, the middle one being that of gamma and beta: (before, channels, after).
# The kinds differ in the axes that mean and variance are taken over.
BATCH, LAYER, INSTANCE = (0, 2), (1,), (2,)
_DOTS = {BATCH: "abc,abc->b", LAYER: "abc,abc->ac", INSTANCE: "abc,abc->ab"}
_GAMMA = (1, -1, 1)


LAYER_TASKS = 16
"""Tasks of a layer's rows. Each sums the gradients of gamma and beta of its rows, and these are summed in order."""
NORMALIZE_WORK = 4
"""The work of a kernel per element, in additions."""
MIN_RUN_ELEMENTS = 8
"""The fewest contiguous elements under one mean for which a kernel is faster than NumPy."""


def _sum(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.sum(axis=axes, keepdims=True)


def _dot(x: np.ndarray, y: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The sum of x y over `axes`, which stay with length 1."""
    if not is_host(x):  # where einsum would turn both about in memory
        return _sum(x * y, axes)
    return np.einsum(_DOTS[axes], x, y).reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[a] for a in axes)


def _compiled(view: tuple[int, int, int], axes: tuple[int, ...]) -> tuple[Any, Any, int, tuple[int, int, int]] | None:
    """The kernels for this layout, there and back, how many tasks they have, and the last three arguments.

    None: NumPy is as good, as each mean is taken over elements that lie apart.
    """
    before, channels, size = view
    if axes == LAYER:
        if size > 1 or channels < MIN_RUN_ELEMENTS:
            return None
        share = -(-before // LAYER_TASKS) or 1
        return native.layers, native.layers_back, -(-before // share), (before, channels, share)
    if size < MIN_RUN_ELEMENTS:
        return None
    tasks, together = (channels, before) if axes == BATCH else (before * channels, 1)
    return native.planes, native.planes_back, tasks, (channels, together, size)


def _normalize_forward(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, view: tuple[int, ...], axes: tuple[int, ...], eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(x - mean)/sqrt(var + eps) gamma + beta`; and mean and variance, the reduced axes having length 1."""
    values = widen_half(x).reshape(view)
    compiled = _compiled(view, axes)
    if compiled and values.dtype.char in "fd" and is_host(values):
        run, _, tasks, numbers = compiled
        y = np.empty_like(values)
        mu, var = np.empty((2, *(1 if i in axes else n for i, n in enumerate(view))), y.dtype)
        rest = widen_half(gamma), widen_half(beta), y, mu, var, np.array([eps], y.dtype)
        run(tasks, NORMALIZE_WORK * x.size, values, *rest, *numbers, scratch=native.SCRATCH)
    else:
        y, mu, var = _normalize_in_numpy(values, gamma, beta, axes, eps)
    return y.reshape(x.shape).astype(x.dtype, copy=False), mu, var


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
    y *= gamma.reshape(_GAMMA)
    y += beta.reshape(_GAMMA)
    return y, mu, var


def _normalize_backward(
    g: tuple, y: tuple, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, view: Any, axes: Any, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What flows into x, gamma and beta; that into mean and variance is ignored."""
    dy, values, (_, mu, var) = widen_half(g[0]).reshape(view), widen_half(x).reshape(view), y
    compiled = _compiled(view, axes)
    if compiled and values.dtype.char in "fd" and is_host(values):
        _, run, tasks, numbers = compiled
        dx = np.empty_like(values)
        parts = np.empty((2, tasks, view[1]) if axes == LAYER else (2, tasks), dx.dtype)
        rest = widen_half(gamma), mu, var, np.array([eps], dx.dtype), dx, *parts
        run(tasks, NORMALIZE_WORK * x.size, dy, values, *rest, *numbers, scratch=native.SCRATCH)
        dgamma, dbeta = parts if axes == BATCH else np.add.reduce(parts.reshape(2, -1, view[1]), 1)
    else:
        dx, dgamma, dbeta = _flow_in_numpy(dy, values, widen_half(gamma), mu, var, axes, eps)
    return (
        dx.reshape(x.shape).astype(x.dtype, copy=False),
        dgamma.reshape(gamma.shape).astype(gamma.dtype, copy=False),
        dbeta.reshape(beta.shape).astype(beta.dtype, copy=False),
    )


def _flow_in_numpy(
    dy: np.ndarray, x: np.ndarray, gamma: np.ndarray, mu: np.ndarray, var: np.ndarray, axes: tuple[int, ...], eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = _count(x.shape, axes)
    scale = gamma.reshape(_GAMMA)
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


def _normalize_in_operators(x: NDArray, gamma: NDArray, beta: NDArray, *, view: Any, axes: Any, eps: float) -> NDArray:
    """The first output, to be differentiated again."""

    def part(a: NDArray, shape: tuple[int, ...]) -> NDArray:
        return reshape(a.astype("float32") if a._data.dtype.itemsize == 2 else a, shape)

    centered = part(x, view)
    centered = centered - mean(centered, axis=axes, keepdims=True)
    rate = 1 / sqrt(mean(square(centered), axis=axes, keepdims=True) + eps)
    y = centered * rate * part(gamma, _GAMMA) + part(beta, _GAMMA)
    return reshape(y, x.shape).astype(x.dtype, copy=False)


@TwoGradientOperator
def _normalize(*inputs: np.ndarray, **attrs: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _normalize_forward(*inputs, **attrs)


_normalize.backward(_normalize_backward)
_normalize.again(_normalize_in_operators)


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
    axis = axis_of("LayerNorm", data.shape, axis)
    _check_scale("LayerNorm", data, gamma, beta, data.shape[axis], f"the length of axis {axis}")
    outputs = _normalize(data, gamma, beta, view=_around(data, axis), axes=LAYER, eps=eps)
    kept = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    return _with_statistics(outputs, kept, eps) if output_mean_var else outputs[0]


def InstanceNorm(data: NDArray, gamma: NDArray, beta: NDArray, eps: float = 1e-3) -> NDArray:
    """`(x - mean)/sqrt(var + eps) gamma + beta`, mean and variance being taken over each channel of each sample.

    `data` is (batch, channels, ...), `gamma` and `beta` are (channels,).
    """
    if data.ndim < 3:
        raise MXNetError(f"InstanceNorm: data must be (batch, channels, ...), not of shape {data.shape}")
    _check_scale("InstanceNorm", data, gamma, beta, data.shape[1], "the number of channels")
    return _normalize(data, gamma, beta, view=_around(data, 1), axes=INSTANCE, eps=eps)[0]


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
    _check_scale("GroupNorm", data, gamma, beta, num_groups, "num_groups")
    view = (data.shape[0], num_groups, data.size // (data.shape[0] * num_groups))
    outputs = _normalize(data, gamma, beta, view=view, axes=INSTANCE, eps=eps)
    return _with_statistics(outputs, view[:2], eps) if output_mean_var else outputs[0]


def _with_statistics(outputs: list[NDArray], shape: tuple[int, ...], eps: float) -> list[NDArray]:
    """The result, and means and standard deviations, which pass no gradient on."""
    y, mu, var = outputs
    return [y, reshape(mu.detach(), shape), reshape(sqrt(var.detach() + eps), shape)]


def _around(data: NDArray, axis: int) -> tuple[int, int, int]:
    """The shape of `data` with the axes before `axis`, and those behind, put together."""
    return (math.prod(data.shape[:axis]), data.shape[axis], math.prod(data.shape[axis + 1 :]))


def _check_scale(name: str, data: NDArray, gamma: NDArray, beta: NDArray, length: int, what: str) -> None:
    if gamma.shape != (length,) or beta.shape != (length,):
        raise MXNetError(
            f"{name}: for data of shape {data.shape}, gamma and beta must have shape ({length},), {what}, not "
            f"{gamma.shape} and {beta.shape}"
        )
    wanted = data._data.dtype
    for key, x in (("gamma", gamma), ("beta", beta)):
        if x._data.dtype != wanted and not (wanted.itemsize == 2 and x._data.dtype == np.float32):
            raise MXNetError(f"{name}: data is {wanted}, but {key} is {x._data.dtype}; convert one with astype()")


# ---------------------------------------------------------------- of batches


class _BatchNorm(TwoGradientOperator):
    """`moving` are the arrays of running means and variances, which move when a gradient comes back."""

    def pull(self, node: autograd.Node, g: Any) -> Iterator[tuple[Any, NDArray]]:
        attrs = {"moving": node.attrs["moving"], "momentum": node.attrs["momentum"]}
        parts: list[Any] = [autograd.Part(node, 1), autograd.Part(node, 2)]
        with device_scope(node.ctx):
            autograd.effect(_move_averages, list(node.output[1:]), attrs, node.ctx, parts)
        return super().pull(node, g)


@Operator
def _move_averages(mu: np.ndarray, var: np.ndarray, *, moving: tuple[NDArray, NDArray], momentum: float) -> None:
    """`moving = momentum moving + (1 - momentum) batch`, of the mean and of the variance."""
    for running, batch in zip(moving, (mu, var), strict=True):
        running._data *= running._data.dtype.type(momentum)
        running._data += (batch.reshape(-1) * (1 - momentum)).astype(running._data.dtype, copy=False)


@Operator
def _set_to_one(gamma: np.ndarray) -> None:
    gamma.fill(1)


@_BatchNorm
def _batch_norm(
    *inputs: np.ndarray, moving: tuple[NDArray, NDArray], momentum: float, fix_gamma: bool, **attrs: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _normalize_forward(*inputs, **attrs)


@_batch_norm.backward
def _(
    g: tuple, y: tuple, *inputs: np.ndarray, moving: Any, momentum: float, fix_gamma: bool, **attrs: Any
) -> tuple[np.ndarray, ...]:
    dx, dgamma, dbeta = _normalize_backward(g, y, *inputs, **attrs)
    return dx, np.zeros_like(dgamma) if fix_gamma else dgamma, dbeta


@_batch_norm.again
def _(
    x: NDArray, gamma: NDArray, beta: NDArray, *, moving: Any, momentum: float, fix_gamma: bool, **attrs: Any
) -> NDArray:
    return _normalize_in_operators(x, ones_like(gamma) if fix_gamma else gamma, beta, **attrs)


@Operator
def _scale_and_shift(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mu: np.ndarray, var: np.ndarray, *, view: Any, eps: float
) -> np.ndarray:
    """`(x - mu)/sqrt(var + eps) gamma + beta`, where mu and var are constants."""
    scale = gamma / np.sqrt(var + var.dtype.type(eps))
    y = widen_half(x).reshape(view) * scale.reshape(_GAMMA)
    y += (beta - mu * scale).reshape(_GAMMA)
    return y.reshape(x.shape).astype(x.dtype, copy=False)


def _rate(var: NDArray, eps: float) -> NDArray:
    return 1 / sqrt(var + eps)


@_scale_and_shift.gradient
def _(g: NDArray, y: NDArray, *inputs: NDArray, view: Any, eps: float) -> NDArray:
    x, gamma, _, _, var = inputs
    scale = (gamma * _rate(var, eps)).astype(g.dtype, copy=False)
    return reshape(reshape(g, view) * reshape(scale, _GAMMA), x.shape)


@_scale_and_shift.gradient
def _(g: NDArray, y: NDArray, *inputs: NDArray, view: Any, eps: float) -> NDArray:
    x, gamma, _, mu, var = inputs
    flow, centered = reshape(g, view), reshape(x, view).astype(mu.dtype, copy=False) - reshape(mu, _GAMMA)
    along = sum_(flow.astype(mu.dtype, copy=False) * centered, axis=BATCH)
    return (along * _rate(var, eps)).astype(gamma.dtype, copy=False)


@_scale_and_shift.gradient
def _(g: NDArray, y: NDArray, *inputs: NDArray, view: Any, eps: float) -> NDArray:
    beta = inputs[2]
    return sum_(reshape(g, view).astype(beta.dtype, copy=False), axis=BATCH)


def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
) -> NDArray | list[NDArray]:
    """`(x - mean)/sqrt(var + eps) gamma + beta` for each channel; channels lie along `axis`.

    In training, mean and (biased) variance are those of the batch, and `moving_mean` and `moving_var` take a step
    towards them, `moving = momentum moving + (1 - momentum) batch`, when `backward` comes by. Otherwise, and with
    `use_global_stats`, they are `moving_mean` and `moving_var`.

    Parameters
    ----------
    gamma, beta, moving_mean, moving_var: (channels,), of the type of `data`, or float32 where that has 16 bits.
    fix_gamma: set `gamma` to 1, and give it no gradient.
    output_mean_var: return a list: the result, means, and 1/sqrt(var + eps).
    cudnn_off: accepted for code that says so; there is nothing to switch off.
    """
    axis = axis_of("BatchNorm", data.shape, axis)
    channels = data.shape[axis]
    _check_scale("BatchNorm", data, gamma, beta, channels, f"the length of axis {axis}")
    if moving_mean.shape != (channels,) or moving_var.shape != (channels,):
        raise MXNetError(
            f"BatchNorm: for data of shape {data.shape}, moving_mean and moving_var must have shape ({channels},), not "
            f"{moving_mean.shape} and {moving_var.shape}"
        )
    if fix_gamma:
        with device_scope(gamma._ctx):
            autograd.effect(_set_to_one, [gamma._data], {}, gamma._ctx, [gamma._node])
    view = _around(data, axis)
    if use_global_stats or not autograd.is_training():
        scale = gamma.detach() if fix_gamma else gamma
        y = _scale_and_shift(data, scale, beta, moving_mean, moving_var, view=view, eps=eps)
        return [y, moving_mean.copy(), _rate(moving_var.detach(), eps)] if output_mean_var else y
    moving = (moving_mean, moving_var)
    y, mu, var = _batch_norm(
        data, gamma, beta, view=view, axes=BATCH, eps=eps, fix_gamma=fix_gamma, moving=moving, momentum=momentum
    )
    if output_mean_var:
        return [y, reshape(mu.detach(), (channels,)), reshape(_rate(var.detach(), eps), (channels,))]
    return y


def BatchNormWithReLU(*args: Any, **kwargs: Any) -> NDArray:
    """`relu` of `BatchNorm` with these arguments, without `output_mean_var`."""
    return relu(BatchNorm(*args, **kwargs))
