"""The base class of losses."""

from __future__ import annotations

from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError, numeric_types
from runtime.gluon.block import HybridBlock
from runtime.ndarray import NDArray
from runtime.symbol import Symbol


class Loss(HybridBlock):
    """The base class. `weight` is a factor on the loss, `batch_axis` the axis along which samples lie.

    Losses are called with `sample_weight` last: factors on the elements, which are broadcast against them; (batch, 1)
    for one factor a sample.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _check_weight(type(self).__name__, weight)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weighted(self, F: Any, loss: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """`loss` multiplied by `weight` and `sample_weight`, where these are given."""
        return _apply_weighting(F, loss, self._weight, sample_weight)

    def _per_sample(self, F: Any, loss: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """The weighted mean over all axes but the batch's, (batch,)."""
        loss = self._weighted(F, loss, sample_weight)
        if F is nd and self._batch_axis == 0 and loss.size == len(loss):
            return loss if loss.ndim == 1 else loss.reshape((-1,))
        return F.mean(loss, axis=self._batch_axis, exclude=True)


def _check_weight(name: str, weight: float | None) -> None:
    if weight is not None and not isinstance(weight, numeric_types):
        raise ArgumentError(f"{name}: weight is a number, not {type(weight).__name__}")


def _apply_weighting(
    F: Any, loss: NDArray, weight: float | None = None, sample_weight: NDArray | None = None
) -> NDArray:
    """`loss` multiplied by a number and by factors on its elements, for losses that users define."""
    _check_weight("_apply_weighting", weight)
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None and weight != 1:
        loss = loss * weight
    return loss


def _reshape_like(F: Any, x: NDArray, y: NDArray) -> NDArray:
    """`x` in the shape of `y`, for losses that users define."""
    return like("_reshape_like", x, y, "x")


def softplus(F: Any, x: NDArray) -> NDArray:
    """`log(1 + exp(x))`."""
    return F.Activation(x, act_type="softrelu")


def like(name: str, label: NDArray, pred: NDArray, what: str = "label") -> NDArray:
    """`label` in the shape of `pred`, which must have as many elements."""
    if isinstance(pred, Symbol):
        return label.reshape_like(pred)
    if label.shape == pred.shape:
        return label
    if label.size != pred.size:
        raise ArgumentError(
            f"{name}: {what} of shape {label.shape} has {label.size} elements, but pred of shape {pred.shape} has "
            f"{pred.size}"
        )
    return label.reshape(pred.shape)
