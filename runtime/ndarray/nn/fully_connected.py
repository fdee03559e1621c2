"""`FullyConnected`: the product of data and weights, plus the bias."""

from __future__ import annotations

import math

from runtime.base import MXNetError, count
from runtime.ndarray.linalg.products import _linear, _matmul
from runtime.ndarray.ndarray import NDArray

__all__ = ["FullyConnected"]


def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> NDArray:
    """`data weight^T + bias`.

    `weight` is (num_hidden, n), `bias` (num_hidden,) or (num_hidden, 1). `data` is (batch, ...) with n values a sample
    if `flatten`, giving (batch, num_hidden); otherwise (..., n), giving (..., num_hidden).
    """
    if not no_bias and bias is None:
        _check(data, weight, None, num_hidden, flatten)  # what does not fit is worse than what is missing
        raise MXNetError("FullyConnected: there is no bias; pass one, or no_bias=True")
    return linear(data, weight, None if no_bias else bias, num_hidden, flatten)


def linear(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
    num_hidden: int | None,
    flatten: bool,
    relu: bool = False,
) -> NDArray:
    """`FullyConnected`, of dense arrays; where there is a bias, also with `relu` in the same operator."""
    units, n = _check(data, weight, bias, num_hidden, flatten)
    x = data if data.ndim == 2 else data.reshape((-1, n))
    if bias is not None and bias._data.ndim == 2:
        bias = bias.reshape((units,))
    y = _matmul(x, weight, tb=True) if bias is None else _linear(x, weight, bias, relu=relu)
    if data.ndim == 2 or flatten:
        return y
    return y.reshape((*data.shape[:-1], units))


def _check(
    data: NDArray, weight: NDArray, bias: NDArray | None, num_hidden: int | None, flatten: bool
) -> tuple[int, int]:
    """The lengths of output and input, once everything fits."""
    if weight.ndim != 2:
        raise MXNetError(f"FullyConnected: weight must be (num_hidden, inputs), not of shape {weight.shape}")
    units, n = weight.shape
    found = math.prod(data.shape[1:]) if flatten else data.shape[-1]
    if found != n:
        raise MXNetError(
            f"FullyConnected: data of shape {data.shape} has {found} values a sample, weight {weight.shape} takes {n}"
        )
    if num_hidden is not None and count("FullyConnected: num_hidden", num_hidden) != units:
        raise MXNetError(f"FullyConnected: num_hidden is {num_hidden}, but weight has shape {weight.shape}")
    if bias is not None and bias.shape != (units,) and bias.shape != (units, 1):
        raise MXNetError(f"FullyConnected: bias of shape {bias.shape} does not fit weight {weight.shape}")
    if data._data.dtype != weight._data.dtype:
        raise MXNetError(
            f"FullyConnected: data is {data._data.dtype}, weight {weight._data.dtype}; convert one with astype()"
        )
    return units, n
