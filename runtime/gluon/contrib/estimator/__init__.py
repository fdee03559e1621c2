"""A training loop, `Estimator`, and the handlers it calls as it goes.

`from runtime.gluon.contrib.estimator import *` gives both.
"""

from __future__ import annotations

from runtime.gluon.contrib.estimator import batch_processor, estimator, event_handler
from runtime.gluon.contrib.estimator.batch_processor import BatchProcessor
from runtime.gluon.contrib.estimator.estimator import Estimator
from runtime.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "batch_processor",
    "estimator",
    "event_handler",
]
