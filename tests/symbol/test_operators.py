"""Operators as symbols, beside those of MXNet: graphs, names, shapes, types, values and gradients."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime.symbol import functions, table
from tests.symbol.results import FAMILIES, result


@cache
def _of_mxnet(family: str) -> dict:
    return json.loads(gzip.decompress((Path(__file__).parent / "data" / f"{family}.json.gz").read_bytes()))


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, cases in FAMILIES.items() for name in cases])
def test_results_are_those_of_mxnet(family: str, name: str) -> None:
    expected, found = _of_mxnet(family)[name], result(mx, FAMILIES[family][name])
    for key in ("names", "internals", "shapes", "types"):
        assert found[key] == expected[key], key
    for node, other in zip(found["json"]["nodes"], expected["json"]["nodes"], strict=True):
        assert node == other
    assert found["json"]["heads"] == expected["json"]["heads"]
    if name != "leakyselu":  # MXNet's slope of selu below zero is 1 % off
        _check_values(found.get("grads", {}), expected.get("grads", {}))
    _check_values(found.get("states", {}), expected.get("states", {}))
    _check_values(dict(enumerate(found["outputs"])), dict(enumerate(expected["outputs"])))


def _check_values(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for key, values in found.items():
        np.testing.assert_allclose(values, expected[key], 1e-3, 1e-4, err_msg=str(key))


def test_every_operator_of_the_table_is_computed() -> None:
    for name in table.names():
        assert functions.documentation(table.find(name))


# ---------------------------------------------------------------- no attribute is lost

SPECIAL = {name for name in table.names() if table.find(name).open or table.find(name).graphs}


class _Noted(Mapping):
    """Values of attributes, which notes those that are read."""

    def __init__(self, values: dict) -> None:
        self._values = values
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> object:
        self.read.add(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _read_by(name: str) -> set[str]:
    """The attributes that a function of `_SPELLED` reads, given nothing that it can compute with."""
    operator = table.find(name)
    given = {"int": "1", "float": "1", "shape": "(1,)", "floats": "(1,)", "str": "a"}
    texts = {key: given[x.kind.removesuffix("?")] for key, x in operator.attributes.items() if x.required}
    old = {"target_shape": "(1,)"} if name == "Reshape" else {}  # without which `keep_highest` is not read
    noted = _Noted(operator.values(texts | old))
    with contextlib.suppress(Exception):
        functions._SPELLED[name]([mx.nd.ones((2, 2))] * 8, noted)
    return noted.read


def test_every_attribute_is_taken_or_harmless_or_refused() -> None:
    """A harmless one is named with its reason, in HARMLESS; others that nothing takes must have their default."""
    lost, refused = set(), set()
    for name in {table.find(name).name for name in table.names()} - SPECIAL:
        operator = table.find(name)
        if name in functions._SPELLED:
            lost |= {f"{name} {key}" for key in operator.attributes.keys() - _read_by(name)}
        else:
            _, accepted = functions._function(name)
            lost |= {f"{name} {key}" for key in operator.attributes.keys() - accepted}
            refused |= {f"{name} {key}" for key in functions.refused(name)}
    assert lost == functions.HARMLESS | refused
    assert refused == {
        "RNN lstm_state_clip_max",
        "RNN lstm_state_clip_min",
        "log_softmax use_length",
        "softmin use_length",
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: mx.sym.log_softmax(x, use_length=True), "log_softmax: use_length=True is not computed here"),
        (lambda x: mx.sym.softmin(x, use_length=True), "softmin: use_length=True is not computed here"),
        (
            lambda x: mx.sym.RNN(
                x, mx.sym.ones((48,)), mx.sym.ones((1, 3, 2)), mx.sym.ones((1, 3, 2)),
                state_size=2, num_layers=1, mode="lstm", lstm_state_clip_min=-1, lstm_state_clip_max=1,
            ),
            "RNN: lstm_state_clip_min=-1 is not computed here",
        ),
    ],
)  # fmt: skip
def test_an_attribute_that_nothing_computes_is_an_error(make: Callable, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        make(mx.sym.var("x")).eval(x=mx.nd.ones((4, 3, 2)))


@pytest.mark.parametrize(
    ("name", "given", "low", "high"),
    [
        ("uniform", {"low": 5, "high": 6}, 5, 6),
        ("normal", {"loc": 50, "scale": 0.1}, 49, 51),
        ("gamma", {"alpha": 1000, "beta": 0.1}, 90, 110),
        ("exponential", {"lam": 100}, 0.005, 0.015),
        ("poisson", {"lam": 1000}, 950, 1050),
        ("negative_binomial", {"k": 1000, "p": 0.5}, 900, 1100),
        ("generalized_negative_binomial", {"mu": 50, "alpha": 0.001}, 45, 55),
    ],
)
def test_draws_like_another_have_the_given_parameters(name: str, given: dict, low: float, high: float) -> None:
    drawn = getattr(mx.sym.random, f"{name}_like")(mx.sym.var("x"), **given)
    assert drawn.infer_shape(x=(7, 9))[1] == [(7, 9)]
    assert low < float(drawn.eval(x=mx.nd.zeros((40, 50)))[0].mean().asscalar()) < high


def test_batch_norm_with_relu_is_that_of_the_block(tmp_path: Path) -> None:
    net = mx.gluon.nn.BatchNormReLU(axis=-1, epsilon=0.5, momentum=0.25, scale=True)
    net.initialize()
    net.hybridize()
    x = mx.nd.random.normal(shape=(6, 4, 3))
    with mx.autograd.record():
        net(x).backward()
    net.export(str(tmp_path / "net"))
    symbol, args, states = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    assert symbol.infer_shape(data=(6, 4, 3)) == ([(6, 4, 3), (3,), (3,)], [(6, 4, 3)], [(3,), (3,)])
    assert symbol.infer_type(data="float16")[2] == [np.float32, np.float32]
    executor = symbol.simple_bind(mx.cpu(), data=(6, 4, 3))
    executor.copy_params_from(args, states)
    np.testing.assert_array_equal(executor.forward(data=x)[0].asnumpy(), net(x).asnumpy())
    with mx.autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_array_equal(executor.forward(is_train=True, data=x)[0].asnumpy(), y.asnumpy())
    executor.backward(mx.nd.ones_like(x))
    for name, value in executor.aux_dict.items():
        np.testing.assert_array_equal(value.asnumpy(), net.collect_params()[name].data().asnumpy())


def test_a_sum_of_squares_of_the_other_axes_is_no_sum_of_rows() -> None:
    x = mx.nd.array([[1, 2], [0, 0], [3, 4]]).tostype("row_sparse")
    found = mx.nd._internal._square_sum(x, axis=1, keepdims=True, exclude=True)
    np.testing.assert_array_equal(found.asnumpy(), [[10, 20]])
