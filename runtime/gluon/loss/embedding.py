"""Losses of the distances between vectors."""

from __future__ import annotations

from typing import Any

from runtime.base import ArgumentError
from runtime.gluon.loss.base import Loss, like
from runtime.gluon.loss.classification import KLDivLoss
from runtime.ndarray import NDArray


class TripletLoss(Loss):
    """`max(|positive - pred|^2 - |negative - pred|^2 + margin, 0)` for each sample, (batch,)."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, positive: NDArray, negative: NDArray) -> NDArray:
        positive = like("TripletLoss", positive, pred, "positive")
        negative = like("TripletLoss", negative, pred, "negative")
        distances = F.square(positive - pred) - F.square(negative - pred)
        loss = F.relu(F.sum(distances, axis=self._batch_axis, exclude=True) + self._margin)
        return self._weighted(F, loss)


class CosineEmbeddingLoss(Loss):
    """`1 - cos` for pairs labelled 1, `max(cos - margin, 0)` for those labelled -1, (batch, 1).

    `cos` is the cosine between the vectors of `input1` and `input2`, which lie along the last axis; `label` is
    (batch,).
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Any, input1: NDArray, input2: NDArray, label: NDArray, sample_weight: NDArray | None = None
    ) -> NDArray:
        input1 = like("CosineEmbeddingLoss", input1, input2, "input1")
        label = label.reshape((-1, 1))
        cos = _cosines(F, input1, input2)
        loss = (1 - cos) * (label == 1) + F.relu((cos - self._margin) * (label == -1))
        return self._weighted(F, loss, sample_weight)


def _cosines(F: Any, x: NDArray, y: NDArray) -> NDArray:
    """Between the vectors along the last axis, (n, 1)."""

    def column(z: NDArray) -> NDArray:
        return z.reshape((-1, 1))

    norms = F.norm(x, axis=-1) * F.norm(y, axis=-1)
    return column(F.sum(x * y, axis=-1)) / F.maximum(column(norms), 1e-12)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: each vector of `x1` should be nearest to its counterpart in `x2`, (batch,).

    Both are (batch, n). The negative squared distances of a vector of x1 to all of x2 are scores; the loss is their
    divergence from the right answer, smoothed: 1 - smoothing_parameter for the counterpart, the rest spread over the
    others (Bonadiman et al. 2019).
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True, weight=weight)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: NDArray, x2: NDArray) -> NDArray:
        if x1.shape != x2.shape or x1.ndim != 2 or len(x1) < 2:
            raise ArgumentError(
                f"SDMLLoss: both inputs must be (batch, n) with a batch of at least 2, not {x1.shape} and {x2.shape}"
            )
        batch = len(x1)
        right = F.eye(batch, dtype=x1.dtype)
        labels = right * (1 - self.smoothing_parameter) + (1 - right) * (self.smoothing_parameter / (batch - 1))
        distances = F.sum(F.square(F.expand_dims(x1, 1) - F.expand_dims(x2, 0)), axis=2)
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)
