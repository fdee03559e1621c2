"""What tests of plans share."""

from __future__ import annotations

import numpy as np

import runtime as mx
from runtime.gluon import nn

TOLERANCE = 2e-6


def entries(net) -> list:
    """What the plans of a block know, one for each kind of input."""
    return list(net._plans._entries.values())


def assert_alike(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, TOLERANCE, TOLERANCE * max(1, np.abs(y).max()))


def network(hybridized: bool, normalized: bool = True, **options) -> nn.HybridSequential:
    mx.random.seed(2)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=2))
    if normalized:
        net.add(nn.BatchNorm(in_channels=4))
    net.add(nn.Activation("relu"), nn.MaxPool2D(2))
    net.add(nn.Dropout(0.5), nn.Flatten(), nn.Dense(6, activation="tanh", in_units=36), nn.Dense(3, in_units=6))
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize(**options)
    return net


def perceptron() -> nn.HybridBlock:
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="tanh"), nn.Dense(256, activation="tanh"), nn.Dense(10))
    net.initialize()
    net.hybridize()
    return net
