"""Sorting, against NumPy's stable sorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case

A = np.random.default_rng(0).permutation(24).reshape(2, 3, 4) / 3

GRADIENTS = {
    "sort": Case(lambda x: nd.sort(x, axis=1, is_ascend=False), [A]),
    "topk": Case(lambda x: nd.topk(x, k=2, ret_typ="value"), [A]),
    "topk both": Case(lambda x: nd.topk(x, k=5, ret_typ="both", axis=None)[0], [A]),
}
NO_GRADIENT = {"argsort", "histogram"}

values = hnp.arrays(
    np.float32, hnp.array_shapes(max_dims=3, max_side=40), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, np.inf])
)


def expected_order(x: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    return np.argsort(x if ascending else -x, axis, kind="stable")


@given(values, st.data())
@settings(deadline=None)  # the first call may compile
def test_equal_elements_keep_their_order(x: np.ndarray, data: st.DataObject) -> None:
    axis, ascending = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    k = data.draw(st.integers(1, min(3, x.shape[axis])))  # the least of long axes are found without sorting them
    order = expected_order(x, axis, ascending)
    ours = nd.array(x)
    np.testing.assert_array_equal(nd.argsort(ours, axis, ascending, "int32").asnumpy(), order)
    np.testing.assert_array_equal(nd.sort(ours, axis, ascending).asnumpy(), np.take_along_axis(x, order, axis))
    first = np.take(order, range(k), axis)
    top = {"axis": axis, "k": k, "is_ascend": ascending}
    both = nd.topk(ours, ret_typ="both", dtype="int64", **top)
    np.testing.assert_array_equal(both[1].asnumpy(), first)
    np.testing.assert_array_equal(both[0].asnumpy(), np.take_along_axis(x, first, axis))
    mask = np.zeros_like(x)
    np.put_along_axis(mask, first, 1, axis)
    np.testing.assert_array_equal(nd.topk(ours, ret_typ="mask", **top).asnumpy(), mask)


def test_without_an_axis() -> None:
    x = nd.array([[3, 1, 2], [1, 3, 2]])
    assert nd.sort(x, axis=None).asnumpy().tolist() == [1, 1, 2, 2, 3, 3]
    assert nd.argsort(x, axis=None).asnumpy().tolist() == [1, 3, 2, 5, 0, 4]
    assert nd.topk(x, axis=None, k=2).asnumpy().tolist() == [0, 4]
    assert nd.topk(x, axis=None, k=2, ret_typ="mask").asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nd.topk(x, k=0).shape == x.shape
    assert nd.topk(x).dtype == nd.argsort(x).dtype == np.float32


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_first_of_long_rows(dtype: str, ascending: bool) -> None:
    """Ties, infinities and NaN, first elements along both axes, as many as a kernel finds in one pass and more."""
    x = np.random.default_rng(0).integers(-40, 40, (5, 300)).astype(dtype)
    if dtype != "int32":
        x[1, ::7], x[2, ::50], x[3, 5:250] = np.nan, np.inf, np.nan
    for axis in (0, 1):
        order = np.argsort(x if ascending else np.flip(x, axis), axis, kind="stable")
        order = order if ascending else x.shape[axis] - 1 - np.flip(order, axis)
        for k in (1, 3, 5) if axis == 0 else (1, 5, 64, 65, 299):
            found = nd.topk(nd.array(x, dtype=dtype), axis, k, is_ascend=ascending, dtype="int32").asnumpy()
            np.testing.assert_array_equal(found, np.take(order, range(k), axis))


def test_nan_is_the_largest() -> None:
    x = nd.array([3, np.nan, 2, *[0] * 60])
    assert nd.topk(x, k=3).asnumpy().tolist() == [1, 0, 2]
    assert np.isnan(nd.sort(x).asnumpy()[-1])


def test_integers_have_gradients_too() -> None:
    x = nd.arange(100, dtype="int32")
    x.attach_grad()
    with autograd.record():
        nd.topk(x, k=3, ret_typ="value").backward(nd.array([1, 2, 3], dtype="int32"))
    assert x.grad.asnumpy()[-3:].tolist() == [3, 2, 1] and x.grad.sum().asscalar() == 6


def test_histogram() -> None:
    x = nd.array([0, 3, 4, -1])
    counts, edges = nd.histogram(x, bins=3, range=(0, 3))
    assert counts.asnumpy().tolist() == [1, 0, 1] and counts.dtype == np.int64
    assert edges.asnumpy().tolist() == [0, 1, 2, 3] and edges.dtype == np.float32
    counts, _ = nd.histogram(x, bins=nd.array([-1, 0, 9]))
    assert counts.asnumpy().tolist() == [1, 3]
    counts, edges = nd.histogram(x, bins=2)  # of the range of the elements: numbers that can be divided
    assert counts.asnumpy().tolist() == [2, 2] and counts.dtype == edges.dtype == np.float32
    with pytest.raises(mx.MXNetError, match="histogram"):
        nd.histogram(x, bins=nd.array([2, 1]))
    for edges in ([2], [[0, 1, 2]], []):
        with pytest.raises(mx.MXNetError, match=r"bins are edges of shape \(n,\), two or more, not"):
            nd.histogram(x, bins=nd.array(edges))


def test_what_does_not_fit() -> None:
    x = nd.ones((2, 3))
    with pytest.raises(mx.MXNetError, match="k is 4, but there are 3 elements along axis 1"):
        nd.topk(x, k=4)
    with pytest.raises(mx.MXNetError, match="unknown ret_typ 'values'; did you mean 'value'"):
        nd.topk(x, ret_typ="values")
    with pytest.raises(mx.MXNetError, match="sort: there is no axis 2"):
        nd.sort(x, axis=2)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("ascending", [False, True])
def test_large_arrays_are_sorted_as_small_ones(axis: int, ascending: bool) -> None:
    """Equal elements keep their order, zeros of both signs are equal, and NaN is largest."""
    values = np.random.default_rng(0).integers(-9, 9, (60, 70)).astype("float32")
    values[::3, ::5] = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40] * 35).reshape(20, 14)
    found = nd.argsort(nd.array(values), axis=axis, is_ascend=ascending, dtype="int64").asnumpy()
    expected = nd.argsort(nd.array(values, dtype="float64"), axis=axis, is_ascend=ascending, dtype="int64").asnumpy()
    np.testing.assert_array_equal(found, expected)
    rising = np.argsort(values.astype("float64"), axis, kind="stable")
    if ascending:
        np.testing.assert_array_equal(found, rising)
