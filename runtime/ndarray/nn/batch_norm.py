"""Normalization of each channel over a batch, whose means and variances are kept for prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.core.backend import device_scope
from runtime.native import normalization as native
from runtime.ndarray.elementwise import ones_like, sqrt
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.activation import relu
from runtime.ndarray.nn.normalization import (
    BATCH,
    GAMMA,
    around,
    check_scale,
    in_kernel,
    normalize,
    normalize_back,
    normalize_in_operators,
)
from runtime.ndarray.operator import Operator, repeating
from runtime.ndarray.reduce.reductions import sum as sum_
from runtime.ndarray.shape.reshape import axis_of, reshape
from runtime.ndarray.two_gradients import TwoGradientOperator, constants, widen_half

__all__ = ["BatchNorm"]
CONTRIB = ("BatchNormWithReLU",)

TASK_ELEMENTS = 1 << 14
"""Elements of a task, about, where mean and variance are given."""


class _BatchNorm(TwoGradientOperator):
    """`moving` are the arrays of running means and variances, which move when a gradient comes back."""

    def pull(self, node: autograd.Node, g: Any) -> Iterator[tuple[Any, NDArray]]:
        attrs = {"moving": node.attrs["moving"], "momentum": node.attrs["momentum"]}
        _, mu, var = node.output
        if autograd.mode.trace is None and node.ctx.on_cpu:
            _move_averages.forward(mu, var, **attrs)
        else:
            with device_scope(node.ctx):
                parts = [autograd.Part(node, 1), autograd.Part(node, 2)]
                autograd.effect(_move_averages, [mu, var], attrs, node.ctx, parts)
        return super().pull(node, g)


@Operator
def _move_averages(mu: np.ndarray, var: np.ndarray, *, moving: tuple[NDArray, NDArray], momentum: float) -> None:
    """Each of `moving` becomes `momentum moving + (1 - momentum) batch`."""
    mean, variance = moving[0]._data, moving[1]._data
    if in_kernel(mean) and mean.dtype == variance.dtype == mu.dtype:
        rates = constants(mean.dtype, momentum, 1 - momentum)
        native.move(1, 2 * mean.size, mean, mu, variance, var, rates, mean.size)
        return
    for running, batch in ((mean, mu), (variance, var)):
        running *= running.dtype.type(momentum)
        running += (batch.reshape(-1) * (1 - momentum)).astype(running.dtype, copy=False)


@Operator
def _set_to_one(gamma: np.ndarray) -> None:
    gamma.fill(1)


@repeating
@_BatchNorm
def _batch_norm(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *,
    moving: tuple[NDArray, NDArray], momentum: float, fix_gamma: bool, view: Any, axes: Any, eps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    return normalize(x, gamma, beta, view=view, axes=axes, eps=eps)


@_batch_norm.backward
def _(
    g: tuple, y: tuple, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *,
    moving: Any, momentum: float, fix_gamma: bool, view: Any, axes: Any, eps: float,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    dx, dgamma, dbeta = normalize_back(g, y, x, gamma, beta, view=view, axes=axes, eps=eps)
    return dx, np.zeros_like(dgamma) if fix_gamma else dgamma, dbeta


@_batch_norm.again
def _(
    x: NDArray, gamma: NDArray, beta: NDArray, *, moving: Any, momentum: float, fix_gamma: bool, **attrs: Any
) -> NDArray:
    return normalize_in_operators(x, ones_like(gamma) if fix_gamma else gamma, beta, **attrs)


@repeating
@Operator
def _scale_and_shift(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mu: np.ndarray, var: np.ndarray, *, view: Any, eps: float
) -> np.ndarray:
    """`(x - mu)/sqrt(var + eps) gamma + beta`, where mu and var are constants."""
    values = widen_half(x)
    dtypes = {values.dtype, gamma.dtype, beta.dtype, mu.dtype, var.dtype}
    if in_kernel(values) and len(dtypes) == 1:
        y = _scale_and_shift_in_kernel(values, gamma, beta, mu, var, view, eps)
    else:
        scale = gamma / np.sqrt(var + var.dtype.type(eps))
        y = values.reshape(view) * scale.reshape(GAMMA)
        y += (beta - mu * scale).reshape(GAMMA)
    return y.reshape(x.shape).astype(x.dtype, copy=False)


def _scale_and_shift_in_kernel(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mu: np.ndarray, var: np.ndarray, view: Any, eps: float
) -> np.ndarray:
    before, channels, size = view
    arrays = x, gamma, beta, mu, var, constants(x.dtype, eps), np.empty(x.shape, x.dtype)
    if size == 1:
        share = max(1, TASK_ELEMENTS // max(1, channels))
        native.scaled_rows(-(-before // share), x.size, *arrays, before, channels, share, scratch=channels)
    else:
        share = max(1, TASK_ELEMENTS // max(1, size))
        native.scaled_planes(
            -(-(before * channels) // share), x.size, *arrays, before * channels, channels, size, share
        )
    return arrays[-1]


def _rate(var: NDArray, eps: float) -> NDArray:
    return 1 / sqrt(var + eps)


@_scale_and_shift.gradient
def _(g: NDArray, y: NDArray, *inputs: NDArray, view: Any, eps: float) -> NDArray:
    x, gamma, _, _, var = inputs
    scale = (gamma * _rate(var, eps)).astype(g.dtype, copy=False)
    return reshape(reshape(g, view) * reshape(scale, GAMMA), x.shape)


@_scale_and_shift.gradient
def _(g: NDArray, y: NDArray, *inputs: NDArray, view: Any, eps: float) -> NDArray:
    x, gamma, _, mu, var = inputs
    flow, centered = reshape(g, view), reshape(x, view).astype(mu.dtype, copy=False) - reshape(mu, GAMMA)
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
    shape = data._data.shape
    axis = axis_of("BatchNorm", shape, axis)
    channels = shape[axis]
    check_scale("BatchNorm", data, gamma, beta, channels, f"the length of axis {axis}")
    if not moving_mean._data.shape == moving_var._data.shape == (channels,):
        raise MXNetError(
            f"BatchNorm: for data of shape {data.shape}, moving_mean and moving_var must have shape ({channels},), not "
            f"{moving_mean.shape} and {moving_var.shape}"
        )
    if fix_gamma:
        if gamma.stype != "default":
            raise MXNetError(
                f"BatchNorm: fix_gamma=True sets gamma to 1, not one of stype {gamma.stype!r}: make it dense"
            )
        with device_scope(gamma._ctx):
            autograd.effect(_set_to_one, [gamma._data], {}, gamma._ctx, [gamma._node])
    view = around(shape, axis)
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


def BatchNormWithReLU(
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
    """`relu` of `BatchNorm` with these arguments; with `output_mean_var` a list of it and of what that returns."""
    y = BatchNorm(
        data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis
    )
    return [relu(y[0]), *y[1:]] if isinstance(y, list) else relu(y)
