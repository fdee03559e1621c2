"""What an estimator does with one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import autograd
from runtime.context import Context
from runtime.gluon.contrib.estimator.protocols import EstimatorLike
from runtime.gluon.utils import split_and_load
from runtime.ndarray import NDArray

__all__ = ["BatchProcessor"]

Arrays = list[NDArray]


class BatchProcessor:
    """Takes a batch of (data, label) through the network and its loss, in one part for each context.

    Both methods return the data, labels, predictions and losses of all parts. Override them for other kinds of batches.
    """

    def _get_data_and_label(
        self, batch: Sequence[Any], ctx: list[Context], batch_axis: int = 0
    ) -> tuple[Arrays, Arrays]:
        data, label = batch[0], batch[1]
        return split_and_load(data, ctx, batch_axis), split_and_load(label, ctx, batch_axis)

    def fit_batch(
        self, estimator: EstimatorLike, train_batch: Sequence[Any], batch_axis: int = 0
    ) -> tuple[Arrays, Arrays, Arrays, Arrays]:
        """One forward and backward pass; the weights are left to GradientUpdateHandler."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(found, true) for found, true in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss

    def evaluate_batch(
        self, estimator: EstimatorLike, val_batch: Sequence[Any], batch_axis: int = 0
    ) -> tuple[Arrays, Arrays, Arrays, Arrays]:
        """One forward pass."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(found, true) for found, true in zip(pred, label, strict=True)]
        return data, label, pred, loss
