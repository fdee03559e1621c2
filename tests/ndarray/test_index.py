"""Taking elements out and putting them in: keys as NumPy's, but for what MXNet does not do; operators on positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case, check

A = np.random.default_rng(0).normal(size=(3, 4, 2))
M = A[..., 0]

GRADIENTS = {
    "take": Case(lambda x: nd.take(x, nd.array([[0, 2], [2, 9]])), [A]),
    "take axis": Case(lambda x: nd.take(x, nd.array([[0, -1, 3]]), axis=-2, mode="wrap"), [A]),
    "pick": Case(lambda x: nd.pick(x, nd.array([1, 9, -1])), [M]),
    "pick axis": Case(
        lambda x: nd.pick(x, nd.array([[1, 0], [4, 2], [-1, 3]]), axis=1, mode="wrap", keepdims=True), [A]
    ),
    "choose_element_0index": Case(lambda x: nd.choose_element_0index(x, nd.array([1, 3, 0])), [M]),
    "batch_take": Case(lambda x: nd.batch_take(x, nd.array([1, 3, 0])), [M]),
    "Embedding": Case(lambda w: nd.Embedding(nd.array([[0, 1], [1, 1]]), w), [M]),
    "gather_nd": Case(lambda x: nd.gather_nd(x, nd.array([[0, 0, -1], [1, 1, 3]])), [A]),
    "scatter_nd": Case(lambda x: nd.scatter_nd(x, nd.array([[2, 0, 1]]), (4, 4, 2)), [A]),
    "where": Case(lambda x, y: nd.where(nd.array(M > 0), x, y), [M, M + 1]),
    "where rows": Case(lambda x, y: nd.where(nd.array([0, 1, 2]), x, y), [A, A + 1]),
}
NO_GRADIENT = {"fill_element_0index", "one_hot", "ravel_multi_index", "unravel_index"}

# ---------------------------------------------------------------- x[key]

SHAPE = (4, 5, 3)


@st.composite
def keys(draw: st.DrawFn) -> tuple:
    """A key into an array of SHAPE, with which NumPy and MXNet agree."""
    key: list[Any] = list(
        draw(hnp.basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=False, max_dims=6).map(_tuple))
    )
    shape = draw(hnp.array_shapes(max_dims=2, max_side=3))
    axes = [i for i, item in enumerate(key) if item is not None]
    for axis, i in enumerate(axes):
        if draw(st.booleans()) and draw(st.booleans()):
            key[i] = draw(hnp.arrays(np.int64, shape, elements=st.integers(-SHAPE[axis], SHAPE[axis] - 1)))
    return tuple(key)


def _tuple(key: Any) -> tuple:
    return key if isinstance(key, tuple) else (key,)


@settings(max_examples=80, deadline=None)
@given(keys(), st.data())
def test_keys_are_numpys(key: tuple, data: st.DataObject) -> None:
    check_key(key, data)


@pytest.mark.stress
@settings(max_examples=5000, deadline=None)
@given(keys(), st.data())
def test_many_keys_are_numpys(key: tuple, data: st.DataObject) -> None:
    check_key(key, data)


def check_key(key: tuple, data: st.DataObject) -> None:
    values = np.arange(60.0).reshape(SHAPE)
    x = nd.array(values, dtype="float64")
    x.attach_grad()
    given_key = tuple(
        nd.array(k, dtype="int64") if isinstance(k, np.ndarray) and data.draw(st.booleans()) else k for k in key
    )
    expected = values[key]
    with autograd.record():
        y = x[given_key]
    np.testing.assert_array_equal(y.asnumpy(), np.array(expected, ndmin=1))
    if expected.size:
        weights = nd.arange(expected.size, dtype="float64").reshape(y.shape)
        y.backward(weights)
        gradient = np.zeros(SHAPE)
        np.add.at(gradient, key, weights.asnumpy().reshape(np.shape(expected)))
        np.testing.assert_array_equal(x.grad.asnumpy(), gradient)
    for value in (-1, np.random.default_rng(0).normal(size=np.shape(expected)[-1:])):
        values[key] = value
        x[given_key] = nd.array(value, dtype="float64") if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(x.asnumpy(), values)


@pytest.mark.parametrize(
    "key",
    [1, slice(1, 3), (slice(None), slice(0, 2)), (0, ..., None), ([0, 2], 1), (2, [1, 1], 0), [2, 2, 0], range(2)],
)
def test_gradients_of_keys(key: Any) -> None:
    check(lambda x: x[key], A, order=2)


def test_integers_of_all_kinds() -> None:
    x = nd.arange(12).reshape((3, 4))
    for one in (1, np.int32(1), np.array(1), nd.array(1)):
        np.testing.assert_array_equal(x[one].asnumpy(), [4, 5, 6, 7])
    for several in ([1, -1], (1, -1), np.array([1.7, -1]), nd.array([1, -1]), np.array([1, -1], np.int8)):
        np.testing.assert_array_equal(x[several,].asnumpy(), [[4, 5, 6, 7], [8, 9, 10, 11]])
    assert x[[]].shape == (0, 4)


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, 0, 0), [3], nd.array([0, -4]), (0, [4]), (..., 0, ...)])
def test_out_of_bounds(key: Any) -> None:
    x = nd.zeros((3, 4))
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 1


@pytest.mark.parametrize(
    "key", ["a", 1.0, {1}, [[1], [1, 2]], True, [True, False, True], np.ones(3, bool), slice(0, 1, 0)]
)
def test_what_is_no_key(key: Any) -> None:
    x = nd.zeros((3, 4))
    with pytest.raises(ValueError):
        x[key]
    with pytest.raises(ValueError):
        x[key] = 1


def test_values_that_cannot_be_written() -> None:
    x = nd.zeros((3, 4))
    for value in (nd.zeros(5), np.zeros((3, 4)), [1, 2]):
        with pytest.raises(ValueError, match=r"where x has shape \(3, 4\)"):
            x[1:] = value
    for value in ("a", None, [[1], [1, 2]], {}):
        with pytest.raises(TypeError, match="it is no array of numbers"):
            x[0] = value
    x[0] = np.ones((1, 1, 4))  # axes of length 1 in front are dropped
    x[1, 1] = [5]
    x[nd.array([2]), 0] = 6
    np.testing.assert_array_equal(x.asnumpy(), [[1, 1, 1, 1], [0, 5, 0, 0], [6, 0, 0, 0]])


def test_values_are_converted_with_one_rounding() -> None:
    x = nd.zeros(2, dtype="int32")
    x[:] = nd.array([2.7, -2.7])
    assert x.asnumpy().tolist() == [2, -2]
    tie = nd.zeros(1, dtype="bfloat16")
    tie[:] = np.array([1 + 2**-8 + 2**-40])  # through float32 it would be a tie, and round down
    assert float(tie) == 1 + 2**-7


def test_writes_of_the_graph() -> None:
    """Only to all of an array that is not in it."""
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    for key, shape in (
        (slice(None), (2,)),
        (slice(0, 2), (2,)),
        (slice(None), (3, 2)),
        (0, (1, 2)),
        (..., (2,)),
        (None, (2,)),
    ):
        y = nd.zeros(shape)
        with autograd.record():
            y[key] = x
            z = (y * y).sum()
        z.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy() * (y.size // 2))
    y = nd.zeros(3)
    with autograd.record():
        y[0] = 3  # y is not in the graph, nor is 3
        for write in (
            lambda: y.__setitem__(slice(0, 2), x),
            lambda: y.__setitem__([0, 1], x),
            lambda: x.__setitem__(0, 1),
        ):
            with pytest.raises(mx.MXNetError, match="not supported when recording"):
                write()
        y = nd.zeros(2)
        with pytest.raises(mx.MXNetError, match="not supported when recording"):
            y += x
        with pytest.raises(mx.MXNetError, match="not supported when recording"):
            y[::-1] = x


# ---------------------------------------------------------------- operators


def test_modes_of_take_and_pick() -> None:
    x, at = nd.array([[1, 2], [3, 4]]), nd.array([0, 5, -1])
    assert nd.take(x, at).asnumpy()[:, 0].tolist() == [1, 3, 1]
    assert nd.take(x, at, mode="wrap").asnumpy()[:, 0].tolist() == [1, 3, 3]
    with pytest.raises(mx.MXNetError, match="indices from -1 to 5 for an axis of length 2"):
        nd.take(x, at, mode="raise")
    with pytest.raises(mx.MXNetError, match="unknown mode 'warp'; did you mean 'wrap'"):
        nd.take(x, at, mode="warp")
    with pytest.raises(mx.MXNetError, match="no axis 2"):
        nd.take(x, at, axis=2)
    assert nd.pick(x, nd.array([1, -1])).asnumpy().tolist() == [2, 3]
    assert nd.pick(x, nd.array([1, -1]), mode="wrap").asnumpy().tolist() == [2, 4]
    for dtype in ("float16", "float32", "float64", "int32"):  # of the type of x, and of others
        found = nd.pick(x, nd.array([1.7, -0.5]).astype(dtype), keepdims=True)
        assert found.asnumpy().tolist() == [[2], [3]]
    assert nd.pick(x, nd.array([np.nan, 1e30])).asnumpy().tolist()[0] == 1
    with pytest.raises(mx.MXNetError, match=r"index has shape \(3,\)"):
        nd.pick(x, at)


def test_positions() -> None:
    flat, shape = nd.array([22, 41, 37]), (7, 6)
    coordinates = nd.unravel_index(flat, shape)
    np.testing.assert_array_equal(coordinates.asnumpy(), np.unravel_index([22, 41, 37], shape))
    np.testing.assert_array_equal(nd.ravel_multi_index(coordinates, (-1, 6)).asnumpy(), flat.asnumpy())
    np.testing.assert_array_equal(
        nd.one_hot(nd.array([1, 0, 5, -1]), 3, 5, -1, "int32").asnumpy(), [[-1, 5, -1], [5, -1, -1], [-1] * 3, [-1] * 3]
    )
    filled = nd.fill_element_0index(nd.array([[1, 2], [3, 4]]), nd.array([8, 9]), nd.array([1, 0]))
    np.testing.assert_array_equal(filled.asnumpy(), [[1, 8], [9, 4]])
    indices = nd.contrib.index_array(nd.ones((2, 2)), axes=(1, 0))
    np.testing.assert_array_equal(indices.asnumpy(), [[[0, 0], [1, 0]], [[0, 1], [1, 1]]])
    with pytest.raises(IndexError, match="gather_nd: indices from 0 to 5 for axis 0 of length 2"):
        nd.gather_nd(nd.ones((2, 2)), nd.array([[0, 5]]))
    with pytest.raises(mx.MXNetError, match="two axes or more"):
        nd.gather_nd(nd.ones((2, 2)), nd.array([0]))


def test_masks_and_copies_of_rows() -> None:
    keep, at = nd.array([1, 0, 2]), nd.array([2, 0], dtype="int64")
    check(lambda x: nd.contrib.boolean_mask(x, keep), A, order=2)
    check(lambda x, y: nd.contrib.index_copy(x, at, y), A, A[:2], order=2)
    assert nd.contrib.boolean_mask(nd.ones((3, 2)), nd.zeros(3)).shape == (0, 2)
    with pytest.raises(mx.MXNetError, match=r"index has shape \(3,\), not \(2,\)"):
        nd.contrib.boolean_mask(nd.ones((2, 3)), keep)


def test_internal_names() -> None:
    x = nd.ones((2, 3))
    part = {"begin": (0, 1), "end": (1, 3)}
    y = nd._internal._slice_assign(x, nd.zeros((1, 2)), **part)
    np.testing.assert_array_equal(y.asnumpy(), [[1, 0, 0], [1, 1, 1]])
    assert nd._internal._crop_assign_scalar(x, scalar=5, **part, out=x) is x
    np.testing.assert_array_equal(x.asnumpy(), [[1, 5, 5], [1, 1, 1]])
    y = nd._internal._slice_assign_scalar(x, **part)
    np.testing.assert_array_equal(y.asnumpy(), [[1, 0, 0], [1, 1, 1]])
    y = nd._internal._scatter_set_nd(x, nd.array([7, 8]), nd.array([[0, 1], [0, 2]]), shape=x.shape)
    np.testing.assert_array_equal(y.asnumpy(), [[7, 5, 5], [1, 1, 8]])


def test_where_of_large_arrays_is_that_of_small_ones() -> None:
    """Threads share them. Conditions are truth values, or numbers, of which NaN is not 0."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 3, 100_000)).astype("float32")
    floats = rng.integers(-1, 2, values.shape[1:]).astype("float32")
    floats[:, :2] = np.nan, -0.0
    for condition in (floats, np.nan_to_num(floats).astype("int32"), floats.astype("float64")):
        parts = []
        for row in (slice(None), 0, 1, 2):
            x, y = (nd.array(v[row]) for v in values)
            x.attach_grad(), y.attach_grad()
            with autograd.record():
                chosen = nd.where(nd.array(condition[row], dtype=condition.dtype), x, y)
            chosen.backward(x)
            parts.append([a.asnumpy() for a in (chosen, x.grad, y.grad)])
        for whole, *rows in zip(*parts, strict=True):
            np.testing.assert_array_equal(whole, np.stack(rows))
        np.testing.assert_array_equal(parts[0][0], np.where(condition, *values))


def test_gradients_of_rows_that_are_named_several_times() -> None:
    x = nd.array(np.random.default_rng(0).normal(size=(3, 4, 9)))
    x.attach_grad()
    for key in ([[0, 0, -1, 0], [1, 1, 3, -3]], [[2, -1, 2, 2, 0]]):
        with autograd.record():
            y = nd.gather_nd(x, nd.array(key))
        flow = np.random.default_rng(1).normal(size=y.shape).astype("float32")
        y.backward(nd.array(flow))
        expected = np.zeros(x.shape, "float32")
        np.add.at(expected, tuple(np.array(key)), flow)
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6, atol=1e-6)
