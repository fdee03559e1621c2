"""Output operators of a network: the output is the prediction, the gradient that of the loss that goes with it.

The gradient of the output is ignored, so `backward` can start from a prediction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.core import optgen_bridge
from runtime.core.backend import array_module
from runtime.ndarray.elementwise import identity, maximum, sign
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.activation import sigmoid
from runtime.ndarray.nn.softmax import _softmax
from runtime.ndarray.operator import Operator, on_own_device, repeating
from runtime.ndarray.shape.reshape import reshape

__all__ = [
    "IdentityAttachKLSparseReg",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "MakeLoss",
    "SVMOutput",
    "Softmax",
    "SoftmaxOutput",
]

# ---------------------------------------------------------------- regression


def _regression(name: str, predict: Any, error: Any) -> Any:
    """`predict(data)`, with the gradient `error(prediction, label)` times grad_scale over the outputs of a sample."""

    def forward(x: np.ndarray, label: np.ndarray, *, scale: float) -> np.ndarray:
        return predict.forward(x)

    forward.__name__ = name
    operator = Operator(forward, lambda g, y, x, label, *, scale: error(y, label) * scale)
    operator.is_loss, operator.repeats = True, predict.repeats

    def call(data: NDArray, label: NDArray, grad_scale: float = 1.0) -> NDArray:
        if data.size != label.size:
            raise MXNetError(f"{name}: label has shape {label.shape}, which does not fit data of shape {data.shape}")
        scale = grad_scale * data.shape[0] / data.size
        return operator(data, reshape(label, data.shape).astype(data.dtype, copy=False), scale=scale)

    call.__name__ = call.__qualname__ = name
    return call


LinearRegressionOutput = _regression("LinearRegressionOutput", identity, lambda y, label: y - label)
LinearRegressionOutput.__doc__ = (
    """`data`, with the gradient of the squared error: `(data - label) grad_scale/n`, n values a sample."""
)
MAERegressionOutput = _regression("MAERegressionOutput", identity, lambda y, label: sign(y - label))
MAERegressionOutput.__doc__ = (
    """`data`, with the gradient of the absolute error: `sign(data - label) grad_scale/n`, n values a sample."""
)
LogisticRegressionOutput = _regression("LogisticRegressionOutput", sigmoid, lambda y, label: y - label)
LogisticRegressionOutput.__doc__ = (
    """`sigmoid(data)`, with the gradient of its cross-entropy: `(sigmoid(data) - label) grad_scale/n`."""
)

# ---------------------------------------------------------------- classification


@repeating
@Operator
def _softmax_output(x: np.ndarray, target: np.ndarray, weight: np.ndarray, *, axis: int, out_grad: bool) -> np.ndarray:
    return _softmax.forward(x, axis=axis, scale=1.0, masked=None)


_softmax_output.is_loss = True


@_softmax_output.gradient
def _(g: NDArray, y: NDArray, x: NDArray, target: NDArray, weight: NDArray, *, axis: int, out_grad: bool) -> NDArray:
    dx = (y - target) * weight
    return dx * g if out_grad else dx


@Operator
def _softmax_targets(
    label: np.ndarray, *, axis: int, classes: int, alpha: float, ignored: float, skips: bool, normalization: str,
    places: int, scale: float, dtype: np.dtype,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The probabilities that `SoftmaxOutput` compares with, and the factor on the gradient of each."""
    given = np.expand_dims(label, axis)
    valid = given != ignored
    if normalization == "valid":
        count = np.maximum(valid.sum(), 1)  # of all places
    else:
        count = label.size if normalization == "batch" else places
    weight = np.full_like(given, scale, dtype=np.float64) / count
    if skips:
        weight *= valid
    return _smooth_onehot(given, axis, classes, alpha).astype(dtype), weight.astype(dtype)


@on_own_device
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> NDArray:
    """The softmax of `data`, with the gradient of its cross-entropy with `label`: `softmax(data) - onehot(label)`.

    Parameters
    ----------
    data: (batch, classes); with `multi_output`, (batch, classes, ...); with `preserve_shape`, (..., classes).
    label: class numbers, in the shape of `data` without the classes (with `multi_output`, also with 1 class, or a
        vector for each sample), or probabilities, in the shape of `data`; a number that is no class is none of them.
        For probabilities nothing below but `grad_scale` and `out_grad` counts.
    grad_scale: factor on the gradient; with `multi_output` it is divided by the number of places of a sample, unless
        `normalization` is 'valid'.
    ignore_label: with `use_ignore`, labels that get no gradient.
    normalization: divide the gradient by nothing ('null'), by the samples ('batch') or by the number of labels that are
        not `ignore_label` ('valid').
    out_grad: multiply the gradient by what flows into the output, which is ignored otherwise.
    smooth_alpha: without `multi_output`, take this probability from the right class, and spread it over the others.
    """
    if normalization not in ("null", "batch", "valid"):
        raise MXNetError(f"SoftmaxOutput: normalization is 'null', 'batch' or 'valid', not {normalization!r}")
    axis = 1 if multi_output else data.ndim - 1
    dropped = (*data.shape[:axis], *data.shape[axis + 1 :])
    if multi_output and label.shape in ((len(data), 1, *dropped[1:]), (len(data), math.prod(dropped[1:]))):
        label = reshape(label, dropped)
    if label.shape == data.shape:
        if data.ndim > 2 and not (multi_output or preserve_shape):
            flat = (data.shape[0], -1)
            y = SoftmaxOutput(reshape(data, flat), reshape(label, flat), grad_scale, out_grad=out_grad)
            return reshape(y, data.shape)
        target, weight = label.detach().astype(data.dtype, copy=False), grad_scale
    elif label.shape == dropped and (data.ndim == 2 or multi_output or preserve_shape):
        places, alpha = (label.size // data.shape[0], 0.0) if multi_output else (1, smooth_alpha)
        target, weight = _softmax_targets(
            label.detach(), axis=axis, classes=data.shape[axis], alpha=alpha, ignored=ignore_label,
            skips=use_ignore, normalization=normalization, places=places, scale=grad_scale, dtype=data._data.dtype,
        )  # fmt: skip
    else:
        raise MXNetError(
            f"SoftmaxOutput: label has shape {label.shape}, not {data.shape} (probabilities) or {dropped} (classes; "
            "where data has more than two axes, with multi_output or preserve_shape)"
        )
    return _softmax_output(data, target, weight, axis=axis, out_grad=out_grad)


Softmax = SoftmaxOutput


def _smooth_onehot(label: np.ndarray, axis: int, classes: int, alpha: float) -> np.ndarray:
    """1 - alpha at the label, which has length 1 along `axis`, and the rest spread over the others."""
    numbers = array_module(label).arange(classes).reshape((-1,) + (1,) * (label.ndim - axis - 1))
    hot = label.astype(np.int64) == numbers
    return np.where(hot, np.float64(1 - alpha), np.float64(alpha / max(1, classes - 1)))


# ---------------------------------------------------------------- margins


@Operator
def _svm_output(x: np.ndarray, sign: np.ndarray, *, margin: float, scale: float, linear: bool) -> np.ndarray:
    return x.copy()


_svm_output.is_loss = True


@_svm_output.gradient
def _(g: NDArray, y: NDArray, x: NDArray, sign: NDArray, *, margin: float, scale: float, linear: bool) -> NDArray:
    missing = maximum(margin - sign * y, 0)
    return sign * ((missing > 0) * -scale if linear else missing * (-2 * scale))


@on_own_device
def SVMOutput(
    data: NDArray,
    label: NDArray,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> NDArray:
    """`data`, with the gradient of a hinge loss: `data` should be `margin` or more for the class, `-margin` or less
    for the others.

    Parameters
    ----------
    data: (..., classes).
    label: class numbers, in the shape of `data` without the classes; a number that is no class is none of them.
    regularization_coefficient: factor on the gradient.
    use_linear: the loss is what is missing to the margin; else its square.
    """
    if data.ndim < 2 or label.shape != data.shape[:-1]:
        raise MXNetError(f"SVMOutput: label has shape {label.shape}, not {data.shape[:-1]}, data's without the classes")
    signs = _signs(label.detach(), classes=data.shape[-1], dtype=data._data.dtype)
    return _svm_output(data, signs, margin=margin, scale=regularization_coefficient, linear=use_linear)


@Operator
def _signs(label: np.ndarray, *, classes: int, dtype: np.dtype) -> np.ndarray:
    """1 for the class that is the label, else -1."""
    is_class = label[..., None].astype(np.int64) == array_module(label).arange(classes)
    return (2 * is_class - 1).astype(dtype)


# ---------------------------------------------------------------- any loss


@Operator
def _make_loss(x: np.ndarray, *, slope: float) -> np.ndarray:
    return x.copy()


_make_loss.is_loss = True


@_make_loss.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, slope: float) -> NDArray:
    return x._full_like(slope)


@on_own_device
def MakeLoss(data: NDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = "null") -> NDArray:
    """`data`, with the gradient `grad_scale` whatever flows into it.

    It is divided by nothing ('null'), by the samples ('batch'; the last axis is that of one sample), or by the number
    of elements larger than `valid_thresh` ('valid').
    """
    if normalization not in ("null", "batch", "valid"):
        raise MXNetError(f"MakeLoss: normalization is 'null', 'batch' or 'valid', not {normalization!r}")
    count = math.prod(data.shape[:-1]) if normalization == "batch" else 1
    if normalization == "valid":
        autograd.reads_values(data._data)
        count = max(1, int((data._data > valid_thresh).sum()))
    return _make_loss(data, slope=grad_scale / count)


# ---------------------------------------------------------------- sparse activations


@Operator
def _with_sparseness(
    x: np.ndarray, moving: np.ndarray, *, target: float, penalty: float, momentum: float
) -> np.ndarray:
    return optgen_bridge.copied(x)


@_with_sparseness.gradient
def _(
    g: NDArray, y: NDArray, x: NDArray, moving: NDArray, *, target: float, penalty: float, momentum: float
) -> NDArray:
    with autograd.pause():
        moving[:] = moving * momentum + reshape(x, (len(x), -1)).mean(axis=0) * (1 - momentum)
        push = ((1 - target) / (1 - moving) - target / moving) * penalty
    return g + reshape(push, (1, *x.shape[1:]))


def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
) -> NDArray:
    """`data`, whose gradient gets that of a penalty: `penalty` times the divergence (Kullback-Leibler) of the mean
    activation of each unit, from 0 to 1, from `sparseness_target`.

    The mean is `moving_avg`, one number for each value of a sample, which takes a step of `1 - momentum` towards the
    mean of the batch when the gradient is computed.
    """
    if moving_avg.size * len(data) != data.size:
        raise MXNetError(
            f"IdentityAttachKLSparseReg: moving_avg has {moving_avg.size} elements, samples {data.size // len(data)}"
        )
    return _with_sparseness(data, moving_avg, target=sparseness_target, penalty=penalty, momentum=momentum)
