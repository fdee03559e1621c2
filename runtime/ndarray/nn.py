"""Operators that layers and losses are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime import autograd, random
from runtime.base import MXNetError, did_you_mean
from runtime.ndarray.elementwise import abs as abs_
from runtime.ndarray.elementwise import exp, tanh
from runtime.ndarray.linalg import _linear, _matmul
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32, quiet
from runtime.ndarray.reduce import sum as sum_

__all__ = [
    "Activation",
    "Dropout",
    "FullyConnected",
    "log_softmax",
    "relu",
    "sigmoid",
    "softmax",
    "softrelu",
    "softsign",
]
METHODS = ("softmax", "log_softmax", "relu", "sigmoid")

# ---------------------------------------------------------------- activations


@Operator
def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, x.dtype.type(0))


@relu.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * (y > 0)


@Operator
@in_float32
@quiet
def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@sigmoid.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * y * (1 - y)


@Operator
@quiet
def softrelu(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, x.dtype.type(0))


@softrelu.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * sigmoid(x)


def softsign(data: NDArray) -> NDArray:
    """`x/(1 + |x|)`."""
    return data / (1 + abs_(data))


_ACTIVATIONS = {"relu": relu, "sigmoid": sigmoid, "softrelu": softrelu, "softsign": softsign, "tanh": tanh}


def Activation(data: NDArray, act_type: str) -> NDArray:
    """The activation called `act_type`: relu, sigmoid, softrelu, softsign or tanh."""
    if act_type not in _ACTIVATIONS:
        raise MXNetError(f"unknown activation '{act_type}'{did_you_mean(str(act_type), _ACTIVATIONS)}")
    return _ACTIVATIONS[act_type](data)


# ---------------------------------------------------------------- softmax


@Operator
@in_float32
@quiet
def _softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    e /= e.sum(axis=axis, keepdims=True)
    return e


@_softmax.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axis: int) -> NDArray:
    return y * (g - sum_(g * y, axis=axis, keepdims=True))


@Operator
@in_float32
@quiet
def _log_softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    shifted = x - x.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


@_log_softmax.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axis: int) -> NDArray:
    return g - exp(y) * sum_(g, axis=axis, keepdims=True)


def softmax(data: NDArray, axis: int = -1) -> NDArray:
    """`exp(x)/sum(exp(x))` along `axis`, without overflow."""
    return _softmax(data, axis=axis)


def log_softmax(data: NDArray, axis: int = -1) -> NDArray:
    """The logarithm of `softmax`, exact where that would be 0."""
    return _log_softmax(data, axis=axis)


# ---------------------------------------------------------------- layers


def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> NDArray:
    """`data weight^T + bias`.

    `weight` is (num_hidden, n), `bias` (num_hidden,). `data` is (batch, ...) with n values a sample if `flatten`,
    giving (batch, num_hidden); otherwise (..., n), giving (..., num_hidden).
    """
    n = weight.shape[1]
    lead = data.shape[:1] if flatten else data.shape[:-1]
    found = int(np.prod(data.shape[1:])) if flatten else data.shape[-1]
    if found != n:
        raise MXNetError(
            f"FullyConnected: data of shape {data.shape} has {found} values a sample, weight {weight.shape} takes {n}"
        )
    if num_hidden not in (None, weight.shape[0]):
        raise MXNetError(f"FullyConnected: num_hidden is {num_hidden}, but weight has shape {weight.shape}")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise MXNetError(f"FullyConnected: bias of shape {bias.shape} does not fit weight {weight.shape}")
    if data.dtype != weight.dtype:
        raise MXNetError(
            f"FullyConnected: data is {data._data.dtype}, weight {weight._data.dtype}; convert one with astype()"
        )
    x = data if data.ndim == 2 else data.reshape((-1, n))
    y = _matmul(x, weight, tb=True) if no_bias or bias is None else _linear(x, weight, bias)
    return y if data.ndim == 2 else y.reshape((*lead, weight.shape[0]))


def Dropout(data: NDArray, p: float = 0.5, mode: str = "training", axes: Sequence[int] = ()) -> NDArray:
    """In training (always, with `mode='always'`), each element is 0 with probability `p`, else divided by 1 - p.

    Along `axes` all elements share one draw.
    """
    if p == 0 or not (autograd.is_training() or mode == "always"):
        return data
    shape = [1 if i in axes else n for i, n in enumerate(data.shape)]
    kept = random.generator.random(shape, dtype=np.float32) >= p
    return data * NDArray((kept / (1 - p)).astype(data.dtype), data._ctx)
