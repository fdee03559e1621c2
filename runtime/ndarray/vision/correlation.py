"""Correlation of the patches of two images, from which optical flow is read."""

from __future__ import annotations

import operator

from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.convolution import floating
from runtime.ndarray.nn.pooling import Pooling
from runtime.ndarray.reduce.reductions import mean
from runtime.ndarray.shape.gather import where
from runtime.ndarray.shape.slicing import pad, slice, stack

__all__ = ["Correlation"]


def Correlation(
    data1: NDArray,
    data2: NDArray,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> NDArray:
    """(batch, displacements, rows, columns): means of the products of a patch of `data1` and those of `data2` near it.

    Parameters
    ----------
    data1, data2: (batch, channels, height, width), padded with `pad_size` zeros on all sides.
    kernel_size: the sides of a patch, an odd number.
    max_displacement, stride2: patches of `data2` are up to so far away, in steps of `stride2`: first by row, then by
        column.
    stride1: from patch to patch of `data1`.
    is_multiply: False takes absolute differences in place of products.
    """
    if data1.ndim != 4 or data1.shape != data2.shape:
        raise MXNetError(
            "Correlation: data1 and data2 are (batch, channels, height, width), both of one shape, not "
            f"{data1.shape} and {data2.shape}"
        )
    floating("Correlation", data1)
    if kernel_size < 1 or kernel_size % 2 == 0 or min(stride1, stride2) < 1 or min(max_displacement, pad_size) < 0:
        raise MXNetError(
            "Correlation: kernel_size is odd, stride1 and stride2 are at least 1, max_displacement and pad_size at "
            f"least 0, not {kernel_size}, {stride1}, {stride2}, {max_displacement}, {pad_size}"
        )
    height, width = (n + 2 * pad_size - 2 * max_displacement for n in data1.shape[2:])
    if min(height, width) < kernel_size:
        raise MXNetError(
            f"Correlation: data of shape {data1.shape}, padded by {pad_size}, has no room for patches of {kernel_size} "
            f"displaced by {max_displacement}"
        )
    if pad_size:
        widths = (0, 0, 0, 0, *(pad_size,) * 4)
        data1, data2 = (pad(x, mode="constant", pad_width=widths) for x in (data1, data2))
    steps = [step * stride2 for step in range(-(max_displacement // stride2), max_displacement // stride2 + 1)]

    def part(x: NDArray, down: int, right: int) -> NDArray:
        top, left = max_displacement + down, max_displacement + right
        return slice(x, begin=(None, None, top, left), end=(None, None, top + height, left + width))

    here = part(data1, 0, 0)
    pairs = [(here, part(data2, down, right)) for down in steps for right in steps]
    compared = operator.mul if is_multiply else _distance
    means = stack(*(mean(compared(a, b), axis=1) for a, b in pairs), axis=1)
    return Pooling(
        means, kernel=(kernel_size, kernel_size), stride=(stride1, stride1), pool_type="avg", count_include_pad=True
    )


def _distance(a: NDArray, b: NDArray) -> NDArray:
    """|a - b|, whose derivative where both are equal is MXNet's: 1 by `a` and -1 by `b`."""
    return where(a >= b, a - b, b - a)
