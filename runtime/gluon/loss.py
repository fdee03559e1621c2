"""Losses: from predictions and labels to one number for each sample."""

from __future__ import annotations

from typing import Any

from runtime.gluon.block import HybridBlock
from runtime.ndarray import NDArray


class Loss(HybridBlock):
    """The base class. `weight` is a factor on the loss, `batch_axis` the axis along which samples lie."""

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _per_sample(self, F: Any, loss: NDArray, weight: float | None, sample_weight: NDArray | None) -> NDArray:
        """The mean over all axes but the batch's, each element multiplied by the weights there are. Shape (batch,)."""
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        if weight is not None and weight != 1:
            loss = loss * weight
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L2Loss(Loss):
    """`weight/2 (label - pred)^2`, the mean over each sample's elements. `label` has as many elements as `pred`."""

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = F.square(F.reshape_like(label, pred) - pred)
        return self._per_sample(F, loss, self._weight / 2, sample_weight)


class SoftmaxCrossEntropyLoss(Loss):
    """`-log softmax(pred)[label]`: how unlikely the scores make the right class.

    Parameters
    ----------
    axis: where in `pred` the classes lie.
    sparse_label: labels are class numbers, in the shape of `pred` without `axis`; otherwise probabilities, in the
        shape of `pred`.
    from_logits: `pred` holds log probabilities already.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * F.reshape_like(label, pred), axis=self._axis, keepdims=True)
        return self._per_sample(F, loss, self._weight, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss
