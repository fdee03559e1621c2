"""Operators whose gradient is by intention not their derivative."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import autograd, nd


@pytest.mark.parametrize(
    ("name", "attrs", "values", "factor"),
    [
        ("round_ste", {}, [-2, -1, 0, 1, 3], 1),
        ("sign_ste", {}, [-1, -1, 0, 1, 1], 1),
        ("gradientmultiplier", {"scalar": -3}, [-1.5, -0.5, 0, 0.6, 2.5], -3),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_values_and_gradients(name: str, attrs: dict, values: list, factor: int, dtype: str) -> None:
    x = nd.array([-1.5, -0.5, 0, 0.6, 2.5], dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = getattr(nd.contrib, name)(x, **attrs)
    y.backward(nd.arange(5, dtype=dtype))
    np.testing.assert_array_equal(y.asnumpy(), np.array(values, dtype))
    np.testing.assert_array_equal(x.grad.asnumpy(), factor * np.arange(5))
    assert y.dtype == x.dtype and not np.may_share_memory(x._data, y._data)
