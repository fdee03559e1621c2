"""A training loop."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from runtime.base import ArgumentError, optional_count
from runtime.context import Context, cpu, current_context, gpu, num_gpus
from runtime.gluon.block import Block
from runtime.gluon.contrib.estimator.batch_processor import BatchProcessor
from runtime.gluon.contrib.estimator.event_handler import (
    EVENTS,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
    check_event_handlers,
    check_metrics,
)
from runtime.gluon.data import DataLoader
from runtime.gluon.loss import Loss, SoftmaxCrossEntropyLoss
from runtime.gluon.trainer import Trainer
from runtime.metric import Accuracy, EvalMetric
from runtime.metric import Loss as LossMetric

__all__ = ["Estimator"]


class Estimator:
    """Trains and evaluates a network, calling event handlers as it goes.

    Parameters
    ----------
    net: what is trained. It is initialized, where it is not.
    loss: a gluon.loss.Loss of predictions and labels.
    train_metrics: a metric or several; by default the mean loss, and the accuracy if the loss is
        SoftmaxCrossEntropyLoss. Their names get 'training ' before them.
    val_metrics: the same for `evaluate`; by default copies of the training metrics. Their names get 'validation '.
    initializer: of what is not initialized; by default that of `Block.initialize`.
    trainer: by default SGD with a learning rate of 0.001.
    context: a context or several, over which batches are split; by default the current one if it is a GPU, else the
        first GPU, or the CPU if there is none.
    val_net, val_loss: used by `evaluate` instead of `net` and `loss`.
    batch_processor: what is done with a batch; by default a BatchProcessor.
    """

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        context: Context | list[Context] | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        self.net = net
        self.loss = _check_loss(loss)
        self.val_net = val_net or net
        self.val_loss = loss if val_loss is None else _check_loss(val_loss)
        self._train_metrics = check_metrics(train_metrics) or _default_metrics(loss)
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"
        self._val_metrics = check_metrics(val_metrics) or copy.deepcopy(self._train_metrics)
        for metric in self._val_metrics:
            metric.name = f"validation {metric.name.removeprefix('training ')}"
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = _check_batch_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    @property
    def train_metrics(self) -> list[EvalMetric]:
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        return self._val_metrics

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for a number of `epochs` or of `batches`, one of which is given.

        `event_handlers` is a handler or several. Those of StoppingHandler, GradientUpdateHandler, MetricHandler,
        ValidationHandler (if there is `val_data`) and LoggingHandler that are not among them are added; they are then
        called in the order of their `priority`, 0 where they have none. An epoch ends when a `batch_end` is true,
        training when an `epoch_end` is.
        """
        _check_loader(train_data)
        epochs, batches = optional_count("epochs", epochs), optional_count("batches", batches)
        if bool(epochs) == bool(batches):
            raise ValueError(f"fit trains for epochs or for batches: give one of them, not {epochs} and {batches}")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(handlers)

        def stops(ending: list, method: str, **seen: Any) -> bool:
            return any([getattr(handler, method)(self, **seen) for handler in ending])  # all are called

        for handler in train_begin:
            handler.train_begin(self)
        while True:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            for batch in train_data:
                for handler in batch_begin:
                    handler.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if stops(batch_end, "batch_end", batch=batch, pred=pred, label=label, loss=loss):
                    break
            if stops(epoch_end, "epoch_end"):
                break
        for handler in train_end:
            handler.train_end(self)

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Compute the `val_metrics`, and log them. The handlers of this run are those given, with a MetricHandler and a
        LoggingHandler added if they are not among them."""
        _check_loader(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    # ------------------------------------------------------------ defaults

    def _initialize(self, initializer: Any) -> None:
        parameters = self.net.collect_params().values()
        if all(_is_initialized(parameter) for parameter in parameters):
            if initializer:
                warnings.warn(
                    "Network already fully initialized: the estimator's initializer is not used. "
                    "net.initialize(init, force_reinit=True) replaces the values",
                    stacklevel=3,
                )
            return
        for parameter in parameters:
            if not _is_initialized(parameter):
                parameter.initialize(default_init=initializer, ctx=self.context)

    def _check_trainer(self, trainer: Trainer | None) -> Trainer:
        if trainer is None:
            warnings.warn("No trainer specified: SGD with a learning rate of 0.001 is used", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"trainer must be a gluon.Trainer, not {trainer!r}")
        return trainer

    # ------------------------------------------------------------ handlers

    def _prepare_default_handlers(self, val_data: DataLoader | None, event_handlers: Any) -> list[EventHandler]:
        given = check_event_handlers(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(given, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.train_metrics))
        if val_data is not None and not _has(given, ValidationHandler):
            added.append(ValidationHandler(val_data, self.evaluate))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _in_order(given, added, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[EventHandler]:
        given = check_event_handlers(event_handlers)
        added: list[EventHandler] = []
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.val_metrics))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _in_order(given, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers: Sequence[EventHandler]) -> tuple[list, ...]:
        """The handlers of each event, in the order train begin, epoch begin, batch begin and end, epoch end, train
        end."""
        return tuple([h for h in event_handlers if isinstance(h, event)] for event in EVENTS)


def _has(handlers: Sequence[EventHandler], kind: type) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)


def _in_order(given: list[EventHandler], added: list[EventHandler], known: list[EvalMetric]) -> list[EventHandler]:
    """All handlers by priority. If some were added, the `metrics` of those given must be the estimator's own: others
    would not be updated."""
    for handler in given if added else ():
        for metric in getattr(handler, "metrics", None) or ():
            if not any(metric is one for one in known):
                raise ValueError(
                    f"{type(handler).__name__} has the metric '{metric.name}', which is not one of the estimator's "
                    f"({', '.join(m.name for m in known)}): take it from estimator.train_metrics or val_metrics"
                )
    return sorted(given + added, key=lambda handler: getattr(handler, "priority", 0))


def _is_initialized(parameter: Any) -> bool:
    """Whether it has values, or will have them when its shape is known."""
    try:
        parameter.list_ctx()
    except RuntimeError:
        return False
    return True


def _default_metrics(loss: Loss) -> list[EvalMetric]:
    metrics: list[EvalMetric] = [Accuracy()] if isinstance(loss, SoftmaxCrossEntropyLoss) else []
    return [*metrics, LossMetric(loss.name.rstrip("0123456789"))]


def _check_loss(loss: Any) -> Loss:
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a gluon.loss.Loss, not {loss!r}")
    return loss


def _check_loader(data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ValueError(f"Estimator takes its batches from a gluon.data.DataLoader, not from {type(data).__name__}")


def _check_context(context: Any) -> list[Context]:
    if not context:
        current = current_context()
        return [current if not current.on_cpu else gpu() if num_gpus() else cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not (isinstance(contexts, list) and all(isinstance(c, Context) for c in contexts)):
        raise ValueError(f"context must be a Context or a list of them, such as mx.cpu(), not {context!r}")
    for ctx in contexts:
        if ctx.device_type == "gpu" and ctx.device_id >= num_gpus():
            raise ArgumentError(f"{ctx} is not available: num_gpus() is {num_gpus()}")
    return contexts


def _check_batch_processor(processor: Any) -> Any:
    if processor is None:
        return BatchProcessor()
    if not all(callable(getattr(processor, method, None)) for method in ("fit_batch", "evaluate_batch")):
        raise ValueError(f"a batch processor has methods fit_batch and evaluate_batch, which {processor!r} has not")
    return processor
