"""Operators that divide by a norm: that of a sample (L2Normalization), or of neighbouring channels (LRN)."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError, count
from runtime.ndarray.elementwise import sqrt, square
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32
from runtime.ndarray.reduce.reductions import sum as sum_

__all__ = ["LRN", "L2Normalization"]


def L2Normalization(data: NDArray, eps: float = 1e-10, mode: str = "instance") -> NDArray:
    """`x/sqrt(sum(x^2) + eps)`, the sum being over a sample ('instance'), over axis 1 ('channel') or over all axes
    behind it ('spatial')."""
    axes = {"instance": range(1, data.ndim), "channel": (1,), "spatial": range(2, data.ndim)}.get(mode)
    if axes is None:
        raise MXNetError(f"L2Normalization: mode is 'instance', 'channel' or 'spatial', not {mode!r}")
    if data.ndim < (3 if mode == "spatial" else 2):
        raise MXNetError(f"L2Normalization: data of shape {data.shape} has too few axes for mode='{mode}'")
    return data / sqrt(sum_(square(data), axis=tuple(axes), keepdims=True) + eps)


@Operator
@in_float32
def _window_sum(x: np.ndarray, *, size: int) -> np.ndarray:
    """The sum of the `size` elements around each along axis 1."""
    y = x.copy()
    for k in range(1, size // 2 + 1):
        y[:, k:] += x[:, :-k]
        y[:, :-k] += x[:, k:]
    return y


@_window_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, size: int) -> NDArray:
    return _window_sum(g, size=size)


def LRN(data: NDArray, nsize: int, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0) -> NDArray:
    """`x (knorm + alpha/nsize sum(x^2))^-beta`, the sum being over the nsize channels (axis 1) around each."""
    if count("LRN: nsize", nsize) % 2 == 0 or data.ndim < 2:
        raise MXNetError(f"LRN: nsize must be odd and data (batch, channels, ...), not {nsize} and {data.shape}")
    return data * (_window_sum(square(data), size=nsize) * (alpha / nsize) + knorm) ** -beta
