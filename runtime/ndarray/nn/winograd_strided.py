"""Convolution with kernels of 4 by 4 that move by two pixels, by Winograd's algorithm: see
`native.winograd_strided`."""

from __future__ import annotations

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import winograd_strided as native
from runtime.ndarray.nn.windows import Shape
from runtime.ndarray.nn.winograd import (
    MAX_FILTERS,
    TRANSFORM_WORK,
    block_length,
    gradient_blocks,
    halves,
    plan,
    sum_parts,
)

MAX_CHANNELS = 64
"""The most channels of the image of a task that computes its gradient: there are four phases of each."""


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, pad: Shape) -> np.ndarray:
    """(n, channels, height, width), (filters, channels, 4, 4) and (filters,): (n, filters, ...)."""
    n, channels, *image = x.shape
    filters = len(w)
    outputs = tuple((size + 2 * p) // 2 - 1 for size, p in zip(image, pad, strict=True))
    block = block_length(filters, MAX_FILTERS)
    p = plan(n, channels, tuple(image), filters, outputs, pad, halves(outputs), (block, channels), 1)
    y = np.empty((n, filters, *outputs), x.dtype)
    native.convolve(
        p.blocks * -(-filters // block), _work(y, channels), x, _transformed(w, 0), bias, y, int(bias is not None),
        p.sizes,
        scratch=(36 * channels + 9 * block) * p.columns + max(40 * p.wide + 16, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, pad: Shape, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, *image)."""
    n, filters, *outputs = y.shape
    channels = w.shape[1]
    phases = tuple((size + p + 1) // 2 for size, p in zip(image, pad, strict=True))
    block = block_length(channels, MAX_CHANNELS)
    p = plan(n, filters, tuple(outputs), channels, image, pad, halves(phases), (block, filters), 1)
    x = np.empty((n, channels, *image), y.dtype)
    native.convolve_image(
        p.blocks * -(-channels // block), _work(y, channels), y, _transformed(w, 1), x, p.sizes,
        scratch=(9 * filters + 36 * block + 22) * p.columns + 11 * p.wide + 16,
    )  # fmt: skip
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, pad: Shape) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels, 4, 4), summed as in `winograd`."""
    n, channels, *image = x.shape
    filters, *outputs = y.shape[1:]
    f, c, parts = gradient_blocks(filters, channels)
    p = plan(n, channels, tuple(image), filters, tuple(outputs), pad, halves(tuple(outputs)), (f, c), parts)
    w = np.empty((p.parts, filters, channels, 4, 4), x.dtype)
    native.convolve_weight(
        p.parts * -(-filters // f) * -(-channels // c), _work(y, channels), y, x, w, p.sizes,
        scratch=9 * (4 * f * c + 16) + (36 * c + 9 * f) * p.columns + max(40 * p.wide + 16, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return sum_parts(w)


def _transformed(w: np.ndarray, turned: int) -> np.ndarray:
    filters, channels = w.shape[:2]
    u = np.empty((9, filters, 4 * channels), w.dtype)
    native.transform_weights(
        filters, 4 * TRANSFORM_WORK * filters * channels, w, u, turned, filters, channels,
        scratch=9 * (4 * channels + 16) + 32,
    )  # fmt: skip
    return u


def _work(y: np.ndarray, channels: int) -> int:
    """Of the products, in additions: 36 multiplications for four pixels of the output and each channel."""
    return 2 * 9 * y.size * channels // FLOPS
