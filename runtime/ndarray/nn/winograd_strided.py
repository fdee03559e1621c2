"""Convolution with kernels of 3 by 3 or 4 by 4 that move by two pixels, by Winograd's algorithm: see
`native.winograd_strided`."""

from __future__ import annotations

import numpy as np

from runtime.core.blas import FLOPS
from runtime.native import winograd_strided as native
from runtime.ndarray.nn.windows import Shape
from runtime.ndarray.nn.winograd import MAX_FILTERS, TRANSFORM_WORK, block_length, gradient_blocks, halves, plan

MAX_CHANNELS = 64
"""The most channels of the image of a task that computes its gradient: there are four phases of each."""


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, pad: Shape) -> np.ndarray:
    """(n, channels, height, width), (filters, channels, k, k) and (filters,): (n, filters, ...)."""
    n, channels, *image = x.shape
    filters, k = len(w), w.shape[2]
    outputs = tuple((size + 2 * p - k) // 2 + 1 for size, p in zip(image, pad, strict=True))
    block = block_length(filters, MAX_FILTERS)
    p = plan(n, channels, tuple(image), filters, outputs, pad, halves(outputs), (block, channels), 1, k - 2)
    y = np.empty((n, filters, *outputs), x.dtype)
    native.convolve(
        p.blocks * -(-filters // block), _work(y, w), x, _transformed(w, 0), bias, y, int(bias is not None), p.sizes,
        scratch=((k + 2) ** 2 * channels + 9 * block) * p.columns + max(40 * p.wide + 16, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, pad: Shape, image: Shape) -> np.ndarray:
    """The transpose of `convolve` in x, (n, channels, *image)."""
    n, filters, *outputs = y.shape
    channels, k = w.shape[1:3]
    phases = tuple((size + p + 1) // 2 for size, p in zip(image, pad, strict=True))
    block = block_length(channels, MAX_CHANNELS)
    p = plan(n, filters, tuple(outputs), channels, image, pad, halves(phases), (block, filters), 1, k - 2)
    x = np.empty((n, channels, *image), y.dtype)
    native.convolve_image(
        p.blocks * -(-channels // block), _work(y, w), y, _transformed(w, 1), x, p.sizes,
        scratch=(9 * filters + (k + 2) ** 2 * block + 22) * p.columns + 11 * p.wide + 16,
    )  # fmt: skip
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, pad: Shape, k: int) -> np.ndarray:
    """The transpose of `convolve` in w, (filters, channels, k, k), summed as in `winograd`."""
    n, channels, *image = x.shape
    filters, *outputs = y.shape[1:]
    f, c, parts = gradient_blocks(filters, channels)
    p = plan(n, channels, tuple(image), filters, tuple(outputs), pad, halves(tuple(outputs)), (f, c), parts, k - 2)
    w = np.empty((p.parts, filters, channels, k, k), x.dtype)
    rows = (k + 2) ** 2
    native.convolve_weight(
        p.parts * -(-filters // f) * -(-channels // c), _work(y, w[0]), y, x, w, p.sizes,
        scratch=rows * f * c + 144 + (rows * c + 9 * f) * p.columns + max(40 * p.wide + 16, 4 * p.columns + 2 * p.wide),
    )  # fmt: skip
    return w[0] if p.parts == 1 else w.sum(axis=0)


def _transformed(w: np.ndarray, turned: int) -> np.ndarray:
    filters, channels, k, _ = w.shape
    rows = (k + 2) ** 2
    u = np.empty((rows, filters, channels), w.dtype)
    native.transform_weights(
        filters, TRANSFORM_WORK * filters * channels, w, u, turned, filters, channels, k - 2,
        scratch=rows * channels + 9 * 16 + 40,
    )  # fmt: skip
    return u


def _work(y: np.ndarray, w: np.ndarray) -> int:
    """Of the products, in additions: (k + 2)^2 multiplications for four pixels of the output and each channel."""
    return 2 * (w.shape[2] + 2) ** 2 // 4 * y.size * w.shape[1] // FLOPS
