"""Measures of how good predictions are, gathered over batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.ndarray.ndarray import NDArray


class EvalMetric:
    """A mean over all that `update` was given since `reset`. Subclasses add to `sum_metric` and `num_inst`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reset()

    def reset(self) -> None:
        self.sum_metric, self.num_inst = 0.0, 0

    def update(self, labels: Sequence[NDArray], preds: Sequence[NDArray]) -> None:
        """Take in one batch: lists of arrays, a prediction for each label."""
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def get(self) -> tuple[str, float]:
        """Name and value; nan before the first update."""
        return self.name, self.sum_metric / self.num_inst if self.num_inst else float("nan")


class Accuracy(EvalMetric):
    """The share of right classes.

    Predictions are classes, in the labels' shape, or have one axis more, `axis`, with a score for each class.
    """

    def __init__(self, axis: int = 1, name: str = "accuracy") -> None:
        super().__init__(name)
        self.axis = axis

    def update(self, labels: NDArray | Sequence[NDArray], preds: NDArray | Sequence[NDArray]) -> None:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
        for label, pred in zip(labels, preds, strict=True):
            right = label.asnumpy().astype(np.int64).ravel()
            found = (
                (pred.argmax(axis=self.axis) if pred.shape != label.shape else pred).asnumpy().astype(np.int64).ravel()
            )
            if right.shape != found.shape:
                raise ValueError(
                    f"accuracy: labels of shape {label.shape} do not fit predictions of shape {pred.shape}"
                )
            self.sum_metric += float((right == found).sum())
            self.num_inst += right.size
