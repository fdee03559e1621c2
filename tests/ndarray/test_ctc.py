"""CTC against the sum over all paths, counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(4, 3, 3))
SEQUENCES = [[1, 2], [2, 2], [1, 0]]

GRADIENTS = {
    name: Case(lambda x, name=name: getattr(nd, name)(x, nd.array(SEQUENCES)), [SCORES], order=1)
    for name in ("CTCLoss", "ctc_loss")
}
NO_GRADIENT: set[str] = set()


def spelled(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def by_paths(scores: np.ndarray, sequence: list[int], blank: int) -> float:
    """The loss of one sample: minus the logarithm of the sum over all paths that spell the sequence; 0 for none."""
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    paths = itertools.product(range(p.shape[1]), repeat=len(p))
    total = sum(
        np.prod([row[label] for row, label in zip(p, path, strict=True)])
        for path in paths
        if spelled(path, blank) == sequence
    )
    return -np.log(total) if total else 0.0


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_loss(data: st.DataObject) -> None:
    steps, batch, classes = (data.draw(st.integers(1, n)) for n in (5, 3, 4))
    classes += 1
    blank = data.draw(st.sampled_from([0, classes - 1]))
    labels = [c for c in range(classes) if c != blank]
    longest = data.draw(st.integers(1, 3))
    sequences = [data.draw(st.lists(st.sampled_from(labels), max_size=longest)) for _ in range(batch)]
    times = [data.draw(st.integers(1, steps)) for _ in range(batch)]
    scores = np.cos(np.arange(steps * batch * classes) * 1.7).reshape(steps, batch, classes) * 2
    padding = 0 if blank == 0 else -1
    padded = np.full((batch, longest), padding)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    loss = nd.CTCLoss(
        nd.array(scores, dtype="float64"),
        nd.array(padded),
        nd.array(times),
        use_data_lengths=True,
        blank_label="last" if blank else "first",
    )
    expected = [by_paths(scores[:t, b], sequences[b], blank) for b, t in enumerate(times)]
    np.testing.assert_allclose(loss.asnumpy(), expected, rtol=1e-9, atol=1e-12)


def test_many_steps_and_extreme_scores_stay_finite() -> None:
    x = nd.array(200 * RNG.normal(size=(300, 2, 5)))
    x.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(x, nd.array([[1, 2, 3], [4, 4, 4]]))
    loss.backward()
    assert np.isfinite(loss.asnumpy()).all() and np.isfinite(x.grad.asnumpy()).all()
    np.testing.assert_allclose(x.grad.asnumpy().sum(2), 0, atol=1e-5)


def test_a_sequence_that_does_not_fit_is_passed_over() -> None:
    x = nd.array(SCORES[:2])
    x.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(x, nd.array([[1, 2], [2, 2], [1, 0]]))  # 2, 2 needs a blank between: three steps
    loss.backward()
    assert loss.asnumpy()[1] == 0 and not x.grad.asnumpy()[:, 1].any()
    assert loss.asnumpy()[0] > 0 and x.grad.asnumpy()[:, 0].any()


def test_errors() -> None:
    x, labels = nd.array(SCORES), nd.array(SEQUENCES)
    for call, words in (
        (lambda: nd.CTCLoss(x, nd.ones((2, 2))), r"not \(4, 3, 3\) and \(2, 2\)"),
        (lambda: nd.CTCLoss(x, labels, blank_label="middle"), "'first' or 'last'"),
        (lambda: nd.CTCLoss(x, labels + 2), "label 3 is none of the 3 classes"),
        (lambda: nd.CTCLoss(x, labels, use_data_lengths=True), r"needs data_lengths, of shape \(3,\), but none"),
        (lambda: nd.CTCLoss(x, labels, nd.array([1, 2, 5]), use_data_lengths=True), "from 1 to 4, not 1 to 5"),
        (lambda: nd.CTCLoss(x, labels, None, nd.ones(2), use_label_lengths=True), r"they have shape \(2,\)"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()
    x.attach_grad()
    with autograd.record(), pytest.raises(mx.MXNetError, match="cannot be differentiated again"):
        autograd.grad(nd.CTCLoss(x, labels), x, create_graph=True)
