"""Metrics of classification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.base import ArgumentError, count
from runtime.core import backend
from runtime.metric.base import Arrays, EvalMetric, alias, check_label_shapes, of_pairs, register, wide

Names = Sequence[str] | None


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of correct predictions.

    Predictions are classes, in the labels' shape, or have one axis more, `axis`, with a score for each class.
    """

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, axis=axis)
        self.axis = axis

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        found = pred
        if pred.shape != label.shape and -pred.ndim <= self.axis < pred.ndim:
            found = pred.argmax(axis=self.axis)
        if found.size != label.size:
            raise ArgumentError(
                f"accuracy: labels of shape {label.shape} do not fit predictions of shape {pred.shape} (update "
                "takes labels first)"
            )
        right = found.astype(np.int64).ravel() == label.astype(np.int64).ravel()
        self._add(int(right.sum()), right.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels (batch,) that are among the `top_k` largest of the scores (batch, classes)."""

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None, label_names: Names = None
    ) -> None:
        if count("top_k", top_k) == 1:
            raise ArgumentError(f"top_k is at least 2, not {top_k}: for 1 there is Accuracy")
        super().__init__(name, output_names, label_names, has_global_stats=True, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def get_config(self) -> dict:
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        if pred.ndim != 2 or label.size != len(pred):
            raise ArgumentError(f"top_k_accuracy: labels {label.shape} and predictions {pred.shape}: one row a label")
        k = min(self.top_k, pred.shape[1])
        top = np.argpartition(pred, -k, axis=1)[:, -k:]
        self._add(int((top == label.astype(np.int64).reshape(-1, 1)).sum()), label.size)


# ---------------------------------------------------------------- of the confusion matrix


class _Confusion(EvalMetric):
    """A score of the confusion matrix, which counts how often class i was predicted for true class j.

    Labels are (batch,). Predictions are scores (batch, classes), or classes in the shape of the labels.
    average: 'macro', the mean of the scores of the batches, or 'micro', the score of all examples.
    """

    def __init__(self, name: str, output_names: Names, label_names: Names, average: str) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(f"average is 'macro' or 'micro', not {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True, average=average)

    def _score(self, table: np.ndarray) -> float:
        raise NotImplementedError

    def _classes(self, label: np.ndarray, pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The true and the predicted class of each example."""
        label = label.astype(np.int64).ravel()
        found = pred.argmax(axis=1) if pred.ndim == 2 and pred.shape[1:] != (1,) else pred.astype(np.int64).ravel()
        found = backend.to_host(found)
        if found.shape != label.shape:
            raise ArgumentError(
                f"{self.name}: {len(label)} labels do not match predictions of shape {pred.shape}: one row a label"
            )
        return label, found

    def _table(self, label: np.ndarray, pred: np.ndarray) -> np.ndarray:
        label, found = self._classes(label, pred)
        classes = max(2, *label + 1, *found + 1) if label.size else 2
        if label.size and min(label.min(), found.min()) < 0:
            raise ArgumentError(f"{self.name}: classes are numbers from 0")
        return np.bincount(found * classes + label, minlength=classes * classes).reshape(classes, classes)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        table = np.zeros((2, 2), np.int64)
        for label, pred in zip(*check_label_shapes(labels, preds, wrap=True), strict=True):
            with backend.device_scope(pred.context):
                table = _sum(table, self._table(wide(backend.to_host(label._data)), wide(pred._data)))
        if self.average == "macro":
            self._add(self._score(table), 1)
            return
        self._local, self._total = _sum(self._local, table), _sum(self._total, table)
        self.num_inst, self.global_num_inst = int(self._local.sum()), int(self._total.sum())
        self.sum_metric = self._score(self._local) * self.num_inst
        self.global_sum_metric = self._score(self._total) * self.global_num_inst

    def reset(self) -> None:
        self._total = np.zeros((2, 2), np.int64)
        super().reset()

    def reset_local(self) -> None:
        self._local = np.zeros((2, 2), np.int64)
        super().reset_local()


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two square tables, the smaller one filled up with zeros."""
    n = max(len(a), len(b))
    return np.pad(a, (0, n - len(a))) + np.pad(b, (0, n - len(b)))


class _Binary(_Confusion):
    """A score of two classes: 1 is the positive class, any other number the negative one."""

    def _classes(self, label: np.ndarray, pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        label, found = super()._classes(label, pred)
        if len(there := np.unique(label)) > 2:
            raise ArgumentError(
                f"{type(self).__name__} currently only supports binary classification, but there are labels of the "
                f"classes {', '.join(map(str, there[:3]))}{', ...' * (len(there) > 3)}"
            )
        return (label == 1).astype(np.int64), (found == 1).astype(np.int64)


class _BinaryCounts(NamedTuple):
    """Counts of true and false predictions of class 1 and of the other class, and the shares that follow."""

    true_negatives: int
    false_negatives: int
    false_positives: int
    true_positives: int

    @property
    def precision(self) -> float:
        """The share of true ones among predictions of class 1; 0 where there are none."""
        return self.true_positives / max(self.true_positives + self.false_positives, 1)

    @property
    def recall(self) -> float:
        """The share of those found among examples of class 1; 0 where there are none."""
        return self.true_positives / max(self.true_positives + self.false_negatives, 1)


@register
class F1(_Binary):
    """2PR/(P + R) of the precision P and the recall R of class 1; 0 where that is 0/0.

    `metrics` has P and R of all examples since `reset_local`, if the average is 'micro'.
    """

    def __init__(
        self, name: str = "f1", output_names: Names = None, label_names: Names = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    @property
    def metrics(self) -> _BinaryCounts:
        return _BinaryCounts(*self._local.ravel().tolist())

    def _score(self, table: np.ndarray) -> float:
        (_, missed), (wrong, right) = table.tolist()
        return 2 * right / (2 * right + wrong + missed) if right else 0.0


@register
class MCC(_Binary):
    """Matthews's correlation of predicted and true classes, from -1 to 1; 0 where that is 0/0."""

    def __init__(
        self, name: str = "mcc", output_names: Names = None, label_names: Names = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, table: np.ndarray) -> float:
        (tn, fn), (fp, tp) = table.tolist()
        margins = (tp + fp, tp + fn, tn + fp, tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(math.prod(m for m in margins if m))


@register
class PCC(_Confusion):
    """Matthews's correlation for any number of classes, of all examples; nan where that is 0/0."""

    def __init__(
        self,
        name: str = "pcc",
        output_names: Names = None,
        label_names: Names = None,
        has_global_stats: bool = True,
    ) -> None:
        super().__init__(name, output_names, label_names, "micro")
        self._has_global_stats = has_global_stats
        del self._kwargs["average"]

    def _score(self, table: np.ndarray) -> float:
        n = int(table.sum())
        found, true = table.sum(axis=1), table.sum(axis=0)
        spread = int((found * (n - found)).sum()) * int((true * (n - true)).sum())
        return int((table.diagonal() * n - found * true).sum()) / spread**0.5 if spread else float("nan")


# ---------------------------------------------------------------- of probabilities of the true class


def _of_true_classes(name: str, label: np.ndarray, pred: np.ndarray, axis: int = -1) -> np.ndarray:
    """The elements of `pred`, which has one axis more than the label, or as many lengths of 1, at the labels.

    Negative labels count from the last class.
    """
    label = label.ravel()
    scores = np.moveaxis(pred, axis, -1)
    scores = scores.reshape(-1, scores.shape[-1])
    if len(label) != len(scores):
        raise ArgumentError(f"{name}: {len(label)} labels do not match predictions of shape {pred.shape}")
    if label.size and not (label.min() >= -scores.shape[1] and label.max() < scores.shape[1]):
        raise ArgumentError(
            f"{name}: labels are in [0, {scores.shape[1]}), but these go from {label.min()} to {label.max()}"
        )
    return scores[backend.array_module(label).arange(len(label)), label.astype(np.int64)]


@register
class Perplexity(EvalMetric):
    """The exponential of the mean of -log p, of the probabilities p of the true classes.

    Predictions have one axis more than the labels, `axis`, with a probability for each class. Labels that are
    `ignore_label` do not count; None ignores none. Others that are no class count as the nearest one, as in `nd.pick`.
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, ignore_label=ignore_label, axis=axis)
        self.ignore_label = ignore_label
        self.axis = axis

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        label = label.ravel()
        kept = np.ones_like(label, bool) if self.ignore_label is None else label != self.ignore_label
        nearest = np.clip(label, 0, pred.shape[self.axis] - 1)
        p = _of_true_classes(self.name, nearest, pred, self.axis)[kept]
        self._add(float(-np.log(np.maximum(p, p.dtype.type(1e-10))).sum()), p.size)

    def _value(self, total: float, count: int) -> float:
        return math.exp(total / count) if count else float("nan")


class _LogLikelihood(EvalMetric):
    """The mean of -log(p + eps), of the probabilities p of the true classes: labels (batch,), predictions (batch,
    classes)."""

    def __init__(
        self, eps: float = 1e-12, name: str = "", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, eps=eps)
        self.eps = eps

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        p = _of_true_classes(self.name, label, pred)
        with np.errstate(divide="ignore"):
            self._add(float(-np.log(p + p.dtype.type(self.eps)).sum()), p.size)


@register
@alias("ce")
class CrossEntropy(_LogLikelihood):
    __doc__ = _LogLikelihood.__doc__

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLikelihood):
    __doc__ = _LogLikelihood.__doc__

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)
