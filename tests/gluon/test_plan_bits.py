"""Hybridized blocks give the bits that they give when they are not, whatever the first batch looked like."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


class WithLoss(gluon.HybridBlock):
    """A classifier that computes its loss."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.scores = nn.Dense(10, in_units=4)
            self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F, x, label):
        return self.loss(self.scores(x), label)


def losses(hybridized: bool, labels: list[list[int]], dtype: str) -> list[np.ndarray]:
    """Losses and gradients of batches of one image, which is repeated, with these labels."""
    mx.random.seed(3)
    net = WithLoss()
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize()
    found = []
    for batch in labels:
        with autograd.record():
            loss = net(nd.array([[1, 2, 3, 4]] * len(batch)), nd.array(batch, dtype=dtype))
        loss.backward()
        found += [loss.asnumpy(), net.scores.weight.grad().asnumpy()]
    return found


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("labels", [[[3], [3], [8], [0]], [[3, 3, 3], [3, 3, 3], [8, 1, 3], [0, 9, 9]]])
def test_labels_that_the_first_batches_did_not_have(labels: list[list[int]], dtype: str) -> None:
    for found, expected in zip(losses(True, labels, dtype), losses(False, labels, dtype), strict=True):
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)
