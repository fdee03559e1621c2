"""Convolution and pooling on a GPU, in functions of arrays.

The windows of images are a view with the axes (n, channels, *kernel, *outputs). Its contiguous copy is the matrix that
the GPU's BLAS multiplies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from runtime.core.backend import array_module
from runtime.native.pooling import LOWEST
from runtime.ndarray.nn.windows import Shape, Window

MAX_COLUMN_ELEMENTS = 1 << 28
"""The most elements of a matrix of windows, 1 GiB of float32: larger batches are cut into parts."""

# ---------------------------------------------------------------- views


def windows(x: np.ndarray, window: Window, outputs: Shape, fill: float = 0.0) -> np.ndarray:
    """(n, channels, *kernel, *outputs): a view of x, (n, channels, ...), or of a copy with `fill` around it."""
    frame = _frame(x.shape[2:], window, outputs)
    if any(map(any, frame)):
        x = np.pad(x, [(0, 0), (0, 0), *frame], constant_values=fill)
    return _view(x, window, outputs)


def fold(parts: np.ndarray, image: Shape, window: Window) -> np.ndarray:
    """The transpose of `windows`: (n, channels, *image), where each element is the sum of `parts` over its windows."""
    axes = len(image)
    outputs = parts.shape[2 + axes :]
    frame = _frame(image, window, outputs)
    lengths = (n + before + after for n, (before, after) in zip(image, frame, strict=True))
    x = np.zeros_like(parts, shape=(*parts.shape[:2], *lengths))
    view = _view(x, window, outputs)
    sizes = zip(window.kernel, window.stride, window.dilate, outputs, strict=True)
    if all(out == 1 or d * (k - 1) < s for k, s, d, out in sizes):  # windows do not overlap
        view[...] = parts
    else:
        for offset in np.ndindex(*window.kernel):
            view[:, :, *offset] += parts[:, :, *offset]
    if any(map(any, frame)):
        inside = (slice(before, before + n) for n, (before, _) in zip(image, frame, strict=True))
        x = x[:, :, *inside].copy()
    return x


def _frame(image: Shape, window: Window, outputs: Shape) -> list[tuple[int, int]]:
    """The elements of padding before and behind each spatial axis."""
    sizes = zip(image, window.kernel, window.stride, window.pad, window.dilate, outputs, strict=True)
    return [(p, max(0, (out - 1) * s + d * (k - 1) + 1 - n - p)) for n, k, s, p, d, out in sizes]


def _view(x: np.ndarray, window: Window, outputs: Shape) -> np.ndarray:
    steps = x.strides[2:]
    kernel_strides = (d * step for d, step in zip(window.dilate, steps, strict=True))
    places = (s * step for s, step in zip(window.stride, steps, strict=True))
    return array_module(x).lib.stride_tricks.as_strided(
        x, (*x.shape[:2], *window.kernel, *outputs), (*x.strides[:2], *kernel_strides, *places)
    )


# ---------------------------------------------------------------- convolution
# Arguments and results are those of the operators in `convolution`.


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, window: Window) -> np.ndarray:
    outputs = window.outputs(x.shape[2:])
    matrices = w.reshape(window.groups, len(w) // window.groups, -1)
    shape = (-1, window.groups, matrices.shape[2], math.prod(outputs))
    products = (
        np.matmul(matrices, windows(x[part], window, outputs).reshape(shape))
        for part in _parts(len(x), x.shape[1], window, outputs)
    )
    y = _together([product.reshape(-1, len(w), *outputs) for product in products])
    if bias is not None:
        y += bias.reshape(-1, *(1 for _ in outputs))
    return y


def convolve_image(y: np.ndarray, w: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    outputs, channels = y.shape[2:], w.shape[1] * window.groups
    matrices = w.reshape(window.groups, len(w) // window.groups, -1).swapaxes(1, 2)
    products = (np.matmul(matrices, _grouped(y[part], window)) for part in _parts(len(y), channels, window, outputs))
    return _together(
        [fold(columns.reshape(-1, channels, *window.kernel, *outputs), image, window) for columns in products]
    )


def convolve_weight(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    filters, channels, outputs = y.shape[1], x.shape[1], y.shape[2:]
    rows = channels // window.groups * math.prod(window.kernel)
    w = np.zeros_like(x, shape=(window.groups, filters // window.groups, rows))
    for part in _parts(len(x), channels, window, outputs):
        # (groups, ..., n places): the sum over the batch is part of one product.
        flows = _grouped(y[part], window).transpose(1, 2, 0, 3).reshape(window.groups, filters // window.groups, -1)
        seen = windows(x[part], window, outputs)
        axes = len(outputs)
        seen = seen.transpose(1, *range(2, 2 + axes), 0, *range(2 + axes, 2 + 2 * axes))
        w += np.matmul(flows, seen.reshape(window.groups, rows, -1).swapaxes(1, 2))
    return w.reshape(filters, channels // window.groups, *window.kernel)


def im2col(x: np.ndarray, window: Window) -> np.ndarray:
    outputs = window.outputs(x.shape[2:])
    rows = x.shape[1] * math.prod(window.kernel)
    return windows(x, window, outputs).copy().reshape(len(x), rows, math.prod(outputs))


def col2im(columns: np.ndarray, window: Window, image: Shape) -> np.ndarray:
    """`image` has the channels, then the spatial axes."""
    parts = columns.reshape(len(columns), image[0], *window.kernel, *window.outputs(image[1:]))
    return fold(parts, image[1:], window)


def _parts(images: int, channels: int, window: Window, outputs: Shape) -> Iterator[slice]:
    """The parts that a batch is cut into, one or more."""
    step = max(1, MAX_COLUMN_ELEMENTS // (channels * math.prod(window.kernel) * math.prod(outputs)))
    return (slice(i, i + step) for i in range(0, images or 1, step))


def _together(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _grouped(x: np.ndarray, window: Window) -> np.ndarray:
    """(n, rows, ...) as (n, groups, rows of a group, elements)."""
    return x.reshape(len(x), window.groups, x.shape[1] // window.groups, math.prod(x.shape[2:]))


# ---------------------------------------------------------------- pooling
# Of x, (n, channels, ...); `window` and `outputs` say which windows there are.


def pool_max(x: np.ndarray, window: Window, outputs: Shape) -> np.ndarray:
    return windows(x, window, outputs, LOWEST).max(axis=_kernel_axes(window))


def pool_sum(x: np.ndarray, scale: np.ndarray, window: Window, outputs: Shape) -> np.ndarray:
    """`scale`, (*outputs,), is what each sum is multiplied with."""
    return windows(x, window, outputs).sum(axis=_kernel_axes(window)) * scale


def unpool_sum(y: np.ndarray, scale: np.ndarray, window: Window, plane: Shape) -> np.ndarray:
    """The transpose of `pool_sum`."""
    parts = np.expand_dims(y * scale, _kernel_axes(window))
    return fold(np.broadcast_to(parts, (*y.shape[:2], *window.kernel, *y.shape[2:])), plane, window)


def unpool_max(y: np.ndarray, x: np.ndarray, window: Window) -> np.ndarray:
    """Each element of y where the largest of its window is in x, the first of several; elsewhere zeros."""
    chosen = _largest(x, window, y.shape[2:])
    offsets = array_module(x).arange(math.prod(window.kernel)).reshape(*window.kernel, *(1 for _ in window.kernel))
    here = np.expand_dims(chosen, _kernel_axes(window)) == offsets
    return fold(np.where(here, np.expand_dims(y, _kernel_axes(window)), y.dtype.type(0)), x.shape[2:], window)


def gather_max(of: np.ndarray, x: np.ndarray, window: Window, outputs: Shape) -> np.ndarray:
    """The transpose of `unpool_max`: the elements of `of` where the largest of the windows are in x."""
    chosen = np.expand_dims(_largest(x, window, outputs), 2)
    return np.take_along_axis(_listed(windows(of, window, outputs), outputs), chosen, 2)[:, :, 0]


def _largest(x: np.ndarray, window: Window, outputs: Shape) -> np.ndarray:
    """(n, channels, *outputs): which place under the kernel has the largest element."""
    return _listed(windows(x, window, outputs, LOWEST), outputs).argmax(axis=2)


def _listed(view: np.ndarray, outputs: Shape) -> np.ndarray:
    """Windows with the kernel's places along one axis."""
    return view.reshape(*view.shape[:2], math.prod(view.shape[2 : -len(outputs)]), *outputs)


def _kernel_axes(window: Window) -> tuple[int, ...]:
    """The axes of the kernel in a view."""
    return tuple(range(2, 2 + len(window.kernel)))
