"""Initializers beyond those that tests of gluon use: their values, names, and what they are written down as."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import init, nd


def filled(initializer: Callable, shape: tuple[int, ...], name: str = "x_weight") -> np.ndarray:
    array = nd.full(shape, 7)
    initializer(init.InitDesc(name), array)
    return array.asnumpy()


def test_what_names_end_with_decides() -> None:
    class Ones(init.Initializer):
        def _init_weight(self, name: str, arr: nd.NDArray) -> None:
            arr[:] = 3

        def _init_bias(self, name: str, arr: nd.NDArray) -> None:
            arr[:] = 2

    endings = {"weight": 3, "bias": 2, "gamma": 1, "beta": 0, "running_mean": 0, "moving_var": 1, "min": 0, "max": 1}
    for ending, value in endings.items():
        assert (filled(Ones(), (2,), "a_" + ending) == value).all(), ending
    with pytest.raises(ValueError, match="no default for a parameter named 'thing'"):
        filled(Ones(), (2,), "thing")
    with pytest.raises(NotImplementedError, match="must define _init_weight"):
        filled(init.Initializer(), (2,))


@pytest.mark.parametrize(("shape", "rand_type"), [((4, 6), "uniform"), ((6, 4), "normal"), ((4, 2, 3), "normal")])
def test_orthogonal(shape: tuple[int, ...], rand_type: str) -> None:
    x = filled(init.Orthogonal(scale=2, rand_type=rand_type), shape).reshape(shape[0], -1)
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize("row", [[0.25, 0.75, 0.75, 0.25], [0.25, 0.75, 0.75]])  # MXNet's, also for odd lengths
def test_bilinear(row: list[float]) -> None:
    n = len(row)
    np.testing.assert_array_equal(filled(init.Bilinear(), (2, 1, n, n))[1, 0], np.outer(row, row))
    with pytest.raises(ValueError, match="needs a weight with four axes"):
        filled(init.Bilinear(), (2, 2))


def test_lstm_bias_and_msra() -> None:
    assert filled(init.LSTMBias(2.5), (8,)).tolist() == [0, 0, 2.5, 2.5, 0, 0, 0, 0]
    mx.random.seed(0)
    assert filled(init.MSRAPrelu(slope=0.5), (300, 200)).std() == pytest.approx((2 / 1.25 / 250) ** 0.5, rel=0.02)


@pytest.mark.parametrize(
    "initializer",
    [
        init.Zero(),
        init.One(),
        init.Constant(3),
        init.Constant(nd.array([1, 2])),
        init.Uniform(0.5),
        init.Normal(2),
        init.Orthogonal(1, "normal"),
        init.Xavier("gaussian", "in", 2),
        init.MSRAPrelu("out", 0.1),
        init.Bilinear(),
        init.LSTMBias(3),
    ],
    ids=lambda i: type(i).__name__,
)
def test_what_is_written_down_makes_an_equal_one(initializer: init.Initializer) -> None:
    assert init.create(initializer.dumps()) == initializer
    assert initializer != init.Normal(17)
    assert init.create(initializer) is initializer


@pytest.mark.parametrize("value", [nd.array([[1, 2]]), np.ones((2, 1)), np.float32(2), 0.5], ids=repr)
def test_a_constant_that_was_written_down_is_the_same_to_initialize_with(value: object) -> None:
    constant, arrays = init.Constant(value), [nd.zeros((2, 2)), nd.zeros((2, 2))]
    constant("w_weight", arrays[0])
    written = constant.dumps()
    assert written == json.dumps(["constant", constant._kwargs])  # as MXNet's own tests ask
    constant("w_weight", arrays[1])
    np.testing.assert_array_equal(arrays[0].asnumpy(), arrays[1].asnumpy())
    assert constant == init.Constant(value) and constant.value is value


def test_names() -> None:
    assert (
        init.Xavier(magnitude=2).dumps() == '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2}]'
    )
    assert init.create("normal", sigma=3) == init.Normal(3) and init.create("zeros") == init.Zero()

    @init.register
    @init.alias("half_")
    class Halves(init.Constant):
        def __init__(self) -> None:
            super().__init__(0.5)

    assert isinstance(init.create("half_"), Halves) and isinstance(init.create("halves"), Halves)
    with pytest.raises(ValueError, match="this is no configuration"):
        init.create("[1, 2")


def test_mixed_and_load(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mixed = init.Mixed(["fc_.*", ".*bias"], [init.One(), init.Constant(4)])
    assert (filled(mixed, (2,), "fc_weight") == 1).all() and (filled(mixed, (2,), "a_bias") == 0).all()
    with pytest.raises(ValueError, match="no pattern matches 'other'"):
        filled(mixed, (2,), "other")
    with pytest.raises(ValueError, match="1 patterns, but 2 initializers"):
        init.Mixed(["x"], [init.One(), init.One()])

    nd.save(str(tmp_path / "w.params"), {"arg:a_weight": nd.array([1, 2])})
    load = init.Load(str(tmp_path / "w.params"), default_init=init.One(), verbose=True)
    with caplog.at_level(logging.INFO):
        assert filled(load, (2,), "a_weight").tolist() == [1, 2]
        assert filled(load, (3,), "b_weight").tolist() == [1, 1, 1]
    assert [r.getMessage() for r in caplog.records] == [
        "Initialized a_weight by loading",
        "Initialized b_weight by default",
    ]
    with pytest.raises(ValueError, match=r"'a_weight' has shape \(3,\), but what is loaded for it has shape \(2,\)"):
        filled(load, (3,), "a_weight")
    with pytest.raises(ValueError, match="'a_weigth', which is not in what is loaded; did you mean 'a_weight'"):
        filled(init.Load({"a_weight": nd.ones((2,))}), (2,), "a_weigth")


def test_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        filled(init.Constant(2).set_verbosity(True), (4,))
        filled(init.One().set_verbosity(True, lambda x: str(x.size)), (4,), "x_gamma")
    assert [r.getMessage() for r in caplog.records] == [
        "Initialized x_weight as weight: 2.0",
        "Initialized x_gamma as gamma: 4",
    ]


@pytest.mark.parametrize(("mode", "gates"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_packed_weights_of_recurrent_networks(mode: str, gates: int, bidirectional: bool) -> None:
    layers, hidden, inputs, directions = 3, 5, 7, 1 + bidirectional
    of_one = [gates * hidden * (n + hidden + 2) for n in (inputs, directions * hidden, directions * hidden)]
    vector = nd.zeros((directions * sum(of_one),))
    fused = init.FusedRNN(init.Uniform(1), hidden, layers, mode, bidirectional, forget_bias=3)
    fused._init_weight(init.InitDesc("parameters"), vector)
    matrices, biases = np.split(vector.asnumpy(), [-2 * gates * hidden * directions * layers])
    assert (matrices != 0).all() and (np.abs(matrices) < 1).all()
    expected = np.zeros((layers * directions * 2, gates, hidden))
    if mode == "lstm":
        expected[:, 1] = 3
    np.testing.assert_array_equal(biases, expected.ravel())
    assert init.create(fused.dumps()) == fused
    with pytest.raises(ValueError, match=rf"'w' of shape \(7,\) is no vector of the weights of FusedRNN\(.*'{mode}'"):
        fused._init_weight("w", nd.zeros((7,)))


def test_what_packed_weights_go_by() -> None:
    vector = nd.zeros((2 * (3 + 2 + 2),))
    for_all = init.InitDesc("w", {"__init__": init.FusedRNN(None, 2, 1, "rnn_relu").dumps()}, init.One())
    init.One()(for_all, vector)
    np.testing.assert_array_equal(vector.asnumpy(), [1] * 10 + [0] * 4)
    with pytest.raises(ValueError, match="needs init= for 'w'"):
        init.FusedRNN(None, 2, 1, "rnn_relu")._init_weight("w", vector)
    with pytest.raises(ValueError, match="unknown mode 'ltsm'; did you mean 'lstm'"):
        init.FusedRNN("ones", 2, 1, "ltsm")
