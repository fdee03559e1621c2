"""Metrics: MXNet's numbers, configurations, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import metric, nd
from tests.runtime.peers.cases import LOCAL_IS_GLOBAL, METRICS, measure

MXNET = json.loads((Path(__file__).parent / "peers" / "data" / "metrics.json").read_text())


@pytest.mark.parametrize("label", METRICS)
def test_the_values_are_mxnets(label: str) -> None:
    found, expected = measure(mx, label), MXNET[label]
    if label in LOCAL_IS_GLOBAL:
        found, expected = [found[0], found[2]], expected[:2]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("label", METRICS)
def test_a_configuration_makes_an_equal_metric(label: str) -> None:
    name, arguments, _ = METRICS[label]
    made = metric.create(name, **arguments)
    config = made.get_config()
    again = metric.create(json.dumps(config))
    assert type(again) is type(made) and again.get_config() == config and again.name == made.name
    assert metric.create(config).get_config() == config
    assert np.isnan(made.get()[1]) and np.isnan(made.get_global()[1])


def test_several_metrics_in_one() -> None:
    both = metric.create(["acc", metric.F1(name="f", average="micro"), lambda label, pred: (label.size, 1)])
    assert metric.create(both.metrics[:2]).get_config()["metrics"][1]["average"] == "micro"
    both.update([nd.array([1, 0, 1])], [nd.array([[0, 1], [0, 1], [0, 1]])])
    assert both.get_name_value() == [
        ("accuracy", pytest.approx(2 / 3)),
        ("f", pytest.approx(0.8)),
        ("custom(<lambda>)", 3),
    ]
    assert both.get() == both.get_global()
    both.reset_local()
    assert np.isnan(both.get()[1][0]) and both.get_global()[1][2] == 3
    assert both.get_metric(0) is both.metrics[0]
    loss = metric.Loss()
    loss.update(None, [nd.array([3])])
    assert metric.CompositeEvalMetric([loss]).get() == (["loss"], [3])
    with pytest.raises(ValueError, match="3 metrics, none at index 7"):
        both.get_metric(7)


def test_arrays_by_name() -> None:
    accuracy = metric.Accuracy(output_names=["y"], label_names=["t"])
    arrays = {"t": nd.array([1, 0]), "y": nd.array([[0, 1], [0, 1]]), "z": nd.zeros((5,))}
    accuracy.update_dict(arrays, arrays)
    assert accuracy.get() == ("accuracy", 0.5)
    both = metric.CompositeEvalMetric([metric.Loss()], output_names=["z"])
    both.update_dict(arrays, arrays)
    assert both.get() == (["loss"], [0.0])


def test_a_metric_of_ones_own() -> None:
    @metric.register
    @metric.alias("hits")
    class Hit(metric.EvalMetric):
        def update(self, labels: list, preds: list) -> None:
            self.sum_metric += sum(int((x == y).asnumpy().sum()) for x, y in zip(labels, preds, strict=True))
            self.num_inst += 1

    for name in ("hit", "Hits"):
        found = metric.create(name, "mine")
        found.update([nd.array([1, 2])], [nd.array([1, 3])])
        assert found.get() == found.get_global() == ("mine", 1)
    assert metric.np(lambda label, pred: label.sum(), "total").name == "total"
    with pytest.raises(NotImplementedError, match="Empty must define update"):
        type("Empty", (metric.EvalMetric,), {})("x").update([], [])


def test_labels_that_are_no_classes_count_as_in_mxnet() -> None:
    scores = nd.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]])
    labels = nd.array([1, -1, -1, -1])  # what is not class 1 is the negative class
    for name, value in (("f1", 2 / 3), ("mcc", 1 / np.sqrt(3))):
        binary = metric.create(name)
        binary.update(labels, scores)
        assert binary.get()[1] == pytest.approx(value), name
    shares = metric.F1(average="micro")
    shares.update(labels, scores)
    assert (shares.metrics.precision, shares.metrics.recall) == (0.5, 1.0)
    p = {"ce": [0.7, 0.2, 0.7, 0.3], "nll_loss": [0.7, 0.2, 0.7, 0.3], "perplexity": [0.7, 0.5, 0.1, 0.2]}
    for name, of_labels in p.items():
        likelihood = metric.create(name, **({"ignore_label": None} if name == "perplexity" else {}))
        likelihood.update(labels, scores)
        assert np.exp(likelihood.sum_metric / 4) == pytest.approx(np.prod(of_labels) ** -0.25), name


A, B = nd.array([0, 1, 1]), nd.array([[0.1, 0.9], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("name", "labels", "preds", "words"),
    [
        ("acc", A, B, r"labels of shape \(3,\) do not fit predictions of shape \(2, 2\)"),
        ("acc", [A, A], [B], "Shape of labels 2 does not match shape of predictions 1"),
        ("f1", A, B, "3 labels do not match"),
        ("f1", nd.array([0, 1, 2]), nd.ones((3, 2)), "F1 currently only supports binary .* of the classes 0, 1, 2$"),
        ("pcc", nd.array([0, -1]), B, "classes are numbers from 0"),
        ("ce", nd.array([0, 2]), B, r"labels are in \[0, 2\), but these go from 0.0 to 2.0"),
        ("ce", nd.array([0, -3]), B, "labels are in"),
        ("mse", A, B, r"labels of shape \(3, 1\) do not broadcast to predictions of shape \(2, 2\)"),
        ("pearsonr", A, B, "Shape of labels"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, labels: object, preds: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        metric.create(name).update(labels, preds)


def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        metric.create("acuracy")
    with pytest.raises(ValueError, match="this is no configuration of a metric"):
        metric.create('{"metric": ')
    with pytest.raises(ValueError, match="names it under 'metric'"):
        metric.create({"name": "x"})
    with pytest.raises(TypeError, match="expected the name of a metric, not int"):
        metric.create(3)
    with pytest.raises(ValueError, match="average is 'macro' or 'micro'"):
        metric.F1(average="mean")
    with pytest.raises(ValueError, match="for 1 there is Accuracy"):
        metric.TopKAccuracy()
