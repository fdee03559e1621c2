"""Metrics of predictions, accumulated over batches.

`base` has the base class; `classification` and `regression` have the metrics.
"""

from __future__ import annotations

from runtime import ndarray
from runtime.metric.base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from runtime.metric.classification import (
    F1,
    MCC,
    PCC,
    Accuracy,
    CrossEntropy,
    NegativeLogLikelihood,
    Perplexity,
    TopKAccuracy,
)
from runtime.metric.regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "ndarray",
    "np",
    "register",
]
