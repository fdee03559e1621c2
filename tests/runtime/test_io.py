"""`io.NDArrayIter`: what its batches hold, and what becomes of a last, smaller one."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import io, nd


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
    seen = []
    for batch in it:
        a, b = batch.data
        assert (a.asnumpy() * 10 == b.asnumpy()).all() and (a.asnumpy()[:, 0] == batch.label[0].asnumpy()).all()
        seen += a.asnumpy()[: 3 - batch.pad, 0].tolist()
    assert sorted(seen) == [0, 2, 4, 6, 8]


def test_sparse_rows() -> None:
    x = np.diag(np.arange(1.0, 6))
    it = io.NDArrayIter(nd.array(x).tostype("csr"), batch_size=2, last_batch_handle="discard")
    assert [b.data[0].stype for b in it] == ["csr"] * 2
    it.reset()
    assert (it.next().data[0].asnumpy() == x[:2]).all()
    with pytest.raises(NotImplementedError, match="need last_batch_handle='discard'"):
        io.NDArrayIter(nd.array(x).tostype("csr"), batch_size=2)


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"the same number of samples, not \{'data': 5, 'softmax_label': 4\}"):
        io.NDArrayIter(X, X[:4])
    with pytest.raises(ValueError, match="must be 'pad', 'discard' or 'roll_over', not 'keep'"):
        io.NDArrayIter(X, last_batch_handle="keep")
    with pytest.raises(TypeError, match="NDArrayIter: 'data': cannot make an array"):
        io.NDArrayIter("words")
