"""Checks of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runtime import autograd, initializer
from runtime.gluon import HybridBlock
from runtime.ndarray import NDArray
from runtime.test_utils.compare import assert_almost_equal


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., HybridBlock],
    data_l: Sequence[NDArray],
    numpy_func: Callable[..., np.ndarray] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """AssertionError unless the block `net_builder(prefix=...)` makes, without random numbers, gives the same outputs
    whether it is hybridized or not, and recorded or not; with `test_grad` the same gradients of its inputs too; and,
    with `numpy_func`, what that function gives for the inputs as NumPy arrays."""
    first = net_builder(prefix="net_")
    first.initialize()
    expected = first(*data_l)
    weights = {name: param.data() for name, param in first.collect_params().items()}
    gradients = None
    for hybridize in (False, True):
        net = net_builder(prefix="net_")
        net.initialize(initializer.Load(weights))
        net.hybridize(hybridize)
        assert_almost_equal(net(*data_l), expected, rtol, atol)
        if test_grad:
            inputs = [x.copy() for x in data_l]
            for x in inputs:
                x.attach_grad()
            with autograd.record():
                y = net(*inputs)
            y.backward(y)
            assert_almost_equal(y, expected, rtol, atol)
            gradients = gradients or [x.grad for x in inputs]
            for x, gradient in zip(inputs, gradients, strict=True):
                assert_almost_equal(x.grad, gradient, rtol, atol)
    if numpy_func is not None:
        assert_almost_equal(expected, numpy_func(*(x.asnumpy() for x in data_l)), rtol, atol)
