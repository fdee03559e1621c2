"""Convolution of small images: one matrix product for the whole batch.

A product per image would read all weights for the few columns of its windows. The windows of all images, side by side,
are one matrix with many columns. `g` is the `Geometry` of `windows`, with one group.
"""

from __future__ import annotations

import math

import numpy as np

from runtime.core.blas import matmul
from runtime.native import convolution as native
from runtime.ndarray.nn.windows import Geometry

MAX_PLACES = 64
"""The most places of the kernel in an image for which this is used,"""
MIN_WEIGHTS = 1 << 16
"""the fewest weights,"""
MAX_COLUMN_ELEMENTS = 1 << 23
"""and the most elements of the matrix of windows."""


def pays(images: int, filters: int, groups: int, g: Geometry) -> bool:
    """Whether one product for the batch is faster than one per image."""
    if groups > 1 or images <= 1 or filters * g.rows < MIN_WEIGHTS:
        return False
    places = math.prod(g.outputs)
    return places <= MAX_PLACES and images * places * g.rows <= MAX_COLUMN_ELEMENTS


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, g: Geometry) -> np.ndarray:
    """(n, channels, ...), (filters, channels, ...) and (filters,): (n, filters, ...)."""
    products = matmul(w.reshape(len(w), g.rows), _columns(x, g))
    if bias is not None:
        products += bias[:, None]
    y = np.empty((len(x), len(w), *g.outputs), x.dtype)
    native.exchange(len(x), y.size, products, y, len(w), len(x), math.prod(g.outputs))
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, image: tuple[int, ...], g: Geometry) -> np.ndarray:
    """The transpose of `convolve` in x: (n, *image) from y, (n, filters, ...)."""
    columns = matmul(w.reshape(len(w), g.rows).T, _together(y))
    x = np.empty((len(y), *image), y.dtype)
    native.fold_all(
        image[0], columns.size, columns, x, len(y), g.kernel_params, scratch=g.rows // image[0] * math.prod(g.outputs)
    )
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, g: Geometry) -> np.ndarray:
    """The transpose of `convolve` in w: (filters, rows) from y, (n, filters, ...), and x."""
    return matmul(_together(y), _columns(x, g).T)


def _columns(x: np.ndarray, g: Geometry) -> np.ndarray:
    """The windows of all images, side by side."""
    pixels = math.prod(g.outputs)
    columns = np.empty((g.rows, len(x) * pixels), x.dtype)
    scratch = g.rows // x.shape[1] * pixels
    native.unfold_all(x.shape[1], columns.size, x, columns, len(x), g.kernel_params, scratch=scratch)
    return columns


def _together(x: np.ndarray) -> np.ndarray:
    """(n, rows, ...) as (rows, n * places)."""
    n, rows, *places = x.shape
    y = np.empty((rows, n * math.prod(places)), x.dtype)
    native.exchange(rows, x.size, x, y, n, rows, math.prod(places))
    return y
