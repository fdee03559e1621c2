"""float16 and bfloat16: conversion, every operator and its gradient, layers, parameters."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon import nn
from tests.process import run
from tests.runtime.test_operators import CASES, weighted

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ULP = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
each_type = pytest.mark.parametrize("dtype", TYPES)


def test_ml_dtypes_is_imported_when_it_is_needed() -> None:
    code = "import sys, runtime as mx; print('ml_dtypes' in sys.modules); print(mx.nd.ones(1, dtype='bfloat16').dtype)"
    assert run([sys.executable, "-c", code], timeout=30).stdout.split("\n")[:2] == [
        "False",
        "<class 'ml_dtypes.bfloat16'>",
    ]


# ---------------------------------------------------------------- types and conversion


@each_type
def test_a_type_can_be_named_wherever_there_is_one(dtype: str) -> None:
    for name in (dtype, TYPES[dtype], np.dtype(TYPES[dtype])):
        for x in (
            nd.array([1.5], dtype=name),
            nd.array(nd.ones(1), dtype=name),
            nd.zeros(1, dtype=name),
            nd.ones(1, dtype=name),
            nd.full(1, 3, dtype=name),
            nd.empty(1, dtype=name),
            nd.arange(3, dtype=name),
            nd.random.uniform(dtype=name),
            nd.random.normal(dtype=name),
            nd.ones(1).astype(name),
            nd.cast(nd.ones(1), name),
            nd.sparse.zeros("row_sparse", 3, dtype=name),
            nd.sparse.row_sparse_array(np.ones(3, TYPES[dtype])),
            nd.ones(1, dtype=name) * 2.5,
            nd.ones(1, dtype=name) > 0,
        ):
            assert x.dtype is TYPES[dtype] and x.asnumpy().dtype == TYPES[dtype]
    x = nd.arange(2, dtype=dtype)
    assert x.astype(dtype, copy=False) is x
    with pytest.raises(MXNetError, match=f"types differ, {dtype} and float32"):
        x + nd.ones(2)


@pytest.mark.parametrize("unknown", ["bfloat", "complex64", "object", "<U3", 3.5])
def test_an_unknown_type_is_an_error(unknown: object) -> None:
    with pytest.raises(TypeError, match="no array has elements of type"):
        nd.zeros(1, dtype=unknown)
    with pytest.raises(TypeError, match="no array has elements of type"):
        nn.Dense(1, dtype=unknown)
    assert nd.zeros(1, dtype=">f4").asnumpy().dtype.isnative


def finite(dtype: str) -> np.ndarray:
    """All numbers from 0 to the largest of a 16-bit type, ascending, and the one that would come next, as float64."""
    x = np.arange(1 << 15, dtype=np.uint16).view(TYPES[dtype])
    with np.errstate(invalid="ignore"):  # some NaNs signal
        x = x[np.isfinite(x)].astype(np.float64)
    return np.append(x, 2 * x[-1] - x[-2])


@each_type
def test_conversion_rounds_once_to_nearest_even(dtype: str) -> None:
    """At every tie between neighbours, a hair to both sides of it, and at the numbers themselves."""
    x = finite(dtype)
    ties = (x[1:] + x[:-1]) / 2
    even = np.where(np.arange(len(ties)) % 2 == 0, x[:-1], x[1:])
    limit = x[-1]
    cases = [(x, x), (ties, even), (np.nextafter(ties, np.inf), x[1:]), (np.nextafter(ties, 0), x[:-1])]
    for source, expected in cases:
        expected = np.where(expected == limit, np.inf, expected)
        for sign in (1, -1):
            for y in (
                nd.array(sign * source, dtype="float64").astype(dtype),
                nd.array(sign * source, dtype=dtype),
                nd.sparse.row_sparse_array(sign * source[1:]).astype(dtype),
            ):
                np.testing.assert_array_equal(y.asnumpy().astype(np.float64), sign * expected[-y.size :])
    same = nd.array(x[:-1], dtype=dtype)
    for wide in ("float32", "float64"):
        np.testing.assert_array_equal(same.astype(wide).asnumpy(), x[:-1])
        assert np.isnan(nd.array([np.nan, 1e-300], dtype=wide).astype(dtype).asnumpy()).tolist() == [True, False]


def test_from_one_16_bit_type_to_the_other() -> None:
    halves, brains = finite("float16")[:-1], finite("bfloat16")[:-1]
    x = nd.array(halves, dtype="float16").astype("bfloat16").asnumpy()
    np.testing.assert_array_equal(x, halves.astype(np.float32).astype(ml_dtypes.bfloat16))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            nd.array(brains, dtype="bfloat16").astype("float16").asnumpy(), brains.astype(np.float16)
        )


# ---------------------------------------------------------------- operators


@each_type
@pytest.mark.filterwarnings("error")
def test_every_operator_and_gradient(dtype: str) -> None:
    """In the array's type, and within a few roundings of the same in float64."""
    for name, (operator, _, values) in CASES.items():
        low = [nd.array(x, dtype=dtype) for x in values]
        found = []
        for inputs in (low, [x.astype("float64") for x in low]):
            for x in inputs:
                x.attach_grad()
            with autograd.record():
                y = operator(*inputs)
            y.backward(nd.array(weighted(y.asnumpy()), dtype=dtype).astype(y.dtype))
            found.append([y, *(x.grad for x in inputs)])
        for a, b in zip(*found, strict=True):
            assert a.dtype is TYPES[dtype], name
            error = np.abs(a.asnumpy().astype(np.float64) - b.asnumpy()).max()
            assert error <= 4 * ULP[dtype] * np.abs(b.asnumpy()).max(), name


@each_type
def test_many_terms_are_added_in_float32(dtype: str) -> None:
    ones = nd.ones((2, 4001), dtype=dtype)
    for total in (ones.sum(axis=1), nd.dot(ones, ones.T)[0], nd.FullyConnected(ones, ones, no_bias=True)[1]):
        assert (total.asnumpy() == TYPES[dtype](4001)).all()
    assert (ones * 1000).mean().asscalar() == 1000  # of what adds up to more than float16 can hold
    x = nd.zeros((1, 4000), dtype=dtype)
    assert abs(float(nd.softmax(x)[0, 0]) * 4000 - 1) < 0.01
    index = nd.zeros(4001)
    for sparse_grad in (False, True):
        w = nd.ones((2, 1), dtype=dtype)
        w.attach_grad(stype="row_sparse" if sparse_grad else None)
        with autograd.record():
            y = nd.Embedding(index, w, sparse_grad=sparse_grad)
        y.backward()
        assert w.grad.dtype is TYPES[dtype]
        assert w.grad.asnumpy().ravel().tolist() == [TYPES[dtype](4001), 0]


@each_type
def test_gradient_through_cast(dtype: str) -> None:
    x = nd.array([1.0, 2.0, 1 / 3])
    x.attach_grad()
    with autograd.record():
        y = x.astype(dtype)
        z = (y * y).astype("float64") * 3
    z.backward()
    assert (y.dtype, z.dtype, x.grad.dtype) == (TYPES[dtype], np.float64, np.float32)
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * (3 * x.astype(dtype)).astype("float32").asnumpy())


# ---------------------------------------------------------------- layers


@each_type
def test_parameters_and_initializers(dtype: str) -> None:
    for init in ("uniform", "normal", "xavier", "zeros", "ones", mx.init.Constant(0.1)):
        p = gluon.Parameter("a_weight", shape=(30, 40), dtype=dtype, init=init)
        p.initialize()
        assert p.dtype is p.data().dtype is p.grad().dtype is TYPES[dtype]
    assert str(p) == f"Parameter a_weight (shape=(30, 40), dtype={dtype})"
    p.set_data(np.full((30, 40), 1 + 2**-8 + 2**-40))
    assert (p.data().asnumpy() == np.array(1 + (2**-8 if dtype == "float16" else 2**-7))).all()


@each_type
def test_a_network_is_cast_and_trains(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 8))
    label = nd.array((x[:, 0] > x[:, 1]).astype("float32"))
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh"), nn.Dense(2, in_units=16))
    net.initialize(mx.init.Xavier())
    before = net[1].weight.data()
    net.cast(dtype)  # of which one part has no shape yet
    np.testing.assert_array_equal(net[1].weight.data().asnumpy(), before.astype(dtype).asnumpy())
    loss_function, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(60):
        with autograd.record():
            loss = loss_function(net(nd.array(x, dtype=dtype)), label)
        loss.backward()
        assert loss.dtype is TYPES[dtype]
        losses.append(float(loss.mean()))
        for p in net.collect_params().values():
            assert p.data().dtype is p.grad().dtype is TYPES[dtype]
            p.data()[:] -= p.grad() / 128
    assert losses[-1] < 0.2 < 0.6 < losses[0]
    with pytest.raises(MXNetError, match=f"data is float32, weight {dtype}"):
        net(nd.array(x))
    net.save_parameters(tmp_path / "net")
    weight = net[0].weight.data().asnumpy()
    net[0].weight.set_data(nd.zeros((16, 8)))
    net.load_parameters(tmp_path / "net")
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), weight)
