"""Activations: gradients, extremes, types, errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from runtime.ndarray.nn.fully_connected import linear
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
A, CUBE, SLOPES = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4)), np.array([0.1, 0.4, 2.0])


def leaky(act: str, **attrs: float) -> Callable:
    return lambda x: nd.LeakyReLU(x, act_type=act, **attrs)


GRADIENTS = {
    **{f"Activation {act}": Case(lambda x, act=act: nd.Activation(x, act), [A])
       for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh")},
    "relu": Case(nd.relu, [A]),
    "sigmoid": Case(nd.sigmoid, [A]),
    "softsign": Case(nd.softsign, [A]),
    "hard_sigmoid": Case(nd.hard_sigmoid, [3 * A]),
    "LeakyReLU": Case(leaky("leaky"), [A]),
    "LeakyReLU elu": Case(leaky("elu", slope=0.7), [A]),
    "LeakyReLU selu": Case(leaky("selu"), [A]),
    "LeakyReLU gelu": Case(leaky("gelu"), [A]),
    "LeakyReLU prelu": Case(lambda x, a: nd.LeakyReLU(x, a, act_type="prelu"), [CUBE, SLOPES]),
    "LeakyReLU prelu one": Case(lambda x, a: nd.LeakyReLU(x, a, act_type="prelu"), [A, SLOPES[:1]]),
}  # fmt: skip
NO_GRADIENT: set[str] = set()


def test_values() -> None:
    x = nd.array([-1.0, 0.0, 2.0], dtype="float64")
    expected = {
        "leaky": [-0.25, 0, 2],
        "elu": [0.25 * math.expm1(-1), 0, 2],
        "selu": [1.0507009873554805 * 1.6732632423543772 * math.expm1(-1), 0, 2 * 1.0507009873554805],
        "gelu": [-0.5 * (1 + math.erf(-math.sqrt(0.5))), 0, 1 + math.erf(math.sqrt(2))],
        "rrelu": [-(0.125 + 0.334) / 2, 0, 2],
    }
    for act, values in expected.items():
        np.testing.assert_allclose(nd.LeakyReLU(x, act_type=act).asnumpy(), values, rtol=1e-12)
    slopes = nd.array([0.5], dtype="float64")
    assert nd.LeakyReLU(x, slopes, act_type="prelu").asnumpy().tolist() == [-0.5, 0, 2]
    assert nd.hard_sigmoid(nd.array([-9, 1, 9])).asnumpy().tolist() == [0, np.float32(0.7), 1]


def test_extremes_stay_finite() -> None:
    big = nd.array([1000.0, -1000.0])
    assert nd.sigmoid(big).asnumpy().tolist() == [1, 0]
    assert nd.Activation(big, "softrelu").asnumpy().tolist() == [1000, 0]
    assert nd.LeakyReLU(big, act_type="elu", slope=1.0).asnumpy().tolist() == [1000, -1]
    assert nd.LeakyReLU(big, act_type="gelu").asnumpy().tolist() == [1000, 0]


def test_rrelu_draws_its_slopes_in_training() -> None:
    mx.random.seed(1)
    x = nd.full((1000,), -1.0)
    with autograd.train_mode():
        first, second = (nd.LeakyReLU(x, act_type="rrelu").asnumpy() for _ in range(2))
    assert first.min() > -0.334 and first.max() < -0.125 and first.std() > 0.05
    assert (first != second).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_are_rounded_once(dtype: str) -> None:
    x = nd.array(np.linspace(-4, 4, 33), dtype=dtype)
    for function in (nd.sigmoid, leaky("elu"), leaky("gelu")):
        y = function(x)
        assert y._data.dtype == x._data.dtype
        wide = function(x.astype("float32")).astype(dtype)
        np.testing.assert_allclose(y.astype("float32").asnumpy(), wide.astype("float32").asnumpy(), rtol=2e-2)


def test_a_sigmoid_of_integers_is_cut_off() -> None:
    y = nd.sigmoid(nd.array([-9, 0, 50], dtype="int32"))
    assert y.dtype == np.int32 and y.asnumpy().tolist() == [0, 0, 1]


def test_errors() -> None:
    x = nd.ones((2, 3))
    for call, words in (
        (lambda: nd.Activation(x, "rellu"), "did you mean 'relu'"),
        (lambda: nd.LeakyReLU(x, act_type="relu"), "unknown act_type 'relu'"),
        (lambda: nd.LeakyReLU(x, act_type="prelu"), "needs gamma"),
        (lambda: nd.LeakyReLU(x, nd.ones(2), act_type="prelu"), r"gamma of shape \(2,\) does not fit .*\(2, 3\)"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu_is_exact_to_a_few_places(dtype: str) -> None:
    x = np.concatenate([np.linspace(-12, 12, 2001), [1e-30, -50, 50]]).astype(dtype)
    wide = x.astype(np.float64)
    below = np.array([0.5 * math.erfc(-v * math.sqrt(0.5)) for v in wide])
    a = nd.array(x, dtype=dtype)
    a.attach_grad()
    with autograd.record():
        y = nd.LeakyReLU(a, act_type="gelu")
    y.backward()
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(y.asnumpy()[wide > -5], (wide * below)[wide > -5], 32 * eps)
    np.testing.assert_allclose(y.asnumpy(), wide * below, 0, 4 * eps)
    slope = below + wide * np.exp(-wide * wide / 2) / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(a.grad.asnumpy(), slope, 0, 4 * eps)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("copies", [1, 2500], ids=["small", "large"])  # large: computed by kernels
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_slope_where_the_value_is_nan(dtype: str, copies: int) -> None:
    """As MXNet's operators have it: relu's is NaN; clip lets what comes pass, as prelu does with its slope."""
    x = nd.array([np.nan, -np.inf, -1, -0.0, 0, 1, np.inf] * copies, dtype=dtype)
    x.attach_grad()
    weight, relu = nd.ones((1, 1), dtype=dtype), [np.nan, 0, 0, 0, 0, 1, 1]
    for function, expected in (
        (nd.relu, relu),
        (lambda x: nd.Activation(x, "relu"), relu),
        (lambda x: nd.clip(x, -2, 0), [1, 0, 1, 1, 1, 0, 0]),
        (lambda x: nd.hard_sigmoid(x, 1, 0), [0, 0, 0, 0, 0, 0, 0]),
        (lambda x: nd.hard_sigmoid(x, 0.25, 0.25), [0, 0, 0, 0.25, 0.25, 0.25, 0]),
        (lambda x: nd.LeakyReLU(x, weight[0] * 0.5, act_type="prelu"), [0.5, 0.5, 0.5, 0.5, 0.5, 1, 1]),
        (lambda x: linear(x.clip(-2, 2).reshape((-1, 1)), weight, weight[0] * 0, 1, True, relu=True), [*relu[:-1], 0]),
    ):
        for create_graph in (False, True):
            with autograd.record():
                y = function(x)
                g = autograd.grad(y, [x], create_graph=create_graph)[0]
            np.testing.assert_array_equal(g.asnumpy().astype("float32"), expected * copies)


@pytest.mark.parametrize("act, slope", [("relu", 0.0), ("leaky", 0.25), ("tanh", None)])
def test_gradients_of_large_arrays(act: str, slope: float | None) -> None:
    """Those that kernels compute; what is undefined stays so."""
    x, g = RNG.normal(size=(2, 20001)).astype(np.float32)
    x[:3], g[2:4] = [0, -1, np.nan], np.inf
    a = nd.array(x)
    a.attach_grad()
    with autograd.record():
        y = nd.LeakyReLU(a) if act == "leaky" else nd.Activation(a, act)
    y.backward(nd.array(g))
    with np.errstate(invalid="ignore"):
        expected = g * (1 - np.tanh(x) ** 2 if slope is None else np.where(x > 0, np.float32(1), np.float32(slope)))
    np.testing.assert_allclose(a.grad.asnumpy(), expected, 1e-5, 1e-6)


def test_large_arrays_are_clipped_as_small_ones() -> None:
    """Threads share them."""
    values = np.random.default_rng(0).normal(size=(3, 100_000)).astype("float32")
    values[:, :6] = np.nan, np.inf, -np.inf, -0.5, 0.5, 0
    parts = []
    for x in (values, *values):
        x = nd.array(x)
        x.attach_grad()
        with autograd.record():
            y = [nd.clip(x, -0.5, 0.5), nd.hard_sigmoid(x, 1, 0.5)]
        autograd.backward(y)
        parts.append([*(a.asnumpy() for a in y), x.grad.asnumpy()])
    for whole, *rows in zip(*parts, strict=True):
        np.testing.assert_array_equal(whole, np.stack(rows))


@pytest.mark.parametrize("channels", [1, 6])
def test_prelu_of_large_arrays(channels: int) -> None:
    rng = np.random.default_rng(0)
    values, slopes, flow = rng.normal(size=(3, 6, 40, 50)), rng.normal(size=channels), rng.normal(size=(3, 6, 40, 50))
    x, gamma = nd.array(values), nd.array(slopes)
    x.attach_grad()
    gamma.attach_grad()
    with autograd.record():
        y = nd.LeakyReLU(x, gamma, act_type="prelu")
    y.backward(nd.array(flow))
    wide = np.broadcast_to(slopes.reshape(-1, 1, 1), values.shape)
    np.testing.assert_allclose(y.asnumpy(), np.where(values > 0, values, wide * values), rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), flow * np.where(values > 0, 1, wide), rtol=1e-5)
    sums = (flow * np.minimum(values, 0)).sum((0, 2, 3))
    np.testing.assert_allclose(gamma.grad.asnumpy(), sums if channels > 1 else [sums.sum()], rtol=1e-4)
