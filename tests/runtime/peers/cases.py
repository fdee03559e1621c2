"""Metrics that are compared with MXNet's, and the arrays they are updated with. Imports nothing but NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

METRICS: dict[str, tuple[str, dict[str, Any], str]] = {
    "accuracy": ("acc", {}, "classes"),
    "top_k_accuracy": ("top_k_accuracy", {"top_k": 3}, "classes"),
    "f1 macro": ("f1", {}, "binary"),
    "f1 micro": ("f1", {"average": "micro"}, "binary"),
    "mcc macro": ("mcc", {}, "binary"),
    "mcc micro": ("mcc", {"average": "micro"}, "binary"),
    "pcc": ("pcc", {}, "classes"),
    "perplexity": ("perplexity", {"ignore_label": None}, "classes"),
    "perplexity that ignores": ("perplexity", {"ignore_label": 2}, "classes"),
    "cross-entropy": ("ce", {}, "classes"),
    "nll": ("nll_loss", {"eps": 1e-3}, "classes"),
    "mae": ("mae", {}, "numbers"),
    "mse": ("mse", {}, "numbers"),
    "rmse": ("rmse", {}, "numbers"),
    "mae of labels that broadcast": ("mae", {}, "one each"),
    "mse of labels that broadcast": ("mse", {}, "one each"),
    "rmse of labels that broadcast": ("rmse", {}, "one each"),
    "pearson macro": ("pearsonr", {}, "pairs"),
    "pearson micro": ("pearsonr", {"average": "micro"}, "pairs"),
    "loss": ("loss", {}, "numbers"),
}
"""By label: the metric's name, its arguments, and the kind of arrays it takes."""

LOCAL_IS_GLOBAL = ("pearson micro",)
"""Metrics whose `reset_local` does nothing in MXNet, and whose `get_global` is 0."""


def batches(kind: str) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Labels and predictions of five batches, of two arrays each."""
    rng = np.random.RandomState(7)
    for _ in range(5):
        if kind == "numbers":
            yield [rng.rand(6), rng.rand(4, 3)], [rng.rand(6, 1), rng.rand(4, 3)]
            continue
        if kind == "one each":
            yield [rng.rand(6), rng.rand(4, 1)], [rng.rand(6, 5), rng.rand(4, 3)]
            continue
        if kind == "pairs":
            yield [rng.rand(6), rng.rand(4, 3)], [rng.rand(6), rng.rand(4, 3)]
            continue
        classes = 2 if kind == "binary" else 5
        scores = [rng.rand(n, classes) for n in (8, 5)]
        yield (
            [rng.randint(0, classes, n) for n in (8, 5)],
            [s / s.sum(axis=1, keepdims=True) for s in scores],
        )


def measure(mx: Any, label: str) -> list[float]:
    """`get` after two batches, then, after `reset_local` and the other three, `get` and `get_global`."""
    name, arguments, kind = METRICS[label]
    metric = mx.metric.create(name, **arguments)
    values = []
    for i, (labels, preds) in enumerate(batches(kind)):
        if i == 2:
            values.append(metric.get()[1])
            metric.reset_local()
        metric.update([mx.nd.array(x) for x in labels], [mx.nd.array(x) for x in preds])
    return [float(v) for v in (*values, metric.get()[1], metric.get_global()[1])]
