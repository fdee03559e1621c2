"""Every operator against NumPy and its gradient against differences, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import autograd, nd

RNG = np.random.default_rng(0)
A, B, ROW, COLUMN = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(1, 4)), RNG.normal(size=(3, 1))
POSITIVE = np.abs(A) + 0.5
CUBE = RNG.normal(size=(2, 3, 4))
VECTOR = RNG.normal(size=4)


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


# name: (the operator, the same in NumPy, its inputs)
CASES: dict[str, tuple[Callable, Callable, tuple[Any, ...]]] = {
    "add": (nd.add, np.add, (A, B)),
    "add row": (nd.add, np.add, (A, ROW)),
    "add vector": (nd.add, np.add, (CUBE, VECTOR)),
    "add column and row": (nd.add, np.add, (COLUMN, ROW)),
    "subtract": (nd.subtract, np.subtract, (ROW, A)),
    "multiply": (nd.multiply, np.multiply, (A, COLUMN)),
    "divide": (nd.divide, np.divide, (A, POSITIVE)),
    "power": (nd.power, np.power, (POSITIVE, B)),
    "maximum": (nd.maximum, np.maximum, (A, B)),
    "minimum": (nd.minimum, np.minimum, (A, ROW)),
    "number on the left": (lambda x: 2 - 3 / x, lambda x: 2 - 3 / x, (POSITIVE,)),
    "number to a power": (lambda x: 2**x, lambda x: 2**x, (A,)),
    "power of a number": (lambda x: x**3, lambda x: x**3, (A,)),
    "negative": (nd.negative, np.negative, (A,)),
    "abs": (nd.abs, np.abs, (A,)),
    "sign": (nd.sign, np.sign, (A,)),
    "exp": (nd.exp, np.exp, (A,)),
    "expm1": (nd.expm1, np.expm1, (A,)),
    "log": (nd.log, np.log, (POSITIVE,)),
    "log1p": (nd.log1p, np.log1p, (POSITIVE,)),
    "sqrt": (nd.sqrt, np.sqrt, (POSITIVE,)),
    "square": (nd.square, np.square, (A,)),
    "tanh": (nd.tanh, np.tanh, (A,)),
    "clip": (lambda x: nd.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5), (A,)),
    "copy": (lambda x: x.copy(), np.copy, (A,)),
    "relu": (nd.relu, lambda x: np.maximum(x, 0), (A,)),
    "sigmoid": (nd.sigmoid, lambda x: 1 / (1 + np.exp(-x)), (A,)),
    "softrelu": (lambda x: nd.Activation(x, "softrelu"), lambda x: np.log(1 + np.exp(x)), (A,)),
    "softsign": (nd.softsign, lambda x: x / (1 + np.abs(x)), (A,)),
    "Activation": (lambda x: nd.Activation(x, "tanh"), np.tanh, (A,)),
    "softmax": (nd.softmax, softmax, (A,)),
    "log_softmax": (nd.log_softmax, lambda x: np.log(softmax(x)), (A,)),
    "softmax axis 0": (lambda x: nd.softmax(x, axis=0), lambda x: softmax(x.T).T, (A,)),
    "sum": (nd.sum, lambda x: x.sum().reshape(1), (A,)),
    "sum axis": (lambda x: nd.sum(x, axis=1), lambda x: x.sum(1), (CUBE,)),
    "sum axes kept": (
        lambda x: nd.sum(x, axis=(0, -1), keepdims=True),
        lambda x: x.sum((0, 2), keepdims=True),
        (CUBE,),
    ),
    "sum exclude": (lambda x: nd.sum(x, axis=1, exclude=True), lambda x: x.sum((0, 2)), (CUBE,)),
    "mean": (lambda x: nd.mean(x, axis=0, exclude=True), lambda x: x.mean((1, 2)), (CUBE,)),
    "max": (lambda x: nd.max(x, axis=1), lambda x: x.max(1), (A,)),
    "min": (nd.min, lambda x: x.min().reshape(1), (A,)),
    "reshape": (lambda x: nd.reshape(x, (0, -1)), lambda x: x.reshape(2, 12), (CUBE,)),
    "flatten": (nd.flatten, lambda x: x.reshape(2, 12), (CUBE,)),
    "expand_dims": (lambda x: nd.expand_dims(x, 1), lambda x: x[:, None], (A,)),
    "transpose": (lambda x: nd.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), (CUBE,)),
    "T": (lambda x: x.T, lambda x: x.T, (A,)),
    "broadcast_to": (lambda x: nd.broadcast_to(x, (3, 0)), lambda x: np.broadcast_to(x, (3, 4)), (ROW,)),
    "index": (lambda x: x[1], lambda x: x[1], (CUBE,)),
    "index slice": (lambda x: x[1:3], lambda x: x[1:3], (A,)),
    "index step": (lambda x: x[::2], lambda x: x[::2], (A,)),
    "index column": (lambda x: x[:, 1:3], lambda x: x[:, 1:3], (A,)),
    "index scalar": (lambda x: x[1, 2], lambda x: x[1, 2].reshape(1), (A,)),
    "index array": (lambda x: x[nd.array([2, 0, 2])], lambda x: x[[2, 0, 2]], (A,)),
    "pick": (lambda x: nd.pick(x, nd.array([3, 0, 9])), lambda x: x[[0, 1, 2], [3, 0, 3]], (A,)),
    "pick axis 0": (
        lambda x: nd.pick(x, nd.array([2, 0, 1, 1]), axis=0, keepdims=True),
        lambda x: x[[2, 0, 1, 1], [0, 1, 2, 3]][None],
        (A,),
    ),
    "dot": (nd.dot, np.dot, (A, B.T)),
    "dot vectors": (nd.dot, lambda a, b: np.dot(a, b).reshape(1), (VECTOR, 2 * VECTOR)),
    "dot cube": (nd.dot, lambda a, b: np.tensordot(a, b, 1), (CUBE, B.T)),
    "dot transpose a": (lambda a, b: nd.dot(a, b, transpose_a=True), lambda a, b: a.T @ b, (A, B)),
    "dot transpose b": (lambda a, b: nd.dot(a, b, transpose_b=True), lambda a, b: a @ b.T, (A, B)),
    "dot transpose both": (lambda a, b: nd.dot(a, b, True, True), lambda a, b: a.T @ b.T, (A, RNG.normal(size=(5, 3)))),
    "FullyConnected": (
        nd.FullyConnected,
        lambda x, w, b: x.reshape(2, 12) @ w.T + b,
        (CUBE, RNG.normal(size=(5, 12)), np.arange(5.0)),
    ),
    "FullyConnected last axis": (
        lambda x, w: nd.FullyConnected(x, w, no_bias=True, flatten=False),
        lambda x, w: x @ w.T,
        (CUBE, RNG.normal(size=(5, 4))),
    ),
}  # fmt: skip
cases = pytest.mark.parametrize("name", CASES)


def arrays(values: tuple[Any, ...]) -> list[nd.NDArray]:
    return [nd.array(x, dtype="float64") for x in values]


def weighted(y: np.ndarray) -> np.ndarray:
    """Weights for a sum over the output, so that no two elements of it count the same."""
    return np.cos(np.arange(y.size, dtype=float)).reshape(y.shape)


def differences(f: Callable[..., np.ndarray], values: tuple[np.ndarray, ...], i: int) -> np.ndarray:
    """The gradient of the weighted sum of f with respect to its i-th input, by central differences."""
    gradient, h = np.zeros_like(values[i]), 1e-6
    for at in np.ndindex(gradient.shape):
        ends = []
        for step in (h, -h):
            moved = [x.copy() for x in values]
            moved[i][at] += step
            y = f(*moved)
            ends.append((y * weighted(y)).sum())
        gradient[at] = (ends[0] - ends[1]) / (2 * h)
    return gradient


@cases
def test_values(name: str) -> None:
    operator, reference, values = CASES[name]
    result = operator(*arrays(values))
    expected = reference(*values)
    assert result.shape == expected.shape
    assert result.dtype == np.float64
    assert result._data.flags.c_contiguous
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-12, atol=1e-15)


@cases
def test_gradient(name: str) -> None:
    operator, reference, values = CASES[name]
    inputs = arrays(values)
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = operator(*inputs)
    y.backward(nd.array(weighted(y.asnumpy()), dtype="float64"))
    for i, x in enumerate(inputs):
        assert x.grad._data.flags.c_contiguous
        np.testing.assert_allclose(x.grad.asnumpy(), differences(reference, values, i), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "square", "tanh", "sigmoid", "softmax", "log_softmax", "power"])
def test_the_gradient_is_made_of_operators(name: str) -> None:
    """Recorded, the gradient of an operator can itself be differentiated."""
    operator, _, values = CASES[name]
    x, *others = arrays(values)
    x.attach_grad()

    def gradient(x: nd.NDArray) -> nd.NDArray:
        y = operator(x, *others)
        g = nd.array(weighted(y.asnumpy()), dtype="float64")
        ((_, dx),) = y._node.operator.pull(y._node, g)
        return dx

    with autograd.record():
        dx = gradient(x)
    dx.backward(nd.array(weighted(dx.asnumpy()), dtype="float64"))

    def first(value: np.ndarray) -> np.ndarray:
        (x,) = arrays((value,))
        x.attach_grad()
        with autograd.record():
            return gradient(x).asnumpy()

    np.testing.assert_allclose(x.grad.asnumpy(), differences(first, (values[0],), 0), rtol=1e-5, atol=1e-7)


def test_extremes_stay_finite() -> None:
    big = nd.array([[1000.0, -1000.0]])
    np.testing.assert_array_equal(nd.softmax(big).asnumpy(), [[1, 0]])
    np.testing.assert_array_equal(nd.log_softmax(big).asnumpy(), [[0, -2000]])
    np.testing.assert_array_equal(nd.sigmoid(big).asnumpy(), [[1, 0]])
    np.testing.assert_array_equal(nd.Activation(big, "softrelu").asnumpy(), [[1000, 0]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nd.ones((2, 3)) + nd.ones((4,)), "shapes (2, 3) and (4,) cannot be broadcast"),
        (lambda: nd.ones((2,)) + nd.ones((2,), dtype="float64"), "types differ, float32 and float64"),
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))), "shapes (2, 3) and (2, 3) do not fit"),
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3)), transpose_a=True, transpose_b=True), "(2, 3)^T and (2, 3)^T"),
        (lambda: nd.ones((2, 3)).reshape((4, 2)), "has 6 elements and cannot be reshaped to (4, 2)"),
        (lambda: nd.sum(nd.ones((2, 3)), axis=2), "no axis 2 in an array of shape (2, 3)"),
        (lambda: nd.transpose(nd.ones((2, 3)), (0, 0)), "(0, 0) names an axis of an array of shape (2, 3) twice"),
        (lambda: nd.broadcast_to(nd.ones((2, 3)), (3, 3)), "cannot be broadcast to (3, 3)"),
        (lambda: nd.pick(nd.ones((2, 3)), nd.zeros((3,))), "index has shape (3,), not (2,) or (2, 1)"),
        (lambda: nd.Activation(nd.ones(1), "rellu"), "did you mean 'relu'?"),
        (lambda: nd.FullyConnected(nd.ones((2, 3)), nd.ones((5, 4))), "has 3 values a sample, weight (5, 4) takes 4"),
        (lambda: nd.FullyConnected(nd.ones((2, 3)), nd.ones((5, 3)), nd.ones(4)), "bias of shape (4,) does not fit"),
    ],
)
def test_errors_name_the_shapes(call: Callable[[], object], words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)
