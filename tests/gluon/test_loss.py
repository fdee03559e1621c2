"""Losses, beside what tests/gluon/layers compares with MXNet."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd


def test_l2_loss() -> None:
    pred, label = nd.array([[1, 2], [3, 4]]), nd.array([1, 1, 1, 1])
    np.testing.assert_allclose(gluon.loss.L2Loss()(pred, label).asnumpy(), [0.25, 3.25])
    weights = nd.array([[2], [0]])
    np.testing.assert_allclose(gluon.loss.L2Loss(weight=2)(pred, label, weights).asnumpy(), [1, 0])


def test_softmax_cross_entropy_loss() -> None:
    scores, labels = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, 1])
    pred = nd.array(scores, dtype="float64")
    pred.attach_grad()
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(pred, nd.array(labels, dtype="int64"))
    loss.backward()
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(loss.asnumpy(), -np.log(probabilities[range(4), labels]))
    np.testing.assert_allclose(pred.grad.asnumpy(), probabilities - np.eye(3)[labels])
    dense = gluon.loss.SoftmaxCELoss(sparse_label=False)(pred, nd.array(np.eye(3)[labels], dtype="float64"))
    given = gluon.loss.SoftmaxCELoss(from_logits=True)(nd.log_softmax(pred), nd.array(labels))
    np.testing.assert_allclose(dense.asnumpy(), loss.asnumpy())
    np.testing.assert_allclose(given.asnumpy(), loss.asnumpy())


def test_the_gradient_of_a_loss_can_be_differentiated() -> None:
    """The diagonal of the Hessian of the cross-entropy is p (1 - p)."""
    scores = np.random.default_rng(0).normal(size=(1, 3))
    x = nd.array(scores, dtype="float64")
    x.attach_grad()
    with autograd.record():
        loss = gluon.loss.SoftmaxCELoss()(x, nd.array([1]))
        (first,) = autograd.grad(loss, [x], create_graph=True)
        second = first[0, 2]
    second.backward()
    p = np.exp(scores[0]) / np.exp(scores).sum()
    np.testing.assert_allclose(x.grad.asnumpy()[0], [-p[0] * p[2], -p[1] * p[2], p[2] * (1 - p[2])], rtol=1e-6)


def test_huber_and_hinge_at_their_corners() -> None:
    zero = nd.zeros((1, 1))
    assert gluon.loss.HuberLoss(rho=2)(zero, nd.array([[2]])).asscalar() == 1
    assert gluon.loss.HingeLoss(margin=2)(nd.array([[2]]), nd.array([[1]])).asscalar() == 0


def test_errors() -> None:
    loss, x = gluon.loss, nd.ones((2, 3))
    for call, words in (
        (lambda: loss.L2Loss()(x, nd.ones(4)), r"L2Loss: label of shape \(4,\) has 4 elements"),
        (lambda: loss.TripletLoss()(x, x, nd.ones(4)), r"TripletLoss: negative of shape \(4,\)"),
        (lambda: loss.SoftmaxCELoss()(x, nd.ones(3)), r"labels must have shape \(2,\)"),
        (lambda: loss.SDMLLoss()(x, nd.ones((3, 3))), r"not \(2, 3\) and \(3, 3\)"),
        (lambda: loss.L1Loss(weight="2"), "weight is a number, not str"),
        (lambda: loss.CTCLoss(layout="NCT"), "'NTC' or 'TNC'"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()
    with pytest.raises(ValueError, match="label_format"):
        loss.LogisticLoss(label_format="both")


def test_a_loss_of_ones_own() -> None:
    class Absolute(gluon.loss.Loss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            loss = F.abs(gluon.loss._reshape_like(F, label, pred) - pred)
            loss = gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
            return F.mean(loss, axis=self._batch_axis, exclude=True)

    pred, label = nd.array([[1, 2], [3, 4]]), nd.array([1, 1, 1, 1])
    loss = Absolute(weight=2, batch_axis=0)
    np.testing.assert_allclose(loss(pred, label, nd.array([[1], [3]])).asnumpy(), [1, 15])
    with pytest.raises(mx.MXNetError, match=r"x of shape .* has 3 elements"):
        loss(pred, nd.ones(3))
