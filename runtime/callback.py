"""Functions that a training loop calls after a batch or an epoch.

Their argument has the attributes `epoch`, `nbatch` (batches of this epoch so far) and `eval_metric` (an
EvalMetric or None), and `locals`; `BatchEndParam` makes one. They write to Python's root logger, at level INFO.
"""

from __future__ import annotations

import logging
import math
import numbers
import time
from collections.abc import Callable
from typing import Any

from runtime import base
from runtime.model import BatchEndParam, save_checkpoint

__all__ = [
    "BatchEndParam",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]


def _period(name: str, value: Any) -> float:
    """The argument `name`, a number of batches above 0. It need not be whole, as 20000 / batch_size often is not:
    then it is over at batches that are its multiples."""
    if not isinstance(value, numbers.Real) or not value > 0:
        raise base.ArgumentError(f"{name} must be a number above 0, not {value!r}")
    return value


class Speedometer:
    """Logs samples a second, and the metric, every `frequent` batches of `batch_size` samples; with `auto_reset`, the
    metric then starts anew (`reset_local`)."""

    def __init__(self, batch_size: int, frequent: float = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = _period("frequent", frequent)
        self.auto_reset = auto_reset
        self.last_count = 0
        self._since: float | None = None

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if count < self.last_count or self._since is None:  # an epoch begins
            self._since = time.perf_counter()
        elif count % self.frequent == 0:
            self._report(param, count)
            self._since = time.perf_counter()
        self.last_count = count

    def _report(self, param: Any, count: int) -> None:
        seconds = time.perf_counter() - self._since
        speed = self.frequent * self.batch_size / seconds if seconds else math.inf
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        values = param.eval_metric.get_name_value()
        if self.auto_reset:
            param.eval_metric.reset_local()
        begin = count - self.frequent if self.auto_reset else 0
        metrics = "".join(f"\t{name}={value:f}" for name, value in values)
        logging.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s", param.epoch, begin, count, speed, metrics)


class ProgressBar:
    """Logs a bar of `length` characters that fills as the `total` batches of an epoch are done."""

    def __init__(self, total: float, length: int = 80) -> None:
        self.bar_len = base.count("length", length)
        self.total = _period("total", total)

    def __call__(self, param: Any) -> None:
        done = param.nbatch / self.total
        filled = round(self.bar_len * done)
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100 * done), "%")


class LogValidationMetricsCallback:
    """Logs the metric at the end of an epoch."""

    def __call__(self, param: Any) -> None:
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def log_train_metric(period: float, auto_reset: bool = False) -> Callable[[Any], None]:
    """A callback that logs the metric every `period` batches; with `auto_reset`, it then starts anew."""
    period = _period("period", period)

    def call(param: Any) -> None:
        if param.eval_metric is None or param.nbatch % period:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return call


def do_checkpoint(prefix: str, period: float = 1) -> Callable[..., None]:
    """A callback for the end of an epoch: every `period` epochs, it saves what `model.save_checkpoint` does.

    Its arguments are the number of the epoch, the symbol, arguments and auxiliary states.
    """
    period = max(1, int(period))

    def save(epoch: int, symbol: Any = None, arg_params: Any = None, aux_params: Any = None) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params or {}, aux_params or {})

    return save


def module_checkpoint(
    mod: Any, prefix: str, period: float = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """A callback for the end of an epoch: every `period` epochs, `mod.save_checkpoint`."""
    period = max(1, int(period))

    def save(epoch: int, symbol: Any = None, arg_params: Any = None, aux_params: Any = None) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return save
