"""What an array is: types, shapes, shared memory, writing, conversions. These are facts of the interface that is
kept.
"""

from __future__ import annotations

import copy
import ctypes
import operator
import pickle

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd

NO_GRADIENT = {
    *("arange", "array", "empty", "eye", "full", "linspace", "onehot_encode", "ones", "zeros"),
    *("from_dlpack", "from_numpy", "to_dlpack_for_read", "to_dlpack_for_write"),
    *("all_finite", "multi_all_finite", "multi_sum_sq", "reset_arrays"),
}


def test_creation_types() -> None:
    assert nd.array(np.arange(3, dtype=np.int64)).dtype == np.float32  # whatever NumPy had
    assert nd.array([1, 2]).dtype == np.float32
    assert nd.array(nd.array([1, 2], dtype="int32")).dtype == np.int32  # of an array it is kept
    assert nd.array(np.arange(3), dtype="int64").dtype == np.int64
    assert nd.zeros((2, 3), dtype="float64").dtype == np.float64
    assert nd.array(3).shape == ()
    np.testing.assert_array_equal(nd.arange(1, 3, repeat=2).asnumpy(), np.float32([1, 1, 2, 2]))
    np.testing.assert_array_equal(nd.arange(3).asnumpy(), np.float32([0, 1, 2]))
    assert nd.arange(1.3, 8, 1.6, dtype="int32").asnumpy().tolist() == [1, 2, 3, 4, 5]  # as in NumPy
    assert nd.arange(-1.7, 3, 2, repeat=2, dtype="uint8").asnumpy().tolist() == [255, 255, 1, 1, 3, 3]
    np.testing.assert_array_equal(nd.full((2,), 7).asnumpy(), np.float32([7, 7]))
    assert nd.empty((2, 0)).shape == (2, 0)


def test_array_copies_its_source() -> None:
    source = np.zeros(3, np.float32)
    x = nd.array(source)
    x[:] = 1
    x.asnumpy()[:] = 2
    assert source.sum() == 0
    assert x.sum().asscalar() == 3


@pytest.mark.cpu_only("where arrays of NumPy begin")
def test_large_arrays_begin_with_cache_lines() -> None:
    source = np.asfortranarray(np.arange(70_000, dtype=np.float32).reshape(700, 100))
    made = [nd.array(source), nd.array(source).copy(), nd.zeros((700, 100)), nd.empty((700, 100)), nd.ones((700, 100))]
    made += [nd.array(source.astype(np.float64)), nd.array(source.tolist()), nd.random.normal(shape=(700, 100))]
    assert [x._data.ctypes.data % 64 for x in made] == [0] * 8
    assert all(x._data.flags.c_contiguous for x in (*made, nd.array(source.astype(np.float64, order="F"))))
    for x in made[:2]:
        np.testing.assert_array_equal(x.asnumpy(), source)


def test_ragged_source_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot make an array of list"):
        nd.array([[1, 2], [3]])


def test_what_shares_memory() -> None:
    x = nd.zeros((4, 3))
    x[1][:] = 1
    x[2:4][:] = 2
    x.reshape((12,))[0] = 5
    x.detach()[0, 1] = 6
    x[3, 1][:] = 7
    x[3:, 0:1][:] = 8
    x[None, 3, 2:][:] = 9
    np.testing.assert_array_equal(x.asnumpy(), [[5, 6, 0], [1, 1, 1], [2, 2, 2], [8, 7, 9]])
    assert x[:] is x and x[()] is x


def test_what_copies() -> None:
    x = nd.zeros((4, 3))
    for y in (x[:, 1:2], x.T, x.expand_dims(0), x.copy(), x[::2], x[nd.array([0, 1])], x[::-1], x.astype("float32")):
        y[:] = 1
    assert x.sum().asscalar() == 0
    assert x.astype("float32", copy=False) is x
    row = x[0]
    assert row.T is row


def test_an_ellipsis_may_stand_for_no_axis() -> None:
    x = nd.arange(6).reshape((2, 3))
    assert [x[..., 1, 2].asscalar(), x[1, ..., 2].asscalar(), x[1][2, ...].asscalar()] == [5, 5, 5]
    x[0, ..., 1] = 7
    assert x[0].asnumpy().tolist() == [0, 7, 2]


def test_there_are_no_scalars() -> None:
    x = nd.ones((2, 3))
    for y in (x.sum(), x.mean(), x.max(), x[0, 0], x[1][2], x[[1], 2]):
        assert y.shape == (1,)
    assert x.sum(axis=()).shape == (1,)


def test_comparisons_are_numbers_in_the_type_of_the_array() -> None:
    x = nd.array([1, 2, 3], dtype="int32")
    for y, expected in (
        (x == 2, [0, 1, 0]),
        (x != 2, [1, 0, 1]),
        (x > 1, [0, 1, 1]),
        (x >= 2, [0, 1, 1]),
        (x < 2, [1, 0, 0]),
    ):
        assert y.dtype == np.int32
        assert y.asnumpy().tolist() == expected
    assert (x == None) is False  # noqa: E711
    assert x in {x}  # arrays hash by identity


def test_integers_stay_integers() -> None:
    x = nd.array([7, -7], dtype="int32")
    assert (x * 2.5).asnumpy().tolist() == [14, -14]
    assert (x / 2).asnumpy().tolist() == [3, -3]
    assert (x + 1.9).dtype == np.int32
    assert x.mean().asnumpy().tolist() == [0]


def test_a_number_does_not_change_the_type() -> None:
    x = nd.ones(2)
    for number in (2, 2.0, np.float64(2), np.int64(2), True):
        assert (x * number).dtype == np.float32
        assert (number * x).dtype == np.float32


def test_positions_are_float32() -> None:
    x = nd.array([[1, 3, 3], [9, 0, 2]])
    assert x.argmax(axis=1).asnumpy().tolist() == [1, 0]
    assert x.argmin(axis=1, keepdims=True).shape == (2, 1)
    assert x.argmax().asnumpy().tolist() == [3]
    assert x.argmax(axis=0).dtype == np.float32


def test_foreign_operands_are_refused() -> None:
    with pytest.raises(TypeError, match="operands must be NDArrays or numbers"):
        nd.ones(2) + np.ones(2)
    with pytest.raises(TypeError, match="operands must be NDArrays or numbers"):
        np.ones(2) + nd.ones(2)
    for other in ("a", [1, 2], (1, 2)):
        for operate in (operator.add, operator.mul, operator.eq):
            with pytest.raises(TypeError, match="operands must be NDArrays or numbers"):
                operate(nd.ones(1, dtype="int32"), other)
    assert (nd.ones(2) == None) is False and (nd.ones(2) != None) is True  # noqa: E711


def test_writing() -> None:
    x = nd.zeros((2, 3))
    x[1] = [1, 2, 3]
    x[0, 1:] = nd.array([4, 5])
    x[nd.array([0, 1]), 0] = 9
    np.testing.assert_array_equal(x.asnumpy(), [[9, 4, 5], [9, 2, 3]])
    with pytest.raises(mx.MXNetError, match=r"value of shape \(4,\)"):
        x[0] = nd.zeros(4)
    with pytest.raises(IndexError):
        x[2]


def test_in_place_operators_keep_the_array() -> None:
    x = y = nd.array([1.0, 2.0])
    x += 1
    x *= nd.array([2, 2])
    x -= 1
    x /= 2
    assert x is y
    np.testing.assert_array_equal(y.asnumpy(), [1.5, 2.5])
    with pytest.raises(mx.MXNetError, match="cannot be updated in place"):
        x += nd.ones((2, 2))


def test_single_values() -> None:
    assert float(nd.array([2.5])) == 2.5
    assert int(nd.array([2])) == 2
    assert [10, 20][nd.array([1], dtype="int32")] == 20
    assert nd.array([1]) and not nd.array([0])
    with pytest.raises(ValueError, match=r"array of shape \(2,\) is ambiguous"):
        bool(nd.ones(2))
    with pytest.raises(ValueError, match="not a scalar"):
        nd.ones(2).asscalar()
    with pytest.raises(TypeError, match="float32 cannot be used as an index"):
        [10, 20][nd.array([1])]


def test_numpy_conversion_and_iteration() -> None:
    x = nd.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(x), x.asnumpy())
    assert [row.asnumpy().tolist() for row in x] == [[1, 2], [3, 4]]
    assert len(x) == 2
    assert repr(nd.ones(2)) == "\n[1. 1.]\n<NDArray 2 @" + f"{mx.current_context()}>"


@pytest.mark.cpu_only("which contexts of the CPU arrays are in")
def test_contexts_are_distinct() -> None:
    x, y = nd.ones(2, ctx=mx.cpu(0)), nd.ones(2, ctx=mx.cpu(1))
    assert y.context == mx.cpu(1) != mx.cpu(0)
    assert (x.as_in_context(mx.cpu(1)) + y).context == mx.cpu(1)
    assert x.as_in_context(mx.cpu(0)) is x
    assert x.copyto(mx.cpu(0)) is not x
    y[:] = 3
    assert y.copyto(x) is x and x.asnumpy().tolist() == [3, 3]


@pytest.mark.cpu_only("which contexts of the CPU arrays are in")
def test_arrays_of_two_contexts_of_the_cpu_meet_in_that_of_the_first() -> None:
    x, y = nd.array([1, 2], ctx=mx.cpu(1)), nd.array([3, 4], ctx=mx.cpu(2))
    assert [z.context for z in (x + y, y * x, nd.concat(nd.ones(1), x, dim=0), sum([x, y]))] == [
        mx.cpu(1),
        mx.cpu(2),
        mx.cpu(0),
        mx.cpu(1),
    ]
    for array in (x, y):
        array.attach_grad()
    with mx.autograd.record():
        z = (x * y).as_in_context(mx.cpu(3)) * y
    z.backward()
    assert [(str(g.context), g.asnumpy().tolist()) for g in (x.grad, y.grad)] == [
        ("cpu(1)", [9, 16]),
        ("cpu(2)", [6, 16]),
    ]
    nd.sgd_update(x, y, lr=1, out=x)
    rows = x.reshape((2, 1)).tostype("row_sparse") + y.reshape((2, 1)).tostype("row_sparse")
    assert rows.context == mx.cpu(1) and rows.asnumpy().tolist() == [[1], [2]]
    csr = nd.ones((1, 2), ctx=mx.cpu(1)).tostype("csr")
    assert nd.dot(csr, y.reshape((2, 1))).asnumpy().tolist() == [[7]]
    with mx.cpu(1) as one, one:
        assert nd.zeros(1).context == mx.current_context() == mx.cpu(1)
    assert mx.current_context() == mx.cpu(0)


def test_creation_out_of_nothing() -> None:
    np.testing.assert_array_equal(nd.eye(2, 3, 1).asnumpy(), np.eye(2, 3, 1))
    np.testing.assert_array_equal(nd.linspace(0, 10, 4, dtype="int32").asnumpy(), [0, 3, 6, 10])
    np.testing.assert_array_equal(nd.linspace(0, 1, 5, endpoint=False).asnumpy(), np.float32(np.arange(5) / 5))
    np.testing.assert_array_equal(nd.arange(5, 0, -1.5).asnumpy(), [5, 3.5, 2, 0.5])
    np.testing.assert_array_equal(
        nd.contrib.arange_like(nd.zeros((2, 3)), axis=1, start=2, step=3).asnumpy(), [2, 5, 8]
    )
    np.testing.assert_array_equal(nd.contrib.arange_like(nd.zeros((2, 2)), repeat=2).asnumpy(), [[0, 0], [1, 1]])
    out = nd.ones((2, 3))
    assert nd.onehot_encode(nd.array([1, 2]), out) is out
    np.testing.assert_array_equal(out.asnumpy(), [[0, 1, 0], [0, 0, 1]])
    assert nd.zeros((2, 3), out=out) is out and not out.asnumpy().any()
    for wrong in (lambda: nd.zeros((2, -1)), lambda: nd.ones("a"), lambda: nd.arange(0, 3, 0), lambda: nd.arange(5, 1)):
        with pytest.raises(mx.MXNetError):
            wrong()
    for shape in ((0, 3), (), 0, [2, 0]):  # unknown lengths, as in MXNet
        for make in (nd.zeros, nd.ones):
            with pytest.raises(mx.MXNetError, match="are unknown ones"):
                make(shape)
            with mx.np_shape():
                assert make(shape).shape == nd.empty(shape).shape
    for wrong in ("abc", ["one"], {"a": 1}):
        with pytest.raises(TypeError, match="cannot make an array of"):
            nd.array(wrong)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_pickle_and_copies(dtype: str) -> None:
    x = nd.array([[1, 2], [3, 4]], ctx=mx.cpu(1), dtype=dtype)
    x.attach_grad()
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x), x.copy()):
        assert y.dtype == x.dtype and y.context == mx.cpu(1) and y.grad is None
        y[:] = 0
    np.testing.assert_array_equal(x.astype("float32").asnumpy(), [[1, 2], [3, 4]])


@pytest.mark.cpu_only("memory that NumPy shares")
def test_dlpack_shares_memory() -> None:
    x = nd.array([[1, 2], [3, 4]])
    for y in (nd.from_dlpack(x.to_dlpack_for_write()), nd.from_dlpack(nd.to_dlpack_for_read(x)), nd.from_dlpack(x)):
        y += 1
    del y
    np.testing.assert_array_equal(x.asnumpy(), [[4, 5], [6, 7]])
    np.testing.assert_array_equal(np.from_dlpack(x), x.asnumpy())
    assert nd.from_dlpack(np.zeros((2, 0), np.int32)).shape == (2, 0)
    capsule = x.to_dlpack_for_read()
    nd.from_dlpack(capsule)
    for wrong in (capsule, np.ones((2, 2)).T[::-1], 3, np.ones(2, np.complex64)):
        with pytest.raises(ValueError, match="from_dlpack"):
            nd.from_dlpack(wrong)


def test_handles_stand_for_arrays_that_live() -> None:
    """Monitors and calibrations written for MXNet take what they are given for a pointer."""
    x = nd.ones((2, 3))
    y = nd.NDArray(ctypes.cast(x, mx.base.NDArrayHandle), writable=False)
    x[0] = 5
    assert y.asnumpy().tolist() == nd.NDArray(x.handle).asnumpy().tolist() == [[5, 5, 5], [1, 1, 1]]
    if x.context.on_cpu:  # the memory of a GPU has no owner that could forbid it
        with pytest.raises(mx.MXNetError, match="read-only"):
            y[:] = 0
    handle = nd.ones(2).handle
    with pytest.raises(mx.MXNetError, match="of no array that lives"):
        nd.NDArray(handle)


@pytest.mark.cpu_only("the memory of a GPU has no owner that could forbid it")
@pytest.mark.parametrize("size", [4, 1 << 18])
def test_gradients_are_not_written_to_what_is_read_only(size: int) -> None:
    x, g = nd.ones(size), nd.zeros(size)
    autograd.mark_variables([x], [nd.NDArray(g.handle, writable=False)])
    with autograd.record():
        y = x * 3
    with pytest.raises(ValueError, match="read-only"):
        y.backward()
    assert not g.asnumpy().any()


def test_from_numpy() -> None:
    source = np.arange(4.0)
    x = nd.from_numpy(source)
    x[1] = 7
    assert source.tolist() == [0, 7, 2, 3] and x.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        source[0] = 1
    nd.from_numpy(source)[0] = 1  # it can be shared again
    assert source[0] == 1 and not source.flags.writeable
    nd.from_numpy(source, zero_copy=False)[:] = 0
    assert source.sum() == 13
    constant = nd.from_numpy(np.frombuffer(b"1234", np.uint8))
    assert not constant.writable
    with pytest.raises(ValueError, match="read-only"):
        constant[0] = 1
    for wrong in (np.arange(4.0)[::2], np.arange(4, dtype=np.uint16)):
        with pytest.raises(ValueError, match="from_numpy"):
            nd.from_numpy(wrong)
    with pytest.raises(TypeError, match="not list"):
        nd.from_numpy([1])


def test_copyto_needs_the_same_shape() -> None:
    x, y = nd.ones((1, 3)), nd.zeros((2, 3), dtype="int32")
    with pytest.raises(mx.MXNetError, match=r"shape \(1, 3\) does not fit into one of shape \(2, 3\)"):
        x.copyto(y)
    with pytest.raises(TypeError, match="not int"):
        x.copyto(3)


def test_fresh_gradients_are_marked() -> None:
    x = nd.ones(2)
    assert not x._fresh_grad
    with pytest.raises(mx.MXNetError, match="attach_grad"):
        x._fresh_grad = True
    x.attach_grad()
    assert not x._fresh_grad
    with autograd.record():
        (x * 2).backward()
    assert x._fresh_grad
    x._fresh_grad = False
    assert not x._fresh_grad


def test_several_arrays_at_once() -> None:
    x, y = nd.array([1, 2]), nd.array([[3.0], [np.inf]])
    np.testing.assert_array_equal(nd.multi_sum_sq(x, x * 2, num_arrays=2).asnumpy(), [5, 20])
    assert nd.all_finite(x).asscalar() == 1
    assert nd.multi_all_finite(x, y, num_arrays=2).asscalar() == 0
    out = nd.zeros(1)
    nd.all_finite(x, init_output=False, out=out)
    assert out.asscalar() == 0
    nd.reset_arrays(x, y, num_arrays=2)
    assert not x.asnumpy().any() and not y.asnumpy().any()
    with pytest.raises(mx.MXNetError, match="reset_arrays: 1 arrays are given, num_arrays is 2"):
        nd.reset_arrays(x, num_arrays=2)


def test_random_numbers_follow_the_seed() -> None:
    def draw() -> tuple[list, list]:
        mx.random.seed(7)
        return nd.random.uniform(-1, 1, (1000,)).asnumpy().tolist(), nd.random.normal(2, 3, 1000).asnumpy().tolist()

    uniform, normal = draw()
    assert (uniform, normal) == draw()
    assert min(uniform) >= -1 and max(uniform) < 1
    assert abs(np.mean(normal) - 2) < 0.5 and abs(np.std(normal) - 3) < 0.3
