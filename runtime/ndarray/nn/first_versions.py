"""Operators that old networks have, and whose successors have another name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.base import MXNetError, counts
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.batch_norm import BatchNorm
from runtime.ndarray.nn.convolution import Convolution
from runtime.ndarray.nn.pooling import Pooling
from runtime.ndarray.shape.slicing import pad as pad_with

__all__ = ["BatchNorm_v1", "Convolution_v1", "Pooling_v1"]


def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
) -> NDArray | list[NDArray]:
    """`BatchNorm` of channels along the second axis."""
    return BatchNorm(
        data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var
    )


Convolution_v1 = Convolution


def Pooling_v1(
    data: NDArray,
    kernel: Sequence[int] = (),
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Sequence[int] = (),
    pad: Sequence[int] = (),
) -> NDArray:
    """`Pooling` of (batch, channels, [depth,] height, width) by 'max', 'avg' or 'sum', where the padding is of zeros.

    So a maximum next to the border is not negative, and a mean is the sum over the number of elements of a window,
    also of one that reaches over the border.
    """
    axes = data.ndim - 2
    if pool_type not in ("max", "avg", "sum") or axes not in (2, 3):
        raise MXNetError(
            f"Pooling_v1: 'max', 'avg' or 'sum' over 2 or 3 axes are computed, not {pool_type!r} over {axes}"
        )
    if global_pool:
        kernel, stride, pad = data.shape[2:], (), ()
    sizes = counts("Pooling_v1: kernel", kernel)
    around = counts("Pooling_v1: pad", pad, 0) if pad else (0,) * axes
    if any(around):
        data = pad_with(data, "constant", (0, 0, 0, 0, *(n for n in around for _ in range(2))), 0.0)
    kind = "max" if pool_type == "max" else "sum"
    found = Pooling(data, sizes, kind, pooling_convention=pooling_convention, stride=stride)
    return found / math.prod(sizes) if pool_type == "avg" else found
