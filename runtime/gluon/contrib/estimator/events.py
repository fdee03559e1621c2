"""The events of training. A handler derives from the classes of the events it handles."""

from __future__ import annotations

from typing import Any

from runtime.gluon.contrib.estimator.protocols import EstimatorLike
from runtime.metric import CompositeEvalMetric, EvalMetric


class EventHandler:
    """The base class of event handlers."""


class TrainBegin(EventHandler):
    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        """Called before the first epoch."""


class TrainEnd(EventHandler):
    def train_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        """Called after the last epoch."""


class EpochBegin(EventHandler):
    def epoch_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        """Called before each epoch."""


class EpochEnd(EventHandler):
    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> bool | None:
        """Called after each epoch; true ends training."""


class BatchBegin(EventHandler):
    def batch_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        """Called before each batch, with `batch`."""


class BatchEnd(EventHandler):
    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> bool | None:
        """Called after each batch, with `batch`, and the lists `pred`, `label` and `loss`; true ends the epoch."""


EVENTS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)


def check_event_handlers(handlers: Any) -> list[EventHandler]:
    """A handler, several or none, as a new list; ValueError for anything else."""
    handlers = [handlers] if isinstance(handlers, EventHandler) else list(handlers or ())
    if not all(isinstance(handler, EventHandler) for handler in handlers):
        raise ValueError(f"event handlers must be an EventHandler or a list of them, not {handlers}")
    return handlers


def check_metrics(metrics: Any) -> list[EvalMetric]:
    """A metric, several or none, as a new list, those of a CompositeEvalMetric one by one; ValueError for anything
    else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [one for metric in metrics.metrics for one in check_metrics(metric)]
    metrics = [metrics] if isinstance(metrics, EvalMetric) else list(metrics or ())
    if not all(isinstance(metric, EvalMetric) for metric in metrics):
        raise ValueError(f"metrics must be an EvalMetric or a list of them, not {metrics}")
    return metrics
