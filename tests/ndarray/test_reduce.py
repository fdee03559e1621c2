"""Reductions: gradients, axes, types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import autograd, nd
from tests.ndarray.gradients import Case, each

RNG = np.random.default_rng(0)
A, CUBE = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3, 2))

GRADIENTS = {
    **each(
        "sum sum_axis mean prod nansum nanprod max max_axis min min_axis norm argmax argmin argmax_channel cumsum",
        A,
    ),
    "sum axis": Case(lambda x: nd.sum(x, axis=1), [CUBE]),
    "sum kept": Case(lambda x: nd.sum(x, axis=(0, -1), keepdims=True), [CUBE]),
    "sum exclude": Case(lambda x: nd.sum(x, axis=1, exclude=True), [CUBE]),
    "mean exclude": Case(lambda x: nd.mean(x, axis=0, exclude=True), [CUBE]),
    "prod axes": Case(lambda x: nd.prod(x, axis=(0, 2)), [CUBE]),
    "max axis": Case(lambda x: nd.max(x, axis=1), [CUBE]),
    "min kept": Case(lambda x: nd.min(x, axis=(0, 1), keepdims=True), [CUBE]),
    "norm 1": Case(lambda x: nd.norm(x, ord=1, axis=1), [CUBE]),
    "norm 2": Case(lambda x: nd.norm(x, ord=2, axis=(0, 2), keepdims=True), [CUBE]),
    "moments": Case(lambda x: nd.moments(x, axes=(0, 2)), [CUBE]),
    "moments kept": Case(lambda x: nd.moments(x, axes=1, keepdims=True), [CUBE]),
    "cumsum axis": Case(lambda x: nd.cumsum(x, axis=-2), [CUBE]),
}
NO_GRADIENT: set[str] = set()

REDUCTIONS: dict[str, Callable] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "nansum": np.nansum,
    "nanprod": np.nanprod,
}


@given(st.data())
def test_values_are_those_of_numpy(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(REDUCTIONS)))
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    axis = data.draw(
        st.none() | st.integers(-len(shape), len(shape) - 1) | st.sets(st.integers(0, len(shape) - 1), min_size=1)
    )
    keepdims, exclude = data.draw(st.booleans()), data.draw(st.booleans())
    axis = tuple(axis) if isinstance(axis, set) else axis
    x = np.cos(np.arange(np.prod(shape))).reshape(shape)
    over = axis
    if exclude and axis is not None:
        chosen = {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))}
        over = tuple(a for a in range(len(shape)) if a not in chosen)
    expected = REDUCTIONS[name](x, axis=over, keepdims=keepdims)
    result = getattr(nd, name)(nd.array(x, dtype="float64"), axis=axis, keepdims=keepdims, exclude=exclude)
    assert result.shape == (expected.shape or (1,))
    assert result._data.flags.c_contiguous
    np.testing.assert_allclose(result.asnumpy(), expected.reshape(result.shape), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_types_are_kept(dtype: str) -> None:
    x = nd.array([[1, 5, 2], [4, 1, 3]], dtype=dtype)
    for name in (*REDUCTIONS, "norm", "argmax", "argmin", "argmax_channel", "cumsum"):
        assert getattr(nd, name)(x)._data.dtype == x._data.dtype, name
    np.testing.assert_array_equal(nd.argmax(x, axis=1).astype("int64").asnumpy(), [1, 0])
    np.testing.assert_array_equal(nd.argmax(x).astype("int64").asnumpy(), [1])
    np.testing.assert_array_equal(nd.argmin(x, axis=0, keepdims=True).astype("int64").asnumpy(), [[0, 1, 0]])
    assert nd.argmin(x, keepdims=True).shape == (1, 1)


def test_integers_are_cut_off() -> None:
    x = nd.array([-3, -1, 0, 1, 2, 5], dtype="int32")
    assert x.mean().asscalar() == 0 and nd.norm(x).asscalar() == 6 and (x - 3).mean().asscalar() == -2
    assert nd.sum(nd.array([255, 2], dtype="uint8")).asscalar() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_added_up_in_float32(dtype: str) -> None:
    ones = nd.ones((4, 10_000), dtype=dtype)
    rounded = nd.array([10_000], dtype=dtype).asscalar()
    np.testing.assert_array_equal(ones.sum(axis=1).asnumpy(), np.full(4, rounded))
    assert (ones * 3).mean().asscalar() == 3
    assert nd.norm(ones).asscalar() == 200
    assert nd.norm(ones * 300, out_dtype="float32").asscalar() == nd.norm(ones.astype("float32") * 300).asscalar()


def test_nan() -> None:
    x = nd.array([[1, 2], [np.nan, 4]])
    np.testing.assert_array_equal(nd.nansum(x, axis=1).asnumpy(), [3, 4])
    np.testing.assert_array_equal(nd.nanprod(x, axis=1).asnumpy(), [2, 4])
    np.testing.assert_array_equal(nd.max(x, axis=1).asnumpy(), [2, np.nan])
    x.attach_grad()
    for operator, expected in ((nd.nansum, [[1, 1], [0, 1]]), (nd.nanprod, [[8, 4], [0, 2]])):
        with autograd.record():
            y = operator(x)
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), expected)


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (nd.max, [2, 2, 1], [1, 1, 0]),
        (nd.min, [1, 1, 2], [1, 1, 0]),
        (nd.prod, [0, 2, 3], [6, 0, 0]),
        (nd.prod, [0, 0, 3], [0, 0, 0]),
        (nd.prod, [1, np.nan, 0], [np.nan] * 3),
        (lambda x: nd.norm(x, ord=1), [-1, 0, 2], [-1, 0, 1]),
    ],
)
def test_gradients_at_ties_and_zeros(function: Callable, values: list[float], expected: list[float]) -> None:
    x = nd.array(values)
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_cumsum_and_its_type() -> None:
    x = nd.array([[1, 2, 3], [4, 5, -6]], dtype="int32")
    np.testing.assert_array_equal(nd.cumsum(x).asnumpy(), [1, 3, 6, 10, 15, 9])
    np.testing.assert_array_equal(nd.cumsum(x, axis=0).asnumpy(), [[1, 2, 3], [5, 7, -3]])
    assert nd.cumsum(x, axis=-1, dtype="float64").dtype == np.float64


def test_sums_of_nothing() -> None:
    """They are 0; so is the gradient of a bias that no image was given to."""
    np.testing.assert_array_equal(nd.sum(nd.empty((0, 3)), axis=0).asnumpy(), [0, 0, 0])
    x, w, bias = nd.empty((0, 3, 5, 5)), nd.ones((4, 3, 3, 3)), nd.ones(4)
    bias.attach_grad()
    bias.grad[:] = 1
    with autograd.record():
        y = nd.Convolution(x, w, bias, kernel=(3, 3), num_filter=4)
    y.backward()
    np.testing.assert_array_equal(bias.grad.asnumpy(), [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nd.sum(nd.ones((2, 3)), axis=2), "sum: there is no axis 2 in an array of shape (2, 3)"),
        (
            lambda: nd.mean(nd.ones((2, 3)), axis=(0, -2)),
            "mean: (0, -2) names an axis of an array of shape (2, 3) twice",
        ),
        (lambda: nd.max(nd.empty((0, 3))), "max: an array of shape (0, 3) has no elements"),
        (lambda: nd.argmax(nd.ones((2, 3)), axis=5), "argmax: there is no axis 5"),
        (lambda: nd.argmin(nd.ones((2, 3)), axis=(0, 1)), "argmin: there is no axis (0, 1)"),
        (lambda: nd.norm(nd.ones(2), ord=3), "norm: ord must be 1 or 2, not 3"),
        (lambda: nd.moments(nd.ones(2), axes=None), "moments: axes must name"),
        (lambda: nd.cumsum(nd.ones(2), axis=1), "cumsum: there is no axis 1"),
        (lambda: nd.argmax_channel(nd.ones(2)), "argmax_channel: there is no axis 1 in an array of shape (2,)"),
    ],
)
def test_errors(call: Callable, words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_of_large_arrays_have_the_bits_of_numpy(axis: int) -> None:
    values = np.random.default_rng(0).normal(size=(30, 40, 50)).astype("float32")
    x = nd.array(values)
    x.attach_grad()
    with autograd.record():
        y = nd.cumsum(x, axis=axis)
    y.backward(x)
    np.testing.assert_array_equal(y.asnumpy(), np.cumsum(values, axis))
    np.testing.assert_array_equal(x.grad.asnumpy(), np.flip(np.cumsum(np.flip(values, axis), axis), axis))
