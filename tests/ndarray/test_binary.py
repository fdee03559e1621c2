"""Operators on two arrays, or an array and a number."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import runtime as mx
from runtime import autograd, nd
from runtime.core import threaded
from tests.ndarray.gradients import Case, each

RNG = np.random.default_rng(0)
A, B, ROW, COLUMN = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), RNG.normal(size=(1, 3)), RNG.normal(size=(2, 1))
POSITIVE = np.abs(B) + 0.5

GRADIENTS = {
    **each(
        "add subtract multiply divide maximum minimum true_divide elemwise_add elemwise_sub elemwise_mul elemwise_div "
        "equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor",
        A,
        B,
    ),
    **each(
        "broadcast_add broadcast_plus broadcast_sub broadcast_minus broadcast_mul broadcast_div broadcast_maximum "
        "broadcast_minimum broadcast_hypot broadcast_equal broadcast_not_equal broadcast_greater "
        "broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or "
        "broadcast_logical_xor",
        ROW,
        COLUMN,
    ),
    "modulo": Case(nd.modulo, [A * 5, B]),
    "broadcast_mod": Case(nd.broadcast_mod, [ROW * 5, B]),
    "modulo of a number": Case(lambda x: 5 % x, [B]),
    "power": Case(nd.power, [POSITIVE, A]),
    "broadcast_power": Case(nd.broadcast_power, [POSITIVE, ROW]),
    "power of a number": Case(lambda x: 2**x, [A]),
    "power number": Case(lambda x: x**3, [A]),
    "subtract number": Case(lambda x: 2 - 3 / x, [A]),
    "add vector": Case(nd.add, [RNG.normal(size=(2, 1, 3)), RNG.normal(size=3)]),
    "add_n": Case(nd.add_n, [A, B, POSITIVE]),
    "ElementWiseSum": Case(nd.ElementWiseSum, [A, B]),
}
NO_GRADIENT: set[str] = set()


def ints(*values: int, dtype: str = "int32") -> nd.NDArray:
    return nd.array(values, dtype=dtype)


@pytest.mark.cpu_only("threads of the CPU")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_arrays_have_the_bits_of_numpy(dtype: str) -> None:
    """Threads share what is computed of arrays in order; NumPy computes what is left."""
    x, y = (RNG.normal(size=(3, threaded.MIN_ELEMENTS // 2)).astype(dtype) for _ in range(2))
    x[0, :5], y[0, :5] = [0, -0.0, np.nan, np.inf, 1e-40], [0, 3, 1, -np.inf, -0.0]
    a, b, number = nd.array(x, dtype=dtype), nd.array(y, dtype=dtype), np.dtype(dtype).type(0.7)
    with np.errstate(all="ignore"):
        pairs = [
            *((f(a, b), f(x, y)) for f in (python.add, python.sub, python.mul, python.truediv)),
            *((f(a, 0.7), f(x, number)) for f in (python.add, python.sub, python.mul, python.truediv)),
            *((f(0.7, a), f(number, x)) for f in (python.add, python.sub, python.mul, python.truediv)),
            *((f(a), g(x)) for f, g in ((nd.negative, np.negative), (nd.square, np.square), (nd.identity, np.copy))),
            (nd.relu(a), np.maximum(x, 0)),
            (a[:, ::2] + b[:, ::2], x[:, ::2] + y[:, ::2]),
            (a + b[:1], x + y[:1]),
        ]
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine.asnumpy(), theirs, strict=True)
    a.attach_grad()
    with autograd.record():
        z = nd.identity(a)
    z.backward(b, retain_graph=True)
    np.testing.assert_array_equal(a.grad.asnumpy(), y, strict=True)
    z.backward(a.grad)  # what is received shares memory with the gradient


@pytest.mark.parametrize("name", ["broadcast_mul", "broadcast_maximum"])
def test_axis_has_no_meaning(name: str) -> None:
    """Scripts give it, and MXNet passes over it, in graphs too; as it passes over the dtype of zeros_like."""
    assert nd.zeros_like(nd.ones(2), dtype="int64").dtype == nd.ones_like(nd.ones(2), dtype="int64").dtype == np.float32
    a, b = nd.array(ROW), nd.array(COLUMN)
    graph = getattr(mx.sym, name)(mx.sym.var("a"), mx.sym.var("b"), axis=-1)
    for found in (getattr(nd, name)(a, b, axis=-1), graph.eval(a=a, b=b)[0]):
        assert (found == getattr(nd, name)(a, b)).asnumpy().all()


@given(mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, min_side=1, max_side=3))
def test_shapes_broadcast_as_in_numpy(shapes: Any) -> None:
    a, b = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1 for shape in shapes.input_shapes)
    result = nd.array(a) - nd.array(b)
    assert result._data.flags.c_contiguous
    np.testing.assert_array_equal(result.asnumpy(), a - b)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + 1.7, [-2, 0, 1, 2, 3, 6]),
        (lambda x: x * 1.5, [-3, -1, 0, 1, 2, 5]),
        (lambda x: x / 2, [-1, 0, 0, 0, 1, 2]),
        (lambda x: x**2, [9, 1, 0, 1, 4, 25]),
        (lambda x: x % 2, [1, 1, 0, 1, 0, 1]),
        (lambda x: x % -2, [-1, -1, 0, -1, 0, -1]),
        (lambda x: x % 0, [0, 0, 0, 0, 0, 0]),
        (lambda x: x > 0.5, [0, 0, 0, 1, 1, 1]),
        (lambda x: x == 1.5, [0, 0, 0, 1, 0, 0]),
        (lambda x: nd.maximum(x, 0.5), [0, 0, 0, 1, 2, 5]),
        (lambda x: x / ints(2, -2, 3, 1, -1, -3), [-1, 0, 0, 1, -2, -1]),
        (lambda x: x % ints(2, -2, 3, 0, -1, -3), [1, -1, 0, 0, 0, -1]),
        (lambda x: nd.logical_xor(x, 1), [0, 0, 1, 0, 0, 0]),
    ],
)
def test_integers_as_the_real_library_computes_with_them(function: Callable, expected: list[int]) -> None:
    result = function(ints(-3, -1, 0, 1, 2, 5))
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result.asnumpy(), expected)


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int8(2), np.float32(2)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64"])
def test_a_number_takes_the_type_of_the_array(number: Any, dtype: str) -> None:
    x = nd.array([1, 4], dtype=dtype)
    for result, expected in (
        (x + number, [3, 6]),
        (number * x, [2, 8]),
        (number % x, [0, 2]),
        (number - 0 * x, [2, 2]),
        (x / number, [0.5, 2]),
        (number**x, [2, 16]),
        (x > number, [0, 1]),
    ):
        assert result._data.dtype == x._data.dtype
        np.testing.assert_array_equal(result.asnumpy(), np.array(expected).astype(x._data.dtype))


def test_truth_values() -> None:
    x = nd.array([True, False], dtype="bool")
    assert (x + 1).dtype == np.int64
    np.testing.assert_array_equal((x + 1).asnumpy(), [2, 1])
    np.testing.assert_array_equal((nd.array([3, 4]) * np.bool_(True)).asnumpy(), [3, 4])
    with pytest.raises(RuntimeError, match="truth values"):
        x + x


def test_in_place_and_reflected() -> None:
    x = nd.array([7, 8, 9])
    same = x
    x %= 4
    x += 1
    x *= 2
    x -= nd.array([1])
    x /= 2
    assert x is same
    np.testing.assert_array_equal(x.asnumpy(), [3.5, 0.5, 1.5])
    np.testing.assert_array_equal((10 % x).asnumpy(), [3, 0, 1])
    before = x
    x **= 2
    assert x is not before


def test_two_numbers_are_computed_in_python() -> None:
    assert nd.add(1, 2) == 3 and nd.maximum(1, 2) == 2 and nd.modulo(7, 2) == 1 and nd.power(base=2, exp=3) == 8
    assert nd.logical_xor(1, 2) == 0 and nd.equal(1, 1) == 1


@pytest.mark.parametrize("function", [nd.maximum, nd.minimum])
def test_at_a_tie_a_number_leaves_the_gradient_to_the_array(function: Callable) -> None:
    x = nd.array([0.0])
    x.attach_grad()
    for call in (lambda: function(0, x), lambda: function(x, 0)):
        with autograd.record():
            y = call()
        y.backward()
        assert x.grad.asscalar() == 1


def test_zero_divisors() -> None:
    x = nd.array([-1, 0, 1])
    np.testing.assert_array_equal((x / 0).asnumpy(), [-np.inf, np.nan, np.inf])
    np.testing.assert_array_equal((x % 0).asnumpy(), [0, 0, 0])
    np.testing.assert_array_equal((ints(1, -2) / ints(1, 0)).asnumpy(), [1, 0])


def test_quotients_of_integers_are_exact() -> None:
    x = nd.array([2**62 + 1, -(2**62) - 1, -7, 7, -8], dtype="int64")
    assert (x / 2).asnumpy().tolist() == [2**61, -(2**61), -3, 3, -4]  # rounded towards 0
    assert (x / nd.array([1, 1, -7, -2, 3], dtype="int64")).asnumpy().tolist() == [2**62 + 1, -(2**62) - 1, 1, -3, -2]
    assert (nd.array([200], dtype="uint8") / 3).asscalar() == 66


def test_overflow_is_infinite_and_silent() -> None:
    x = nd.array([3e38])
    with np.errstate(all="raise"):
        for y in (x + x, x * x, x**2, x / 1e-30, x - (-x), x * 1e60, nd.ones(1, dtype="float16") + 1e6):
            assert y.asscalar() == np.inf


NAN = float("nan")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "expected"),  # numbers of MXNet 1.9.1
    [
        ("equal", [0, 0, 0, 1]),
        ("not_equal", [1, 1, 1, 0]),
        ("greater", [0, 0, 0, 0]),
        ("greater_equal", [0, 0, 0, 1]),
        ("lesser", [0, 0, 0, 0]),
        ("lesser_equal", [0, 0, 0, 1]),
        ("maximum", [NAN, NAN, NAN, 0]),
        ("minimum", [NAN, NAN, NAN, 0]),
        ("logical_and", [1, 1, 1, 0]),
        ("logical_or", [1, 1, 1, 0]),
        ("logical_xor", [0, 0, 0, 0]),
    ],
)
def test_comparisons_with_nan(name: str, expected: list[float], dtype: str) -> None:
    a, b = nd.array([NAN, NAN, 1, 0], dtype=dtype), nd.array([NAN, 1, NAN, 0], dtype=dtype)
    function = getattr(nd, name)
    np.testing.assert_array_equal(function(a, b).asnumpy().astype("float32"), expected)
    np.testing.assert_array_equal(function(a[:3], NAN).asnumpy().astype("float32"), [expected[0]] * 3)
    np.testing.assert_array_equal(function(1.0, a[:2]).asnumpy().astype("float32"), expected[1:2] * 2)


def test_add_n_of_16_bit_floats_rounds_once() -> None:
    tiny = nd.array([2.0**-11], dtype="float16")
    assert nd.add_n(nd.array([1], dtype="float16"), tiny, tiny).asscalar() == np.float16(1 + 2**-10)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nd.ones((2, 3)) + nd.ones((4,)), RuntimeError, "add: shapes (2, 3) and (4,) cannot be broadcast"),
        (lambda: nd.ones(2) * nd.ones(2, dtype="float64"), RuntimeError, "types differ, float32 and float64"),
        (lambda: nd.ones(2) == nd.ones(2, dtype="int32"), RuntimeError, "equal: types differ, float32 and int32"),
        (lambda: nd.elemwise_add(nd.ones(2), nd.ones(1)), RuntimeError, "elemwise_add: shapes must be equal"),
        (lambda: nd.elemwise_mul(nd.ones(2), 3), TypeError, "elemwise_mul: every operand must be an NDArray, not int"),
        (lambda: nd.add(nd.ones(2), None), TypeError, "add: operands must be NDArrays or numbers, not NoneType"),
        (lambda: nd.ones(2) + np.ones(2), TypeError, "not ndarray"),
        (lambda: nd.ones(2) + 1j, TypeError, "not complex"),
        (lambda: nd.add(nd.ones(2), np.str_("3")), TypeError, "not str_"),
        (lambda: nd.ones(2, dtype="uint8") + 300, RuntimeError, "add: 300 is no number of the array's type, uint8"),
        (lambda: nd.ones(2, dtype="int32") * float("nan"), RuntimeError, "nan is no number of the array's type, int32"),
        (lambda: nd.add_n(nd.ones(2), nd.ones(3)), RuntimeError, "add_n: shapes must be equal, not (2,) and (3,)"),
        (lambda: nd.add_n(), RuntimeError, "add_n: no arrays"),
        (lambda: nd.add_n(nd.ones(2), nd.ones(2, dtype="int8")), RuntimeError, "add_n: types differ"),
    ],
)
def test_errors(call: Callable, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_remainders_of_integers_have_no_gradient() -> None:  # as in MXNet
    a, b = nd.array([7, -7], dtype="int32"), nd.array([3, 2], dtype="int32")
    for x in (a, b):
        x.attach_grad()
    with autograd.record():
        y = a % b + a % 3 + 5 % b
    y.backward()
    assert not a.grad.asnumpy().any() and not b.grad.asnumpy().any()
