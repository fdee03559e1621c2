"""The base class of metrics, and metrics made of other metrics or of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from runtime import autograd
from runtime.base import ArgumentError, _as_list
from runtime.core import backend
from runtime.ndarray.ndarray import NDArray
from runtime.registry import Registry

_registry = Registry("metric")

Arrays = NDArray | Sequence[NDArray]


class EvalMetric:
    """A mean over everything that was passed to `update` since `reset`.

    A subclass defines `update(labels, preds)`. With `has_global_stats=True` it does so by `_add`, and there are two
    means: of what came since `reset`, and of what came since `reset_local`, which `get` tells. Otherwise it adds to
    `sum_metric` and `num_inst`, and there is one.

    Parameters
    ----------
    name: what the value is called.
    output_names, label_names: which arrays `update_dict` takes, in this order; by default all.
    kwargs: what else the metric was made with, for `get_config`.
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = False,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = has_global_stats
        self._kwargs = kwargs
        self.reset()

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add one batch: an array or several, with a prediction for each label."""
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """`update` with arrays by name."""
        self.update(_chosen(label, self.label_names), _chosen(pred, self.output_names))

    def _add(self, total: float, count: int) -> None:
        """Add `count` values whose sum is `total`."""
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Start again, with no values."""
        self.global_sum_metric, self.global_num_inst = 0.0, 0
        self.reset_local()

    def reset_local(self) -> None:
        """Reset the value of `get`, but not that of `get_global`."""
        self.sum_metric, self.num_inst = 0.0, 0

    def get(self) -> tuple[Any, Any]:
        """Name and value since `reset_local`; nan before the first update. Lists, where there are several."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Name and value since `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def _value(self, total: float, count: int) -> float:
        return total / count if count else float("nan")

    def get_name_value(self) -> list[tuple[str, float]]:
        """`get` as pairs."""
        return list(zip(*map(_as_list, self.get()), strict=True))

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """`get_global` as pairs."""
        return list(zip(*map(_as_list, self.get_global()), strict=True))

    def get_config(self) -> dict[str, Any]:
        """The configuration from which `create` makes an equal metric."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"


def _chosen(arrays: dict[str, NDArray], names: Sequence[str] | None) -> list[NDArray]:
    return list(arrays.values()) if names is None else [arrays[name] for name in names]


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Both arguments, single arrays in a list if `wrap`; ValueError if their lengths (shapes, if `shape`) differ."""
    if wrap:
        labels, preds = _as_list(labels), _as_list(preds)
    sizes = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if sizes[0] != sizes[1]:
        hint = "; the data has no labels" if sizes[0] == 0 else ""
        raise ArgumentError(f"Shape of labels {sizes[0]} does not match shape of predictions {sizes[1]}{hint}")
    return labels, preds


def of_pairs(take: Callable[[Any, Any, Any], None]) -> Callable[[Any, Arrays, Arrays], None]:
    """Decorator: the method `update` that calls `take(self, label, pred)` for each label with its prediction.

    They are arrays (to be read) where the prediction lives, of a GPU too; floats have at least 32 bits.
    """

    def update(self: EvalMetric, labels: Arrays, preds: Arrays) -> None:
        for label, pred in zip(*check_label_shapes(labels, preds, wrap=True), strict=True):
            with backend.device_scope(pred.context):
                take(self, wide(backend.to_context(label._data, pred.context)), wide(pred._data))

    return update


def wide(x: numpy.ndarray) -> numpy.ndarray:
    """An array that a metric reads: one of 16-bit floats as float32, others as they are."""
    autograd.reads_values(x)
    return x.astype(numpy.float32) if x.dtype.itemsize == 2 else x


# ---------------------------------------------------------------- by name


def register(cls: type[EvalMetric], name: str | None = None) -> type[EvalMetric]:
    """Class decorator: the metric can be asked for by its class's name, and by `name`."""
    return _registry.register(cls, *([name] if name else []))


def alias(*names: str) -> Callable[[type[EvalMetric]], type[EvalMetric]]:
    """Class decorator: the metric can be asked for by these names too."""
    return lambda cls: _registry.register(cls, *names)


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric: itself; of a registered name, with these arguments; of a configuration, as a dict or in JSON; of a
    function (`CustomMetric`); or of a list of any of these (`CompositeEvalMetric`)."""
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(m, *args, **kwargs) for m in metric])
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    return _registry.create(metric, *args, **kwargs)


# ---------------------------------------------------------------- composite and custom metrics


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics, whose names and values `get` returns in lists. `metrics` are what `create` takes."""

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self.metrics += [create(m) for m in metrics or ()]  # after the reset there: they keep what they have counted

    def add(self, metric: Any) -> None:
        """Add what `create` makes of `metric`."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at that place; ValueError if there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ArgumentError(f"there are {len(self.metrics)} metrics, none at index {index}") from None

    def update(self, labels: Arrays, preds: Arrays) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, labels: dict[str, NDArray], preds: dict[str, NDArray]) -> None:
        labels = {n: x for n, x in labels.items() if self.label_names is None or n in self.label_names}
        preds = {n: x for n, x in preds.items() if self.output_names is None or n in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[float]]:
        return _side_by_side(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[float]]:
        return _side_by_side(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _side_by_side(results: Iterator[tuple[Any, Any]]) -> tuple[list[str], list[float]]:
    names: list[str] = []
    values: list[float] = []
    for name, value in results:
        names += _as_list(name)
        values += _as_list(value)
    return names, values


@register
class CustomMetric(EvalMetric):
    """The mean of `feval(label, pred)`, called with NumPy arrays. It returns a value, or a sum and a count.

    There may be more predictions than labels, or the other way round, with `allow_extra_outputs`.
    """

    def __init__(
        self,
        feval: Callable[[numpy.ndarray, numpy.ndarray], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Arrays, preds: Arrays) -> None:
        labels, preds = _as_list(labels), _as_list(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(labels, preds)
        for label, pred in zip(labels, preds, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError(f"metric '{self.name}' is made of a function, which cannot be written down")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """`CustomMetric` of a function of NumPy arrays."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
