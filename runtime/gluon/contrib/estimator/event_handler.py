"""The default handlers of an estimator. The handlers that save and stop are in `checkpoint`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from runtime.base import count, optional_count
from runtime.gluon.contrib.estimator.checkpoint import CheckpointHandler, EarlyStoppingHandler
from runtime.gluon.contrib.estimator.events import (
    EVENTS,
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
    check_event_handlers,
    check_metrics,
)
from runtime.gluon.contrib.estimator.protocols import EstimatorLike
from runtime.metric import Loss

__all__ = [
    "EVENTS",
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "check_event_handlers",
    "check_metrics",
]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Stops after the number of epochs or batches that `fit` was called with."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = optional_count("max_epoch", max_epoch)
        self.max_batch = optional_count("max_batch", max_batch)
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class GradientUpdateHandler(BatchEnd):
    """Updates the weights after each batch: `Trainer.step` with the number of samples."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        loss = kwargs["loss"]
        losses = loss if isinstance(loss, list) else [loss]
        estimator.trainer.step(sum(part.shape[0] for part in losses))


class MetricHandler(EpochBegin, BatchEnd):
    """Updates `metrics` after each batch, and resets them before each epoch. `metric.Loss` gets the losses."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(None, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates every `epoch_period` epochs and every `batch_period` batches (None: never).

    `eval_fn` is called with `val_data`, `batch_axis` and `event_handlers`; usually it is `Estimator.evaluate`.
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = optional_count("epoch_period", epoch_period)
        self.batch_period = optional_count("batch_period", batch_period)
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)

    def _evaluate(self, estimator: EstimatorLike) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs the progress, and `metrics` after each epoch; also every `log_interval` batches if that is a number and not
    'epoch'. By its priority it is called last, when the metrics are up to date."""

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf) -> None:
        self.metrics = check_metrics(metrics)
        if isinstance(log_interval, str) and log_interval != "epoch":
            raise ValueError(f"log_interval is a number of batches or 'epoch', not {log_interval!r}")
        self.log_interval = log_interval if log_interval == "epoch" else count("log_interval", log_interval)
        self.priority = priority
        self._start_anew()

    def _start_anew(self) -> None:
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self._start_anew()
        self.train_start = time.perf_counter()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        seconds = time.perf_counter() - self.train_start
        begin = f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. "
        estimator.logger.info(self._with_metrics(begin))

    def epoch_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.perf_counter()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        seconds = time.perf_counter() - self.epoch_start
        estimator.logger.info(self._with_metrics(f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, "))
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        if self.log_interval != "epoch":
            self.log_interval_time += time.perf_counter() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[0]
            if self.batch_index % self.log_interval == 0:
                where = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                estimator.logger.info(self._with_metrics(f"{where} time/interval: {self.log_interval_time:.3f}s "))
                self.log_interval_time = 0.0
        self.batch_index += 1

    def _with_metrics(self, message: str) -> str:
        return (message + ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)).rstrip(", ")
