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
    y = matmul(w.reshape(len(w), g.rows), _columns(x, g))
    if bias is not None:
        y += bias[:, None]
    return _apart(y, len(x)).reshape(len(x), len(w), *g.outputs)


def convolve_image(y: np.ndarray, w: np.ndarray, image: tuple[int, ...], g: Geometry) -> np.ndarray:
    """The transpose of `convolve` in x: (n, *image) from y, (n, filters, ...)."""
    columns = matmul(w.reshape(len(w), g.rows).T, _together(y.reshape(*y.shape[:2], -1)))
    x = np.zeros((len(y), *image), y.dtype)
    native.col2im(len(x), columns.size, _apart(columns, len(y)), x, g.kernel_params)
    return x


def convolve_weight(y: np.ndarray, x: np.ndarray, g: Geometry) -> np.ndarray:
    """The transpose of `convolve` in w: (filters, rows) from y, (n, filters, ...), and x."""
    return matmul(_together(y.reshape(*y.shape[:2], -1)), _columns(x, g).T)


def _columns(x: np.ndarray, g: Geometry) -> np.ndarray:
    """The windows of all images, side by side."""
    columns = np.empty((len(x), g.rows, math.prod(g.outputs)), x.dtype)
    native.im2col(len(x), columns.size, x, columns, g.kernel_params)
    return _together(columns)


def _together(x: np.ndarray) -> np.ndarray:
    """(n, rows, places) as (rows, n places)."""
    return np.ascontiguousarray(x.swapaxes(0, 1)).reshape(x.shape[1], -1)


def _apart(x: np.ndarray, n: int) -> np.ndarray:
    """The inverse of `_together`."""
    return np.ascontiguousarray(x.reshape(len(x), n, -1).swapaxes(0, 1))
