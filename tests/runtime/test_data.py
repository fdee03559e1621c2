"""Data sets, samplers and batches, and the accuracy of predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runtime import metric, nd
from runtime.gluon.data import ArrayDataset, BatchSampler, DataLoader, SequentialSampler


def dataset(n: int = 10) -> ArrayDataset:
    return ArrayDataset(np.arange(2 * n, dtype=np.float32).reshape(n, 2), nd.arange(n, dtype="int64"))


def test_array_dataset() -> None:
    pixels, label = dataset()[3]
    assert (pixels.tolist(), label) == ([6, 7], 3)
    assert len(dataset()) == 10
    assert ArrayDataset([5, 6])[1] == 6
    with pytest.raises(ValueError, match=r"same length, not \[2, 3\]"):
        ArrayDataset([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="at least one"):
        ArrayDataset()


def test_batches_have_the_types_of_their_samples() -> None:
    batches = list(DataLoader(dataset(), 4))
    assert [len(labels) for _, labels in batches] == [4, 4, 2]
    pixels, labels = batches[1]
    assert (pixels.dtype, labels.dtype) == (np.float32, np.int64)
    np.testing.assert_array_equal(pixels.asnumpy(), np.arange(8, 16).reshape(4, 2))
    (single,) = DataLoader(ArrayDataset(nd.ones((3, 2))), 3)
    assert single.shape == (3, 2)


@pytest.mark.parametrize(
    ("last_batch", "rounds"),
    [("keep", [[4, 4, 2], [4, 4, 2]]), ("discard", [[4, 4], [4, 4]]), ("rollover", [[4, 4], [4, 4, 4]])],
)
def test_last_batch(last_batch: str, rounds: list[list[int]]) -> None:
    loader = DataLoader(dataset(), 4, last_batch=last_batch)
    for lengths in rounds:
        assert len(loader) == len(lengths)
        assert [len(labels) for _, labels in loader] == lengths


def test_shuffle_is_a_new_order_each_time_and_follows_the_seed() -> None:
    def orders() -> list[list[int]]:
        np.random.seed(1)
        loader = DataLoader(dataset(), 3, shuffle=True)
        return [[int(i) for _, labels in loader for i in labels.asnumpy()] for _ in range(2)]

    first, second = orders()
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert orders() == [first, second]


def test_own_samplers_and_batchify() -> None:
    loader = DataLoader(range(100), 2, sampler=[5, 7, 9], batchify_fn=tuple)
    assert list(loader) == [(5, 7), (9,)]
    loader = DataLoader(range(9), batch_sampler=BatchSampler(SequentialSampler(4, start=3), 3))
    assert [b.asnumpy().tolist() for b in loader] == [[3, 4, 5], [6]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "batch_size is needed"),
        ({"batch_size": 0}, "at least 1, not 0"),
        ({"batch_size": 2, "last_batch": "drop"}, "'keep', 'discard' or 'rollover', not 'drop'"),
        ({"batch_size": 2, "shuffle": True, "sampler": [1]}, "without shuffle"),
        ({"batch_size": 2, "batch_sampler": [[1]]}, "give it alone"),
    ],
)
def test_arguments_that_do_not_go_together(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DataLoader(dataset(), **arguments)


def test_accuracy() -> None:
    accuracy = metric.Accuracy()
    assert accuracy.get()[0] == "accuracy" and math.isnan(accuracy.get()[1])
    accuracy.update(nd.array([1, 0]), nd.array([[0.2, 0.8], [0.3, 0.7]]))
    accuracy.update([nd.array([1, 1])], [nd.array([1, 1])])
    assert accuracy.get() == ("accuracy", 0.75)
    with pytest.raises(ValueError, match=r"labels of shape \(3,\) do not fit predictions of shape \(2, 2\)"):
        accuracy.update(nd.zeros(3), nd.zeros((2, 2)))
