"""Initializers in use."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, init, nd
from runtime.gluon import nn


def test_initializers() -> None:
    def first(initializer: object, shape: tuple[int, ...] = (200, 100), name: str = "x_weight") -> np.ndarray:
        p = gluon.Parameter(name, shape=shape)
        p.initialize(initializer)
        return p.data().asnumpy()

    assert (first("zeros") == 0).all() and (first(init.One()) == 1).all() and (first(init.Constant(3)) == 3).all()
    assert 0.068 < np.abs(first(init.Uniform())).max() <= 0.07
    assert 0.45 < first(init.Normal(0.5)).std() < 0.55
    assert np.abs(first(init.Xavier())).max() == pytest.approx((3 / 150) ** 0.5, rel=0.01)
    assert first(init.Xavier("gaussian", "in", 2)).std() == pytest.approx((2 / 100) ** 0.5, rel=0.05)
    assert first(init.Xavier("gaussian", "out", 2), (4, 5, 6, 7)).std() == pytest.approx((2 / (4 * 42)) ** 0.5, rel=0.1)
    with pytest.raises(mx.MXNetError, match=r"Xavier needs .* 'x_weight' has shape \(3,\)"):
        first(init.Xavier(), (3,))
    with pytest.raises(ValueError, match="unknown initializer 'xaver'; did you mean 'xavier'"):
        first("xaver")


def test_a_registered_initializer() -> None:
    @init.register
    class Ramp(init.Initializer):
        def _init_weight(self, name: str, arr: nd.NDArray) -> None:
            arr[:] = nd.arange(arr.size).reshape(arr.shape)

    layer = nn.Dense(2, in_units=3, weight_initializer="ramp")
    layer.initialize(init.Xavier())
    assert layer.weight.data().asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
