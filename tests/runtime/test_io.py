"""Iterators: what their batches hold, what becomes of a last, smaller one, and how they are put around each other."""

from __future__ import annotations

import gc
import gzip
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from runtime import io, nd
from runtime.base import MXNetError


def rounds(it: io.NDArrayIter, count: int = 2) -> list[list[list[float]]]:
    """The first columns of the batches of some rounds."""
    found = []
    for _ in range(count):
        found.append([batch.data[0].asnumpy()[:, 0].tolist() for batch in it])
        it.reset()
    return found


X = np.arange(10).reshape(5, 2)


def test_a_last_smaller_batch() -> None:
    assert rounds(io.NDArrayIter(X, batch_size=2)) == [[[0, 2], [4, 6], [8, 0]]] * 2
    assert rounds(io.NDArrayIter(X, batch_size=2, last_batch_handle="discard")) == [[[0, 2], [4, 6]]] * 2
    rolled = io.NDArrayIter(X, batch_size=2, last_batch_handle="roll_over")
    assert rounds(rolled, 3) == [[[0, 2], [4, 6]], [[8, 0], [2, 4], [6, 8]], [[0, 2], [4, 6]]]
    assert [batch.pad for batch in io.NDArrayIter(X, batch_size=4)] == [0, 3]
    assert rounds(io.NDArrayIter(X[:2], batch_size=5), 1) == [[[0, 2, 0, 2, 0]]]


def test_shuffled_samples_stay_with_their_labels() -> None:
    it = io.NDArrayIter({"a": X, "b": X * 10.0}, label=X[:, 0], batch_size=3, shuffle=True)
    assert [d.name for d in it.provide_data] == ["a", "b"]
    assert it.provide_label == [io.DataDesc("softmax_label", (3,), np.float32)]
    assert str(it.provide_label) == "[DataDesc[softmax_label,(3,),<class 'numpy.float32'>,NCHW]]"
    seen = []
    for batch in it:
        a, b = batch.data
        assert (a.asnumpy() * 10 == b.asnumpy()).all() and (a.asnumpy()[:, 0] == batch.label[0].asnumpy()).all()
        seen += a.asnumpy()[: 3 - batch.pad, 0].tolist()
    assert sorted(seen) == [0, 2, 4, 6, 8]


def test_shuffling_follows_the_seed_as_in_mxnet() -> None:
    np.random.seed(3)
    it = io.NDArrayIter(X, batch_size=5, shuffle=True)
    first, second = (each[0] for each in rounds(it, 2))
    assert (first, second) == ([6, 8, 2, 0, 4], [8, 4, 6, 2, 0])
    assert it.data[0][1].asnumpy()[:, 0].tolist() == [4, 2, 0, 8, 6]  # of the third round


def test_a_subclass_with_a_reset_of_its_own() -> None:
    class Shuffled(io.NDArrayIter):
        resets = 0

        def reset(self) -> None:
            np.random.default_rng(0).shuffle(self.idx)
            self.data = [(name, nd.array(x.asnumpy()[self.idx])) for name, x in self.data]
            self.cursor = -self.batch_size
            self.resets += 1

    it = Shuffled(X, batch_size=2)
    assert it.resets == 1
    order = np.random.default_rng(0).permutation(5)
    assert rounds(it, 1) == [[[2 * order[0], 2 * order[1]], [2 * order[2], 2 * order[3]], [2 * order[4], 2 * order[0]]]]
    assert it.cursor == -2 and it.iter_next() and it.cursor == 0


def test_sparse_rows() -> None:
    x = np.diag(np.arange(1.0, 6))
    it = io.NDArrayIter(nd.array(x).tostype("csr"), batch_size=2, last_batch_handle="discard")
    assert [b.data[0].stype for b in it] == ["csr"] * 2
    it.reset()
    assert (it.next().data[0].asnumpy() == x[:2]).all()
    with pytest.raises(NotImplementedError, match="need last_batch_handle='discard'"):
        io.NDArrayIter(nd.array(x).tostype("csr"), batch_size=2)


@pytest.mark.parametrize("opened", [open, gzip.open])
def test_digits(opened: Callable, tmp_path: Path) -> None:
    pixels = np.arange(5 * 784, dtype=np.int64).astype(np.uint8).reshape(5, 28, 28)
    for name, content in (("image", pixels), ("label", np.arange(5, dtype=np.uint8))):
        with opened(tmp_path / name, "wb") as file:
            file.write(struct.pack(f">HBB{content.ndim}I", 0, 8, content.ndim, *content.shape) + content.tobytes())
    files = {"image": tmp_path / "image", "label": tmp_path / "label"}
    it = io.MNISTIter(**files, batch_size=2, shuffle=False)
    assert [(b.label[0].asnumpy().tolist(), b.pad) for b in it] == [([0, 1], 0), ([2, 3], 0)]
    it.reset()
    np.testing.assert_array_equal(it.next().data[0].asnumpy(), pixels[:2, None] / np.float32(256))
    drawn = io.MNISTIter(**files, batch_size=5, flat=True, seed=3, data_name="pixels", label_name="digit")
    assert drawn.provide_data == [("pixels", (5, 784))] and drawn.provide_label == [("digit", (5,))]
    order = drawn.next().label[0].asnumpy()
    drawn.reset()
    assert sorted(order) == [0, 1, 2, 3, 4] and (drawn.next().label[0].asnumpy() == order).all()
    assert (drawn.getlabel().asnumpy() == order).all()  # one array
    halves = [io.MNISTIter(**files, batch_size=2, shuffle=False, num_parts=2, part_index=k).next() for k in (0, 1)]
    assert [b.label[0].asnumpy().tolist() for b in halves] == [[0, 1], [2, 3]]
    with pytest.raises(MXNetError, match="labels of shape"):
        io.MNISTIter(files["image"], files["image"])


# ---------------------------------------------------------------- over other iterators


def test_another_number_of_batches() -> None:
    longer = io.ResizeIter(io.NDArrayIter(X, batch_size=2, last_batch_handle="discard"), 3)
    assert rounds(longer) == [[[0, 2], [4, 6], [0, 2]]] * 2
    onward = io.ResizeIter(io.NDArrayIter(X, batch_size=1), 2, reset_internal=False)
    assert rounds(onward, 3) == [[[0], [2]], [[4], [6]], [[8], [0]]]
    assert longer.provide_data[0].shape == (2, 2) and longer.batch_size == 2
    assert longer.iter_next() and longer.getdata()[0].shape == (2, 2) and longer.getpad() == 0


def test_batches_made_ahead() -> None:
    sources = [io.NDArrayIter({"data": X * k}, {"label": X[:, 0]}, batch_size=2) for k in (1, 10)]
    it = io.PrefetchingIter(sources, [{"data": "a"}, {"data": "b"}], [{"label": "c"}, {"label": "d"}])
    assert [d.name for d in (*it.provide_data, *it.provide_label)] == ["a", "b", "c", "d"]
    assert str(it.provide_data[1]) == "DataDesc[b,(2, 2),<class 'numpy.float32'>,NCHW]"
    assert rounds(it, 3) == [[[0, 2], [4, 6], [8, 0]]] * 3
    batch = next(it)
    assert [x.asnumpy()[:, 0].tolist() for x in batch.data] == [[0, 2], [0, 20]]
    assert (len(batch.label), batch.pad, it.getpad()) == (2, 0, 0)
    it.reset()  # in the middle
    assert len(list(it)) == 3 and not it.iter_next()
    own = io.NDArrayIter({"data": nd.array(X, dtype="int32")}, batch_size=2, layout="NT")
    for names, name in ((None, "data"), ([{"data": "x"}], "x")):
        (described,) = io.PrefetchingIter(own, names).provide_data
        assert (described.name, np.dtype(described.dtype), described.layout) == (name, np.int32, "NT")


class Counting(io.DataIter):
    """A batch for each number; `at` is told the number first."""

    def __init__(self, at: Callable[[int], None]) -> None:
        super().__init__(1)
        self.at = at
        self.provide_data = [io.DataDesc("data", (1,))]
        self.provide_label = []
        self.reset()

    def reset(self) -> None:
        self.count = 0

    def next(self) -> io.DataBatch:
        self.count += 1
        self.at(self.count)
        return io.DataBatch([nd.array([self.count])], pad=0)


def fail_at_2(count: int) -> None:
    if count == 2:
        raise OSError("the disk is gone")


def test_an_error_comes_with_its_batch() -> None:
    it = io.PrefetchingIter(Counting(fail_at_2))
    assert it.next().data[0].asscalar() == 1
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            it.next()
    it.reset()
    assert it.next().data[0].asscalar() == 1


def test_one_batch_ahead_and_the_thread_ends() -> None:
    before = set(threading.enumerate())
    made = threading.Semaphore(0)
    it = io.PrefetchingIter(Counting(lambda count: made.release()))
    for _ in range(3):
        assert made.acquire(timeout=10)  # the next one is made, without being asked for
        assert not made.acquire(timeout=0.05)  # and not the one after it
        it.next()
    (thread,) = set(threading.enumerate()) - before
    del it
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_the_first_array_says_how_many_samples_there_are() -> None:
    it = io.NDArrayIter(X[:4], X, batch_size=2)
    assert it.num_data == 4 and [batch.label[0].shape for batch in it] == [(2, *X.shape[1:])] * 2


def test_batches_have_arrays_in_the_order_of_their_names() -> None:
    it = io.NDArrayIter({"user": X[:4], "item": X[:4, 0]}, {"b": X[:4], "a": X[:4]}, batch_size=2)
    assert [[x.name for x in provided] for provided in (it.provide_data, it.provide_label)] == [
        ["item", "user"],
        ["a", "b"],
    ]
    assert it.next().data[1].shape == (2, *X.shape[1:])
    assert [x.name for x in io.NDArrayIter([X] * 11).provide_data][:3] == ["_0_data", "_10_data", "_1_data"]


def test_helpers_that_scripts_take_from_io() -> None:
    it = io.NDArrayIter(X, batch_size=5)
    it.label = io._init_data(X[:, 0], allow_empty=True, default_name="svm_label")
    assert it.provide_label[0].name == "svm_label"
    ((_, rows),) = io._getdata_by_idx(it.label, [3, 1])
    np.testing.assert_array_equal(rows.asnumpy(), X[[3, 1], 0])
    assert io._init_data(None, True, "data") == []
    assert io._has_instance(it.label, nd.NDArray) and not io._has_instance(it.label, nd.sparse.CSRNDArray)
    with pytest.raises(ValueError, match="there is no array of 'data'"):
        io._init_data([], False, "data")


def test_iterators_of_different_length() -> None:
    it = io.PrefetchingIter([io.NDArrayIter(x, batch_size=2) for x in (X, X[:4])])
    assert it.next() and it.next()
    with pytest.raises(MXNetError, match=r"padded by \[1, None\]"):
        it.next()


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"the samples that the first one has, not \{'data': 5, 'softmax_label': 4\}"):
        io.NDArrayIter(X, X[:4])
    with pytest.raises(ValueError, match="must be 'pad', 'discard' or 'roll_over', not 'keep'"):
        io.NDArrayIter(X, last_batch_handle="keep")
    with pytest.raises(ValueError, match="rename_data has 1 dicts for 2 iterators"):
        io.PrefetchingIter([io.NDArrayIter(X), io.NDArrayIter(X)], [{}])
    with pytest.raises(MXNetError, match="no batch at all"):
        io.ResizeIter(io.NDArrayIter(X, batch_size=9, last_batch_handle="discard"), 1).next()
    with pytest.raises(TypeError, match="NDArrayIter: 'data': cannot make an array"):
        io.NDArrayIter("words")
    assert str(io.DataBatch([nd.ones((2, 3))])) == "DataBatch: data shapes: [(2, 3)] label shapes: None"


def test_iterators_need_no_labels() -> None:
    """Generators of GANs define what is drawn alone."""

    class Drawn(io.DataIter):
        provide_data, provide_label = (("rand", (2, 3)),), ()

        def iter_next(self) -> bool:
            return True

        def getdata(self) -> list[nd.NDArray]:
            return [nd.ones((2, 3))]

    batch = Drawn(2).next()
    assert batch.data[0].shape == (2, 3) and batch.label is None and batch.pad == 0


def test_labels_are_written_between_rounds() -> None:
    """Deep embedded clustering gives its samples new targets by `data_list`."""
    batches = io.NDArrayIter({"data": np.zeros((4, 2))}, {"label": np.zeros((4, 3))}, 2)
    batches.data_list[1][:] = 7
    assert [x.shape for x in batches.data_list] == [(4, 2), (4, 3)]
    assert [batch.label[0].asnumpy().mean() for batch in batches] == [7, 7]
