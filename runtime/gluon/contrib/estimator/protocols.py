"""What event handlers and batch processors use of an `Estimator`: they are below it and cannot import it."""

from __future__ import annotations

import logging
from typing import Protocol

from runtime.context import Context
from runtime.gluon.block import Block
from runtime.gluon.loss import Loss
from runtime.gluon.trainer import Trainer
from runtime.metric import EvalMetric


class EstimatorLike(Protocol):
    """An `Estimator`, whose class says what these are."""

    net: Block
    val_net: Block
    loss: Loss
    val_loss: Loss
    trainer: Trainer
    context: list[Context]
    logger: logging.Logger
    max_epoch: int | None
    max_batch: int | None
    batch_axis: int

    @property
    def train_metrics(self) -> list[EvalMetric]: ...

    @property
    def val_metrics(self) -> list[EvalMetric]: ...
