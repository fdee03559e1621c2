"""Operators that reshape, reorder, repeat, cut and join, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime as mx
from runtime import autograd, nd
from runtime.ndarray.shape import reshape
from runtime.ndarray.shape.reshape import Shape
from tests.ndarray.gradients import Case

A = np.random.default_rng(0).normal(size=(2, 3, 4))
IMAGES = np.random.default_rng(1).normal(size=(2, 4, 2, 4))
ZEROS = nd.zeros((2, 2, 4), dtype="float64")

GRADIENTS = {
    "reshape": Case(lambda x: nd.reshape(x, (-3, 0)), [A]),
    "Reshape": Case(lambda x: nd.Reshape(x, shape=(0, -1)), [A]),
    "reshape_like": Case(lambda x: nd.reshape_like(x, nd.ones((6, 4))), [A]),
    "flatten": Case(nd.flatten, [A]),
    "Flatten": Case(nd.Flatten, [A]),
    "expand_dims": Case(lambda x: nd.expand_dims(x, axis=-2), [A]),
    "squeeze": Case(nd.squeeze, [A[:, :1]]),
    "transpose": Case(lambda x: nd.transpose(x, axes=(1, 2, 0)), [A]),
    "swapaxes": Case(lambda x: nd.swapaxes(x, 0, -1), [A]),
    "SwapAxis": Case(lambda x: nd.SwapAxis(x, dim1=0, dim2=1), [A]),
    "moveaxis": Case(lambda x: nd.moveaxis(x, 0, 2), [A]),
    "flip": Case(lambda x: nd.flip(x, axis=(0, 2)), [A]),
    "reverse": Case(lambda x: nd.reverse(x, axis=1), [A]),
    "depth_to_space": Case(lambda x: nd.depth_to_space(x, 2), [IMAGES]),
    "space_to_depth": Case(lambda x: nd.space_to_depth(x, 2), [IMAGES]),
    "broadcast_to": Case(lambda x: nd.broadcast_to(x, (2, 5, 4)), [A[:, :1]]),
    "broadcast_axis": Case(lambda x: nd.broadcast_axis(x, axis=1, size=5), [A[:, :1]]),
    "broadcast_axes": Case(lambda x: nd.broadcast_axes(x, axis=(0, 1), size=(2, 5)), [A[:1, :1]]),
    "broadcast_like": Case(lambda x: nd.broadcast_like(x, nd.ones((5, 7)), lhs_axes=1, rhs_axes=-1), [A[:, :1]]),
    "tile": Case(lambda x: nd.tile(x, (3, 1, 2, 1)), [A]),
    "repeat": Case(lambda x: nd.repeat(x, 3, axis=1), [A]),
    "repeat flattened": Case(lambda x: nd.repeat(x, 2), [A]),
    "slice": Case(lambda x: nd.slice(x, (None, 2), (None, 0), (None, -1)), [A]),
    "crop": Case(lambda x: nd.crop(x, (0, 1), (2, 3)), [A]),
    "slice_axis": Case(lambda x: nd.slice_axis(x, axis=-1, begin=-3, end=None), [A]),
    "slice_like": Case(lambda x: nd.slice_like(x, ZEROS, axes=(1,)), [A]),
    "Crop": Case(lambda x: nd.Crop(x, h_w=(1, 2), center_crop=True), [IMAGES]),
    "concat": Case(lambda x, y: nd.concat(x, y, x, dim=1), [A, A[:, :1]]),
    "Concat": Case(lambda x, y: nd.Concat(x, y, dim=-1), [A, A * 2]),
    "concatenate": Case(lambda x, y: nd.concatenate([x, y]), [A, A[:1]]),
    "stack": Case(lambda x, y: nd.stack(x, y, axis=-1), [A, A * 2]),
    "split": Case(lambda x: nd.split(x, 3), [A]),
    "split squeezed": Case(lambda x: nd.split(x, 3, squeeze_axis=True)[1], [A]),
    "SliceChannel": Case(lambda x: nd.SliceChannel(x, 2, axis=2)[0], [A]),
    "split_v2": Case(lambda x: nd.split_v2(x, (1, 3), axis=-1), [A]),
    "pad": Case(lambda x: nd.pad(x, "reflect", (0, 0, 0, 0, 1, 1, 3, 2)), [IMAGES]),
    "pad edge": Case(lambda x: nd.pad(x, "edge", (0, 0, 0, 0, 1, 0, 0, 3)), [IMAGES]),
    "Pad": Case(lambda x: nd.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 3), constant_value=2), [IMAGES]),
}
NO_GRADIENT = {"shape_array", "size_array"}


@pytest.mark.parametrize(
    ("own", "wanted", "reverse", "expected"),
    [
        ((2, 3, 4), (4, 0, 2), False, (4, 3, 2)),
        ((2, 3, 4), (-1,), False, (24,)),
        ((2, 3, 4), (6, 1, -1), False, (6, 1, 4)),
        ((2, 3, 4), (2, -2), False, (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), False, (2, 3, 4, 1, 1)),
        ((2, 3, 4, 5), (-3, -3), False, (6, 20)),
        ((2, 3, 4), (0, -3), False, (2, 12)),
        ((2, 3, 4), (-4, 1, 2, -2), False, (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), False, (2, 1, 3, 4)),
        ((10, 5, 4), (-1, 0), False, (40, 5)),
        ((10, 5, 4), (-1, 0), True, (50, 4)),
    ],
)
def test_codes_of_reshape(own: tuple, wanted: tuple, reverse: bool, expected: tuple) -> None:
    x = nd.zeros(own)
    assert x.reshape(wanted, reverse=reverse).shape == expected
    assert x.reshape(*wanted, reverse=reverse).shape == expected
    assert nd.reshape(x, shape=wanted, reverse=reverse).shape == expected


@pytest.mark.parametrize(
    "wanted",
    [(5, 5), (2, -1, -1), (0, 0, 0, 0), (-4, -1, -1, 0, 0), (-4, 2), (-4, 3, -1, -2), (0, 0, -3), (-5,), (), (2.5, 2)],
)
def test_impossible_shapes(wanted: tuple) -> None:
    with pytest.raises(mx.MXNetError, match="reshape"):
        nd.zeros((2, 3, 4)).reshape(wanted)


@given(st.data())
def test_rearranging_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    axis = st.integers(-len(shape), len(shape) - 1)
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = nd.array(values)
    order, a, b, n = (
        data.draw(st.permutations(range(len(shape)))),
        data.draw(axis),
        data.draw(axis),
        data.draw(st.integers(1, 3)),
    )
    reps = tuple(data.draw(st.lists(st.integers(1, 3), max_size=5)))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[a]), max_size=3)))
    for ours, numpys in (
        (x.transpose(order), values.transpose(order)),
        (x.swapaxes(a, b), values.swapaxes(a, b)),
        (nd.moveaxis(x, a, b), np.moveaxis(values, a, b)),
        (x.flip(a), np.flip(values, a)),
        (x.expand_dims(a), np.expand_dims(values, a)),
        (x.tile(reps), np.tile(values, reps)),
        (x.repeat(n, a), np.repeat(values, n, a)),
        (x.repeat(n), np.repeat(values, n)),
        (nd.concat(x, x, dim=a), np.concatenate([values, values], a)),
        (nd.stack(x, x, axis=a), np.stack([values, values], a)),
        (x.transpose(), values.T),
    ):
        assert not np.may_share_memory(ours._data, x._data)
        np.testing.assert_array_equal(ours.asnumpy(), numpys)
    pieces = x.split_v2(cuts, axis=a)
    for ours, numpys in zip(pieces if cuts else [pieces], np.split(values, cuts, a), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), numpys)


def test_results_known_from_mxnet() -> None:
    x = nd.arange(8)
    np.testing.assert_array_equal(
        nd.depth_to_space(x.reshape((1, 4, 1, 2)), 2).asnumpy().ravel(), [0, 2, 1, 3, 4, 6, 5, 7]
    )
    np.testing.assert_array_equal(
        nd.space_to_depth(x.reshape((1, 1, 2, 4)), 2).asnumpy().ravel(), [0, 2, 1, 3, 4, 6, 5, 7]
    )
    assert nd.ones((1, 1)).squeeze().shape == (1,)
    assert nd.reshape_like(nd.ones((2, 3, 4)), nd.ones((6, 5)), 0, 2, 0, 1).shape == (6, 4)
    assert nd.slice_like(nd.ones((2, 3)), nd.ones((1, 2))).shape == (1, 2)
    assert nd.slice_like(nd.ones((2, 3)), nd.ones((1, 2)), axes=(1, -1)).shape == (2, 2)
    assert isinstance(nd.split(x, 1, axis=0), nd.NDArray) and len(nd.split(x, 2, axis=0)) == 2
    assert x.shape_array().asnumpy().tolist() == x.size_array().asnumpy().tolist() == [8]
    assert nd.empty((0, 3)).split_v2(1).shape == (0, 3)
    assert nd.concatenate([x], always_copy=False) is x
    image = nd.arange(4).reshape((1, 1, 2, 2))
    for mode, expected in (("edge", [0, 1, 1, 0, 1, 1, 2, 3, 3]), ("reflect", [2, 3, 2, 0, 1, 0, 2, 3, 2])):
        assert image.pad(mode=mode, pad_width=(0, 0, 0, 0, 1, 0, 0, 1)).asnumpy().ravel().tolist() == expected


INPLACE = [
    ("squeeze", (), (2, 1, 3, 1), (2, 3)),
    ("squeeze", (1,), (2, 1, 3, 1), (2, 3, 1)),
    ("squeeze", ((1, -1),), (2, 1, 3, 1), (2, 3)),
    ("squeeze", (), (1, 1), (1,)),
    ("squeeze", (), (2, 3), (2, 3)),
    ("expand_dims", (0,), (2, 3), (1, 2, 3)),
    ("expand_dims", (-1,), (2, 3), (2, 3, 1)),
    ("expand_dims", (np.int64(1),), (2, 3), (2, 1, 3)),
    ("flatten", (), (2, 1, 3, 1), (2, 3)),
    ("flatten", (), (3,), (3, 1)),
]


@pytest.mark.parametrize("name, args, before, after", INPLACE)
def test_inplace_shares_memory(name: str, args: tuple, before: tuple, after: tuple) -> None:
    x = nd.arange(int(np.prod(before))).reshape(before)
    x.attach_grad()
    with autograd.record():
        views = getattr(x, name)(*args, inplace=True), getattr(x, name)(*args, inplace=False)
        (views[0] * 2 + views[1] * 3).backward()
    assert x.grad.asnumpy().tolist() == np.full(before, 5).tolist()
    assert [y.shape for y in views] == [after, after] and x.shape == before
    for y, value in zip(views[::-1], (7, 8), strict=True):
        y[:] = value
        assert (x.asnumpy() == 8).all() == (value == 8)
    with autograd.record(), pytest.raises(mx.MXNetError, match="Inplace operations"):
        getattr(x, name)(*args, inplace=True)[:] = 1


@pytest.mark.parametrize("inplace", [True, False])
def test_what_inplace_refuses(inplace: bool) -> None:
    for call in (
        lambda: X.squeeze(1, inplace=inplace),
        lambda: nd.zeros((2, 1)).squeeze((1, 1), inplace=inplace),
        lambda: nd.zeros((2, 1)).squeeze((1, -1), inplace=inplace),
        lambda: X.squeeze(5, inplace=inplace),
        lambda: X.squeeze(1.0, inplace=inplace),
        lambda: X.expand_dims(5, inplace=inplace),
        lambda: X.expand_dims(1.5, inplace=inplace),
        lambda: X.expand_dims(None, inplace=inplace),
        lambda: X.expand_dims((0, 1), inplace=inplace),
        lambda: nd.empty(()).flatten(inplace=inplace),
    ):
        with pytest.raises(mx.MXNetError):
            call()


def test_slices_are_written_in_place() -> None:
    x = nd.zeros((2, 3))
    assert x.slice_assign(nd.ones((1, 2)), (1, 1), (2, 3), (None, None)) is x
    x.slice_assign_scalar(5, (0,), (1,))
    np.testing.assert_array_equal(x.asnumpy(), [[5, 5, 5], [0, 1, 1]])


def test_a_piece_that_is_not_used_has_no_gradient() -> None:
    x = nd.arange(4)
    x.attach_grad()
    with autograd.record():
        (nd.split(x, 2, axis=0)[1] * 3).backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 3, 3]


X = nd.zeros((2, 3, 4))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: X.transpose((0, 0, 1)),
        lambda: X.transpose(1),
        lambda: X.swapaxes(0, 3),
        lambda: X.expand_dims(5),
        lambda: X.squeeze(1),
        lambda: X.flip(3),
        lambda: X.flip((0, -3)),
        lambda: nd.moveaxis(X, 0, 4),
        lambda: X.broadcast_to((2, 3, 5)),
        lambda: X.broadcast_to((3, 4)),
        lambda: X.broadcast_axes(axis=0, size=3),
        lambda: X.broadcast_like(X, lhs_axes=(), rhs_axes=()),
        lambda: X.tile((0,)),
        lambda: X.repeat(2, axis=3),
        lambda: X.repeat(-1),
        lambda: X.slice((0, 0, 0, 0), (1, 1, 1, 1)),
        lambda: X.slice((0,), (1, 1)),
        lambda: X.slice((0,), (1,), (0,)),
        lambda: X.slice_axis(1, 2, 9),
        lambda: X.slice_axis(1, 2, 2),
        lambda: X.slice_like(nd.ones((2, 3))),
        lambda: X.slice_like(nd.ones((5, 3)), axes=(0,)),
        lambda: X.split(2),
        lambda: X.split(3, axis=2),
        lambda: X.split(1, squeeze_axis=True),
        lambda: nd.empty((0, 3)).split(1, axis=0, squeeze_axis=True),
        lambda: X.split_v2(5),
        lambda: X.split_v2((1, 5), axis=1),
        lambda: nd.concat(),
        lambda: nd.concat([X, X]),
        lambda: nd.concat(X, X, num_args=3),
        lambda: nd.concat(X, nd.zeros((2, 3, 5))),
        lambda: nd.concat(X, X.astype("int32")),
        lambda: nd.concat(X, X, dim=3),
        lambda: nd.stack(X, nd.zeros((2, 3))),
        lambda: nd.depth_to_space(X, 2),
        lambda: nd.space_to_depth(nd.zeros((1, 1, 3, 3)), 2),
        lambda: X.pad("constant", (0, 0, 0, 0, 1, 1)),
        lambda: nd.zeros((1, 1, 2, 2)).pad("reflect", (0, 0, 0, 0, 2, 0, 0, 0)),
        lambda: nd.zeros((1, 1, 2, 2)).pad("mirror", (0,) * 8),
        lambda: nd.Crop(nd.zeros((1, 1, 2, 2)), h_w=(3, 1)),
    ],
)
def test_what_does_not_fit(wrong: Callable[[], object]) -> None:
    with pytest.raises(mx.MXNetError):
        wrong()


def test_an_unknown_margin_is_named() -> None:
    with pytest.raises(mx.MXNetError, match="pad: unknown mode 'mirror'; known: constant, edge, reflect"):
        nd.zeros((1, 1, 2, 2)).pad("mirror", (0,) * 8)


@pytest.mark.cpu_only("a native kernel")
@pytest.mark.parametrize(
    "shape, axes, exchanged",
    [
        ((65, 1, 71), (2, 1, 0), (1, 65, 71, 1)),
        ((3, 2, 5, 1, 200), (2, 0, 1, 3, 4), (1, 6, 5, 200)),
        ((2, 33, 8, 9), (0, 2, 3, 1), (2, 33, 72, 1)),
        ((4, 5, 40, 7), (0, 2, 1, 3), (4, 5, 40, 7)),
        ((16, 17, 18), (2, 1, 0), None),
        ((70, 80), (0, 1), None),
        ((0, 9000, 3), (1, 0, 2), (1, 0, 9000, 3)),
    ],
)
def test_transposes_that_exchange_two_axes(shape: Shape, axes: Shape, exchanged: Shape | None) -> None:
    assert reshape._exchanged(shape, axes) == exchanged
    x = np.random.default_rng(0).normal(size=shape)
    for dtype in ("float16", "float32", "float64"):
        y = nd.transpose(nd.array(x, dtype=dtype), axes).asnumpy()
        assert np.array_equal(y, x.astype(dtype).transpose(axes)) and y.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["float16", "int8", "float64"])
def test_large_arrays_of_any_type_are_joined(dtype: str) -> None:
    """Also of those types that no kernel takes."""
    parts = [np.random.default_rng(i).integers(-9, 9, (n, 90_001)).astype(dtype) for i, n in enumerate((2, 1, 3))]
    joined = nd.concat(*(nd.array(x, dtype=dtype) for x in parts), dim=0)
    assert joined.dtype == np.dtype(dtype) and np.array_equal(joined.asnumpy(), np.concatenate(parts))


@pytest.mark.parametrize("shape", [(3, 300, 301), (600, 3, 151), (2, 3, 70_001)])
def test_large_arrays_are_cut_and_joined_as_small_ones(shape: tuple[int, ...]) -> None:
    """Threads share them."""
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    x = nd.array(values)
    x.attach_grad()
    for axis, n in enumerate(shape):
        key = (*[slice(None)] * axis, slice(1, n))
        with autograd.record():
            part, row = nd.slice_axis(x, axis, 1, n), x[(*key[:-1], -1)]
            both, pieces = nd.concat(x, part, dim=axis), nd.split_v2(x, [1, 2], axis)
            stacked = nd.stack(x, x + 1, axis=axis)
        np.testing.assert_array_equal(part.asnumpy(), values[key])
        np.testing.assert_array_equal(row.asnumpy(), values[(*key[:-1], -1)])
        np.testing.assert_array_equal(both.asnumpy(), np.concatenate([values, values[key]], axis))
        np.testing.assert_array_equal(stacked.asnumpy(), np.stack([values, values + 1], axis))
        for piece, expected in zip(pieces, np.split(values, [1, 2], axis), strict=True):
            np.testing.assert_array_equal(piece.asnumpy(), expected)
        autograd.backward([part, row, both, stacked, *pieces])
        expected = np.full(shape, 4, "float32")
        expected[key] += 2
        expected[(*key[:-1], -1)] += 1
        np.testing.assert_array_equal(x.grad.asnumpy(), expected)
