"""Metrics of regression, and the mean of a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base import ArgumentError, _as_list
from runtime.core.backend import device_scope, to_host
from runtime.metric.base import Arrays, EvalMetric, alias, check_label_shapes, of_pairs, register, wide

Names = Sequence[str] | None


class _Error(EvalMetric):
    """The mean over arrays of an error of each.

    Labels and predictions (batch,) count as (batch, 1), and broadcast: one label is held against each of the
    predictions (batch, n).
    """

    def __init__(self, name: str, output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _of(self, difference: np.ndarray) -> float:
        raise NotImplementedError

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        label, pred = (x.reshape(-1, 1) if x.ndim == 1 else x for x in (label, pred))
        try:
            difference = label - pred
        except ValueError:
            raise ArgumentError(
                f"{self.name}: labels of shape {label.shape} do not broadcast to predictions of shape {pred.shape}"
            ) from None
        self._add(float(self._of(difference)), 1)


@register
class MAE(_Error):
    """The mean absolute error."""

    def __init__(self, name: str = "mae", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _of(self, difference: np.ndarray) -> float:
        return np.abs(difference).mean()


@register
class MSE(_Error):
    """The mean squared error."""

    def __init__(self, name: str = "mse", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _of(self, difference: np.ndarray) -> float:
        return np.square(difference).mean()


@register
class RMSE(_Error):
    """The root of the mean squared error."""

    def __init__(self, name: str = "rmse", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _of(self, difference: np.ndarray) -> float:
        return np.sqrt(np.square(difference).mean())


class _Moments:
    """Count, means, and sums of squared deviations and of their products, of pairs of numbers that come in parts."""

    def __init__(self) -> None:
        self.n = 0
        self.mean = np.zeros(2)
        self.products = np.zeros((2, 2))

    def add(self, x: np.ndarray) -> None:
        """Take in (2, n) numbers, by the formula of Chan, Golub & LeVeque (1979)."""
        n, mean = x.shape[1], x.mean(axis=1)
        apart = mean - self.mean
        centred = x - mean[:, None]
        self.products += centred @ centred.T + np.outer(apart, apart) * (self.n * n / (self.n + n))
        self.mean += apart * (n / (self.n + n))
        self.n += n

    def correlation(self) -> float:
        (xx, xy), (_, yy) = self.products
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(xy / np.sqrt(xx * yy))


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of labels and predictions, of equal shapes.

    average: 'macro', the mean of those of the arrays, or 'micro', that of all numbers.
    """

    def __init__(
        self, name: str = "pearsonr", output_names: Names = None, label_names: Names = None, average: str = "macro"
    ) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(f"average is 'macro' or 'micro', not {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True, average=average)

    @of_pairs
    def update(self, label: np.ndarray, pred: np.ndarray) -> None:
        check_label_shapes(label, pred, shape=True)
        numbers = to_host(np.stack([pred.ravel(), label.ravel()])).astype(np.float64)
        batch = _Moments()
        batch.add(numbers)
        self._add(batch.correlation(), 1)
        self._local.add(numbers)
        self._total.add(numbers)

    def reset(self) -> None:
        self._total = _Moments()
        super().reset()

    def reset_local(self) -> None:
        self._local = _Moments()
        super().reset_local()

    def get(self) -> tuple[str, float]:
        return super().get() if self.average == "macro" else (self.name, self._local.correlation())

    def get_global(self) -> tuple[str, float]:
        return super().get_global() if self.average == "macro" else (self.name, self._total.correlation())


@register
class Loss(EvalMetric):
    """The mean of all numbers in the predictions; labels are ignored."""

    def __init__(self, name: str = "loss", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: Any, preds: Arrays) -> None:
        for pred in _as_list(preds):
            with device_scope(pred.context):
                self._add(float(wide(pred._data).sum()), pred.size)


@register
class Torch(Loss):
    """`Loss` under another name."""

    def __init__(self, name: str = "torch", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """`Loss` under another name."""

    def __init__(self, name: str = "caffe", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)
