"""The estimator: what it does in which order, what it saves and goes on from, and what it refuses."""

from __future__ import annotations

import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, metric, nd, symbol
from runtime.gluon import nn
from runtime.gluon.contrib import estimator as contrib
from runtime.gluon.contrib.estimator import Estimator, event_handler

pytestmark = pytest.mark.filterwarnings("ignore:No trainer specified")


def loader(n: int = 32) -> gluon.data.DataLoader:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype("float32")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(x, (x[:, 0] > 0).astype("float32")), batch_size=8)


def quiet(**arguments: Any) -> Estimator:
    """An estimator of a small classifier, which logs to nowhere."""
    arguments = {"loss": gluon.loss.SoftmaxCrossEntropyLoss(), **arguments}
    if "net" not in arguments:
        arguments["net"] = nn.Dense(2)
    made = Estimator(**arguments)
    made.logger.handlers = [logging.StreamHandler(io.StringIO())]
    return made


def log_of(made: Estimator) -> list[str]:
    return made.logger.handlers[0].stream.getvalue().splitlines()


class Recorder(
    event_handler.TrainBegin,
    event_handler.EpochBegin,
    event_handler.BatchBegin,
    event_handler.BatchEnd,
    event_handler.EpochEnd,
    event_handler.TrainEnd,
):
    """Notes what it is called for; says stop at the batch and epoch of these numbers."""

    def __init__(self, stop_batch: int = -1, stop_epoch: int = -1) -> None:
        self.seen = ""
        self.stop_batch, self.stop_epoch = stop_batch, stop_epoch

    def train_begin(self, estimator: Estimator) -> None:
        self.seen += "T"

    def epoch_begin(self, estimator: Estimator) -> None:
        self.seen += "E"

    def batch_begin(self, estimator: Estimator, batch: Any) -> None:
        assert len(batch) == 2
        self.seen += "b"

    def batch_end(self, estimator: Estimator, batch: Any, pred: list, label: list, loss: list) -> bool:
        assert [x.shape for x in (*pred, *label, *loss)] == [(8, 2), (8,), (8,)]
        self.seen += "."
        return self.seen.count(".") == self.stop_batch

    def epoch_end(self, estimator: Estimator) -> bool:
        self.seen += "e"
        return self.seen.count("e") == self.stop_epoch

    def train_end(self, estimator: Estimator) -> None:
        self.seen += "t"


def test_the_order_of_events_and_stopping() -> None:
    for handler, wanted, seen in [
        (Recorder(), {"epochs": 2}, "TEb.b.b.b.eEb.b.b.b.et"),
        (Recorder(), {"batches": 5}, "TEb.b.b.b.eEb.et"),
        (Recorder(stop_batch=2), {"epochs": 2}, "TEb.b.eEb.b.b.b.et"),
        (Recorder(stop_epoch=1), {"epochs": 2}, "TEb.b.b.b.et"),
    ]:
        quiet().fit(loader(), event_handlers=handler, **wanted)
        assert handler.seen == seen


def test_training_validation_and_what_is_logged() -> None:
    net = nn.Dense(2)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    made = quiet(net=net, trainer=trainer)
    assert [m.name for m in made.train_metrics] == ["training accuracy", "training softmaxcrossentropyloss"]
    assert [m.name for m in made.val_metrics] == ["validation accuracy", "validation softmaxcrossentropyloss"]
    made.fit(loader(), val_data=loader(), epochs=20)
    assert made.train_metrics[0].get()[1] > 0.9 and made.val_metrics[0].get()[1] > 0.9
    found = metric.Loss()
    for x, y in loader():
        found.update(None, made.loss(net(x), y))
    assert made.val_metrics[1].get()[1] == pytest.approx(found.get()[1])
    lines = log_of(made)
    assert lines[0] == "Training begin: using optimizer SGD with current learning rate 1.0000 "
    assert lines[1:4] == ["Train for 20 epochs.", "[Epoch 0] Begin, current learning rate: 1.0000", "Validation Begin"]
    assert lines[4].startswith("[Epoch 0] Finished in ") and "validation accuracy: " in lines[4]
    assert "training accuracy: " in lines[5] and lines[-1].startswith("Train finished using total ")

    each = contrib.LoggingHandler(log_interval=3, metrics=made.train_metrics)
    before = len(log_of(made))
    made.fit(loader(40), epochs=1, event_handlers=each)
    assert [line.split("]")[1:3] for line in log_of(made)[before:] if "interval" in line] == [
        ["[Batch 0", "[Samples 8"],
        ["[Batch 3", "[Samples 32"],
    ]


def test_several_contexts_give_the_same_weights() -> None:
    weights = []
    for ctx in (mx.cpu(0), [mx.cpu(0), mx.cpu(1)]):
        net = nn.Dense(2, in_units=3)
        net.initialize(mx.init.One(), ctx=ctx)
        trainer = gluon.Trainer(net.collect_params(), "adam")
        made = quiet(net=net, trainer=trainer, context=ctx)
        made.fit(loader(), epochs=1)
        weights.append(net.weight.data(mx.cpu(0)).asnumpy())
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-5)


def files(folder: Path) -> set[str]:
    assert all((folder / f"{path.stem}.states").exists() for path in folder.glob("*.params"))
    return {path.stem for path in folder.glob("*.params")}


def test_checkpoints(tmp_path: Path) -> None:
    made = quiet(net=nn.Dense(2, in_units=3), train_metrics=metric.Accuracy())
    handler = contrib.CheckpointHandler(
        str(tmp_path / "a"), "m", monitor=made.train_metrics[0], save_best=True, max_checkpoints=2, verbose=1
    )
    made.fit(loader(), epochs=3, event_handlers=[handler])
    assert files(tmp_path / "a") == {"m-best", "m-epoch1batch8", "m-epoch2batch12"}
    assert any("CheckpointHandler: saved m-epoch0batch4 to" in line for line in log_of(made))
    saved = nn.Dense(2, in_units=3)
    saved.load_parameters(str(tmp_path / "a" / "m-epoch2batch12.params"))
    np.testing.assert_array_equal(saved.weight.data().asnumpy(), made.net.weight.data().asnumpy())

    by_batch = contrib.CheckpointHandler(str(tmp_path / "b"), epoch_period=None, batch_period=2)
    quiet().fit(loader(), batches=5, event_handlers=[by_batch])
    assert files(tmp_path / "b") == {"model-epoch0batch1", "model-epoch0batch3"}


def test_a_checkpoint_of_a_hybridized_network_has_its_graph(tmp_path: Path) -> None:
    net = nn.Dense(2, in_units=3, prefix="d_")
    made = quiet(net=net)
    made.fit(loader(), epochs=1, event_handlers=[contrib.CheckpointHandler(str(tmp_path))])
    assert not list(tmp_path.glob("*.json"))
    assert sum("model-symbol.json: only a HybridBlock that is hybridized" in line for line in log_of(made)) == 1
    net.hybridize()
    quiet(net=net).fit(loader(), epochs=1, event_handlers=[contrib.CheckpointHandler(str(tmp_path))])
    assert symbol.load(str(tmp_path / "model-symbol.json")).list_arguments() == ["data", "d_weight", "d_bias"]


def test_going_on_from_a_checkpoint(tmp_path: Path) -> None:
    def fit(epochs: int, folder: Path, resume: bool) -> Estimator:
        net = nn.Dense(2, in_units=3)
        net.initialize(mx.init.One())
        made = quiet(net=net, trainer=gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}))
        handler = contrib.CheckpointHandler(str(folder), resume_from_checkpoint=resume)
        made.fit(loader(), epochs=epochs, event_handlers=[handler])
        return made

    fit(2, tmp_path / "cut", True)
    resumed = fit(5, tmp_path / "cut", True)
    assert resumed.max_epoch == 3 and "model-epoch4batch20" in files(tmp_path / "cut")
    whole = fit(5, tmp_path / "whole", False)
    np.testing.assert_array_equal(resumed.net.weight.data().asnumpy(), whole.net.weight.data().asnumpy())
    with pytest.raises(ValueError, match="is of epoch 4 already"):
        fit(5, tmp_path / "cut", True)
    wrong = contrib.CheckpointHandler(str(tmp_path / "cut"), batch_period=1, resume_from_checkpoint=True)
    with pytest.raises(ValueError, match="set epoch_period and no other"):
        quiet().fit(loader(), epochs=1, event_handlers=[wrong])


def test_stopping_early() -> None:
    class Given(metric.EvalMetric):
        def __init__(self, name: str, values: list[float]) -> None:
            self.values = values
            super().__init__(name)

        def update(self, labels: Any, preds: Any) -> None: ...

        def get(self) -> tuple[str, float]:
            return self.name, self.values[0]

    class Next(event_handler.EpochEnd):
        priority = 1

        def epoch_end(self, estimator: Estimator) -> None:
            estimator.train_metrics[0].values.pop(0)

    def epochs(name: str, values: list[float], **arguments: Any) -> int:
        made = quiet(train_metrics=Given(name, [*values, float("nan")]))
        handler = contrib.EarlyStoppingHandler(made.train_metrics[0], **arguments)
        made.fit(loader(8), epochs=len(values), event_handlers=[handler, Next()])
        return handler.current_epoch

    assert epochs("accuracy", [1, 2, 3, 2, 4]) == 4
    assert epochs("error", [3, 2, 1, 2, 0]) == 4
    assert epochs("accuracy", [1, 2, 3, 2, 4], patience=2) == 5
    assert epochs("accuracy", [1, 2, 3, 2, 4], min_delta=1.5) == 2
    assert epochs("accuracy", [3, 2, 1], mode="min") == 3
    assert epochs("accuracy", [3, 4, 5], baseline=10) == 1
    with pytest.warns(RuntimeWarning, match="was not updated"):
        assert epochs("accuracy", [float("nan"), 1]) == 2


def test_what_is_initialized_already_stays() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        quiet(net=net, initializer=mx.init.Zero())
    assert (net.weight.data().asnumpy() == 1).all()
    both = nn.Sequential()
    both.add(net, nn.Dense(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = quiet(net=both, initializer=mx.init.Zero(), trainer=gluon.Trainer(net.collect_params(), "sgd"))
        made.evaluate(loader())
    assert (net.weight.data().asnumpy() == 1).all() and (both[1].weight.data().asnumpy() == 0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": "mse"}, r"loss must be a gluon\.loss\.Loss, not 'mse'"),
        ({"train_metrics": "acc"}, "metrics must be an EvalMetric"),
        ({"trainer": "sgd"}, r"trainer must be a gluon\.Trainer"),
        ({"context": "cpu"}, "context must be a Context or a list"),
        ({"context": [mx.gpu(100)]}, r"gpu\(100\) is not available"),
        ({"batch_processor": object()}, "has methods fit_batch and evaluate_batch"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        quiet(**arguments)


def test_what_fit_and_handlers_refuse() -> None:
    made = quiet()
    for wrong in ([nd.ones((8, 3))], None):
        with pytest.raises(ValueError, match=r"takes its batches from a gluon\.data\.DataLoader"):
            made.fit(wrong, epochs=1)
        with pytest.raises(ValueError, match=r"takes its batches from a gluon\.data\.DataLoader"):
            made.evaluate(wrong)
    for wanted in ({}, {"epochs": 1, "batches": 2}):
        with pytest.raises(ValueError, match="for epochs or for batches"):
            made.fit(loader(), **wanted)
    with pytest.raises(ValueError, match="must be an EventHandler"):
        made.fit(loader(), epochs=1, event_handlers=["x"])
    with pytest.raises(ValueError, match="MetricHandler has the metric 'mine', which is not one of the estimator's"):
        made.fit(loader(), epochs=1, event_handlers=contrib.MetricHandler(metric.Loss("mine")))
    with pytest.raises(ValueError, match="log_interval is a number of batches or 'epoch'"):
        contrib.LoggingHandler(log_interval="batch")
    with pytest.raises(ValueError, match="monitor must be one metric"):
        contrib.EarlyStoppingHandler(metric.create(["acc"]))


def test_checkpoints_do_not_go_where_links_lead(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    for name in ("model-epoch0batch4.params", "model-epoch0batch4.states", "model-symbol.json"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    net = nn.Dense(2, in_units=3)
    net.hybridize()
    quiet(net=net).fit(loader(), epochs=1, event_handlers=[contrib.CheckpointHandler(str(tmp_path))])
    assert (tmp_path / "precious").read_text() == "precious"
    assert files(tmp_path) == {"model-epoch0batch4"}
    assert len(symbol.load(str(tmp_path / "model-symbol.json")).list_arguments()) == 3
