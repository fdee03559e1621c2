"""Handlers that monitor a metric: they save checkpoints, or stop when it no longer improves."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

from runtime.base import ArgumentError, count, optional_count
from runtime.core.files import without_link
from runtime.gluon.block import HybridBlock
from runtime.gluon.contrib.estimator.events import BatchEnd, EpochEnd, TrainBegin, TrainEnd
from runtime.gluon.contrib.estimator.protocols import EstimatorLike
from runtime.metric import CompositeEvalMetric, EvalMetric


class _Watch:
    """The best value of a metric.

    mode: 'max' if greater values are better, 'min' if smaller ones are; with 'auto', greater ones are for a metric that
    has 'acc', 'f1', 'mcc', 'pcc' or 'pearson' in its name.
    """

    def __init__(self, monitor: Any, mode: str, min_delta: float = 0) -> None:
        if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
            raise ValueError(
                f"monitor must be one metric of estimator.train_metrics or estimator.val_metrics, not {monitor!r}"
            )
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"the mode {mode!r} is unknown: 'auto' is used", RuntimeWarning, stacklevel=4)
            mode = "auto"
        if mode == "auto":
            mode = "max" if re.search("acc|f1|mcc|pcc|pearson", monitor.name.lower()) else "min"
        self.monitor = monitor
        self._sign = 1 if mode == "max" else -1
        self._min_delta = min_delta
        self.start()

    def start(self, baseline: float | None = None) -> None:
        self.best = -self._sign * math.inf if baseline is None else baseline

    def value(self) -> float:
        """The metric now; nan, with a warning, if it was not updated."""
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"'{name}' was not updated: monitor a metric of estimator.train_metrics or estimator.val_metrics",
                RuntimeWarning,
                stacklevel=4,
            )
        return value

    def improves(self, value: float) -> bool:
        """Whether `value` is better than the best by more than min_delta; it then is the best."""
        if not self._sign * (value - self.best) > self._min_delta:
            return False
        self.best = value
        return True


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when `monitor` has not become better, by more than `min_delta`, for `patience` epochs.

    mode: whether that means greater ('max') or smaller ('min'); 'auto' goes by the metric's name.
    baseline: what the first value is compared with.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        self._watch = _Watch(monitor, mode, min_delta)
        self.monitor = monitor
        self.baseline = baseline
        self.patience = count("patience", patience, 0)
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False

    @property
    def best(self) -> float:
        return self._watch.best

    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self._watch.start(self.baseline)

    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> bool:
        value = self._watch.value()
        if self._watch.improves(value):
            self.wait = 0
        elif not math.isnan(value):
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.name,
            )


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters and trainer states as it goes, to `PREFIX-epochEbatchB.params` and `.states`.

    The graph of a hybridized network is saved once, after the first batch, to `PREFIX-symbol.json`.

    Parameters
    ----------
    model_dir, model_prefix: the folder, which is made if need be, and what files there begin with.
    monitor: a metric, to save the best with.
    verbose: above 0, each checkpoint is logged.
    save_best: also keep the parameters and states with the best `monitor` seen, as `PREFIX-best`.
    mode: whether best means greatest ('max') or smallest ('min'); 'auto' goes by the metric's name.
    epoch_period, batch_period: save every so many epochs, or batches; None: never.
    max_checkpoints: how many are kept; older ones are removed.
    resume_from_checkpoint: load the last checkpoint in `model_dir`, and train for what is left of the epochs or
        batches. Needs the period of the kind `fit` counts in, and only that.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        self._watch = _Watch(monitor, mode) if save_best else None
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.monitor = monitor
        self.verbose = verbose
        self.save_best = save_best
        self.epoch_period = optional_count("epoch_period", epoch_period)
        self.batch_period = optional_count("batch_period", batch_period)
        self.max_checkpoints = count("max_checkpoints", max_checkpoints, 0)
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.current_epoch = self.current_batch = 0
        self.trained_epoch = self.trained_batch = -1  # of the checkpoint training went on from, if there was one
        Path(model_dir).mkdir(parents=True, exist_ok=True)

    def train_begin(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        self.current_epoch = self.current_batch = 0
        if self._watch is not None:
            self._watch.start()
        if self.resume_from_checkpoint:
            self._resume(estimator)

    def batch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:
            self._save_graph(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: EstimatorLike, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # ------------------------------------------------------------ saving

    def _save_checkpoint(self, estimator: EstimatorLike) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.trained_epoch >= 0:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (not estimator.max_epoch)  # at an epoch's end the batch is counted already
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save(estimator, prefix)
        self.saved_checkpoints.append(prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))
        self._log(estimator, f"saved {prefix} to {self.model_dir}")
        if self._watch is not None:
            self._save_if_best(estimator)

    def _save_if_best(self, estimator: EstimatorLike) -> None:
        before, value = self._watch.best, self._watch.value()
        if self._watch.improves(value):
            self._save(estimator, f"{self.model_prefix}-best")
            self._log(estimator, f"{self.monitor.name} improved from {before:.5f} to {value:.5f}")
        else:
            self._log(estimator, f"{self.monitor.name} did not improve from {before:.5f}")

    def _save(self, estimator: EstimatorLike, prefix: str) -> None:
        estimator.net.save_parameters(self._file(prefix + ".params"))
        estimator.trainer.save_states(self._file(prefix + ".states"))

    def _save_graph(self, estimator: EstimatorLike) -> None:
        net, name = estimator.net, f"{self.model_prefix}-symbol.json"
        try:
            if isinstance(net, HybridBlock) and net._active:
                net._graph("saving its graph").save(self._file(name))
                return
            reason = "only a HybridBlock that is hybridized before fit has one"
        except Exception as error:  # whatever makes a network no graph, it trains all the same
            reason = str(error)
        estimator.logger.info(
            "CheckpointHandler: the graph of the network is not saved to %s: %s", Path(self.model_dir, name), reason
        )

    def _file(self, name: str) -> str:
        """The path of a file to write."""
        return str(without_link(Path(self.model_dir, name)))

    def _remove(self, prefix: str) -> None:
        for ending in (".params", ".states"):
            Path(self.model_dir, prefix + ending).unlink(missing_ok=True)

    def _log(self, estimator: EstimatorLike, message: str) -> None:
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", self.current_epoch, message)

    # ------------------------------------------------------------ going on from a checkpoint

    def _resume(self, estimator: EstimatorLike) -> None:
        counted, other = self.epoch_period, self.batch_period
        if estimator.max_batch:
            counted, other = other, counted
        if not counted or other:
            kind = "batch" if estimator.max_batch else "epoch"
            raise ArgumentError(
                f"to resume training whose length is given by the {kind}, set {kind}_period and no other"
            )
        self.saved_checkpoints = self._find()
        if not self.saved_checkpoints:
            estimator.logger.info("CheckpointHandler: no checkpoint in %s: training from scratch", self.model_dir)
            return
        last = self.saved_checkpoints[-1]
        self.trained_epoch, self.trained_batch = self._numbers(last)
        if estimator.max_epoch:
            estimator.max_epoch = self._left("epoch", estimator.max_epoch, self.trained_epoch)
        else:
            estimator.max_batch = self._left("batch", estimator.max_batch, self.trained_batch)
        estimator.net.load_parameters(str(Path(self.model_dir, last + ".params")), ctx=estimator.context)
        estimator.trainer.load_states(str(Path(self.model_dir, last + ".states")))
        estimator.logger.warning("CheckpointHandler: going on from %s", last)

    def _find(self) -> list[str]:
        """The checkpoints in the folder, oldest first."""
        found = [path.stem for path in Path(self.model_dir).glob("*.params")]
        return sorted((prefix for prefix in found if self._numbers(prefix)), key=self._numbers)

    def _numbers(self, prefix: str) -> tuple[int, int] | None:
        """Epoch and batch of a checkpoint; None for other files."""
        match = re.fullmatch(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)", prefix)
        return (int(match[1]), int(match[2])) if match else None

    def _left(self, kind: str, wanted: int, trained: int) -> int:
        if trained >= wanted - 1:
            raise ValueError(
                f"the checkpoint in {self.model_dir} is of {kind} {trained} already, counted from 0, and fit is asked "
                f"for {wanted}; with resume_from_checkpoint=False training starts from scratch"
            )
        return wanted - trained - 1
