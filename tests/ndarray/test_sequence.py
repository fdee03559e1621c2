"""Operators on padded sequences."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from tests.ndarray.gradients import Case

A = np.random.default_rng(0).normal(size=(3, 2, 2))
LENGTHS = nd.array([1, 3])
BY_LENGTH = {"sequence_length": LENGTHS, "use_sequence_length": True}

GRADIENTS = {
    "SequenceMask": Case(lambda x: nd.SequenceMask(x, value=2, **BY_LENGTH), [A]),
    "SequenceMask whole": Case(nd.SequenceMask, [A]),
    "SequenceLast": Case(lambda x: nd.SequenceLast(x, **BY_LENGTH), [A]),
    "SequenceLast whole": Case(lambda x: nd.SequenceLast(x, axis=1), [A]),
    "SequenceReverse": Case(lambda x: nd.SequenceReverse(x, **BY_LENGTH), [A]),
    "SequenceReverse whole": Case(nd.SequenceReverse, [A]),
}


def test_values() -> None:
    x = nd.arange(6).reshape((3, 2))
    assert nd.SequenceMask(x, value=-1, **BY_LENGTH).asnumpy().tolist() == [[0, 1], [-1, 3], [-1, 5]]
    assert nd.SequenceMask(x.T, value=-1, axis=1, **BY_LENGTH).asnumpy().tolist() == [[0, -1, -1], [1, 3, 5]]
    assert nd.SequenceLast(x, **BY_LENGTH).asnumpy().tolist() == [0, 5]
    assert nd.SequenceLast(x.T, axis=1, **BY_LENGTH).asnumpy().tolist() == [0, 5]
    assert nd.SequenceLast(x).asnumpy().tolist() == [4, 5]
    assert nd.SequenceReverse(x, **BY_LENGTH).asnumpy().tolist() == [[0, 5], [2, 3], [4, 1]]
    assert nd.SequenceReverse(x).asnumpy().tolist() == [[4, 5], [2, 3], [0, 1]]
    whole = nd.SequenceMask(x)
    whole[:] = 0
    assert x.sum().asscalar() == 15


def test_what_does_not_fit() -> None:
    x = nd.ones((3, 2, 2))
    with pytest.raises(mx.MXNetError, match="goes with use_sequence_length=True"):
        nd.SequenceMask(x, LENGTHS)
    with pytest.raises(mx.MXNetError, match="goes with use_sequence_length=True"):
        nd.SequenceMask(x, use_sequence_length=True)
    with pytest.raises(mx.MXNetError, match=r"sequence_length has shape \(2,\), not \(3,\)"):
        nd.SequenceMask(x, axis=1, **BY_LENGTH)
    with pytest.raises(mx.MXNetError, match="time along axis 2"):
        nd.SequenceMask(x, axis=2)
    with pytest.raises(mx.MXNetError, match="time must be axis 0"):
        nd.SequenceReverse(x, axis=1)
    for lengths, least in (([0, 3], 1), ([1, 4], 1)):
        with pytest.raises(mx.MXNetError, match=f"possible are {least} to 3"):
            nd.SequenceLast(x, nd.array(lengths), use_sequence_length=True)
