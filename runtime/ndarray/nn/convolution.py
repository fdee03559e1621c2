"""Convolution, its transpose, im2col and col2im, over one to three spatial axes.

Three operators, of an image x, weights w and an output y, each linear in both inputs: y = w*x, the image that x gets
from y and w, and the weights that y and x give. The gradients of each are the two others, so all can be differentiated
any number of times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError, count
from runtime.core.backend import is_host
from runtime.core.blas import FLOPS
from runtime.native import convolution as native
from runtime.native.sums import summed
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn import depthwise, gathered, gpu_windows, grouped, pointwise, winograd
from runtime.ndarray.nn.windows import (
    Shape,
    Window,
    check_places,
    floating,
    geometry,
    per_axis,
    window_of,
)
from runtime.ndarray.operator import Operator, in_float32, repeating
from runtime.ndarray.reduce.reductions import sum as sum_
from runtime.ndarray.two_gradients import DirectOperator

__all__ = ["Convolution", "Deconvolution", "col2im", "im2col"]

MIN_PRODUCTS = 1 << 17
"""The fewest multiplications that outweigh copies of images or weights."""
BATCH_CHUNKS = 8
"""Parts that a batch is cut into. The gradient of the weights is computed for each part, then summed in order."""
SPLIT_CHANNELS_MIN_WEIGHTS = 1 << 18
"""From this many weights on, channels are divided among tasks, and not the batch."""


# ---------------------------------------------------------------- three operators


@repeating
@DirectOperator
@in_float32
def _convolve(x: np.ndarray, w: np.ndarray, *bias: np.ndarray, window: Window) -> np.ndarray:
    """(n, channels, ...) and (filters, channels/groups, ...), plus (filters,): (n, filters, ...)."""
    if not is_host(x):
        return gpu_windows.convolve(x, w, bias[0] if bias else None, window)
    if depthwise.pays(x.shape[1], len(w), window):
        return depthwise.convolve(x, w, bias[0] if bias else None, window)
    if grouped.pays(x.shape[1], len(w), window):
        return grouped.convolve(x, w, bias[0] if bias else None, window)
    if pointwise.skips(window):
        x, window = pointwise.picked(x, window)
    g = geometry(x.shape[1], x.shape[2:], len(w), window)
    products = len(x) * g.pixels * w.size
    if products >= MIN_PRODUCTS:
        if winograd.pays(len(x), x.shape[1], len(w), g, window):
            return winograd.convolve(x, w, bias[0] if bias else None, window.pad, window.dilate)
        if pointwise.few_pixels_pay(len(x), g.pixels, x.shape[1], len(w), window):
            return pointwise.convolve_few(x, w, bias[0] if bias else None, window)
        if pointwise.pays(g.pixels, window):
            return pointwise.convolve(x, w, bias[0] if bias else None, window)
        if gathered.pays(len(w) // window.groups, w.shape[1], g.outputs, window):
            return gathered.convolve(x, w, bias[0] if bias else None, window)
    y = np.empty((len(x), len(w), *g.outputs), x.dtype)
    work = 2 * products // FLOPS
    native.convolve(
        len(x) * window.groups * g.tiles, work, x, w, bias[0] if bias else None, y, len(bias), g.kernel_params,
        scratch=g.rows * g.tile,
    )  # fmt: skip
    return y


@repeating
@Operator
@in_float32
def _convolve_image(y: np.ndarray, w: np.ndarray, *, window: Window, image: Shape) -> np.ndarray:
    """(n, filters, ...) and (filters, channels/groups, ...): what each pixel of the images gave, (n, channels, ...)."""
    if not is_host(y):
        return gpu_windows.convolve_image(y, w, window, image)
    channels = w.shape[1] * window.groups
    if depthwise.pays(channels, len(w), window):
        return depthwise.convolve_image(y, w, window, image)
    if grouped.pays(channels, len(w), window):
        return grouped.convolve_image(y, w, window, image)
    if pointwise.skips(window):
        of_pixels = _convolve_image.forward(y, w, window=pointwise.every_pixel(window), image=y.shape[2:])
        return pointwise.spread(of_pixels, window, image)
    g = geometry(channels, image, len(w), window)
    products = y.size * g.rows
    if products >= MIN_PRODUCTS:
        if winograd.pays(len(y), channels, len(w), g, window):
            return winograd.convolve_image(y, w, window.pad, window.dilate)
        if pointwise.pays(g.pixels, window):
            return pointwise.convolve_image(y, w, window)
        if gathered.pays_for_image(w.shape[1], len(w) // window.groups, image, window):
            return gathered.convolve_image(y, w, window, image)
    x = np.empty((len(y), channels, *image), y.dtype)
    work = 2 * products // FLOPS
    native.convolve_image(len(y) * window.groups, work, y, w, x, g.kernel_params, scratch=g.rows * g.tile)
    return x


@repeating
@Operator
@in_float32
def _convolve_weight(y: np.ndarray, x: np.ndarray, *, window: Window) -> np.ndarray:
    """(n, filters, ...) and (n, channels, ...): for each weight, the sum of the products it would be part of.

    Summed for fixed parts of the batch, and these in order: the same for any number of threads.
    """
    if not is_host(x):
        return gpu_windows.convolve_weight(y, x, window)
    filters, channels = y.shape[1], x.shape[1]
    if depthwise.pays(channels, filters, window):
        return _sum_parts(depthwise.weight_parts(y, x, window)).reshape(filters, 1, *window.kernel)
    if grouped.pays(channels, filters, window):
        return grouped.convolve_weight(y, x, window)
    if pointwise.skips(window):
        x, window = pointwise.picked(x, window)
    g = geometry(channels, x.shape[2:], filters, window)
    products = y.size * g.rows
    if products >= MIN_PRODUCTS:
        if pointwise.pays_for_weight(g.pixels, window):
            parts = pointwise.weight_parts(y, x, window)
            return _sum_parts(parts).reshape(filters, channels // window.groups, *window.kernel)
        if gathered.pays_for_weight(filters // window.groups, channels // window.groups, window):
            return gathered.convolve_weight(y, x, window)
    share, chunk = _shares(len(x), channels // window.groups, filters * g.rows)
    parts = np.empty((-(-len(x) // chunk), filters, g.rows), x.dtype)
    work = 2 * products // FLOPS
    tasks = len(parts) * window.groups * -(-channels // window.groups // share)
    native.convolve_weight(tasks, work, y, x, parts, share, chunk, len(x), g.kernel_params, scratch=g.rows * g.tile)
    return _sum_parts(parts).reshape(filters, channels // window.groups, *window.kernel)


def _sum_parts(parts: np.ndarray) -> np.ndarray:
    """The sum over the first axis, in order."""
    if len(parts) < 2:
        return parts[0] if len(parts) else np.zeros(parts.shape[1:], parts.dtype)
    w = np.empty(parts.shape[1:], parts.dtype)
    native.sum_parts(-(-w.size // native.SUM_ELEMENTS), parts.size, parts, w, len(parts), w.size)
    return w


def _shares(images: int, channels: int, weights: int) -> tuple[int, int]:
    """Channels, and images, of one task of `convolve_weight`.

    Summing parts of the batch takes time for each weight. So a layer with many weights divides its channels instead.
    """
    if weights >= SPLIT_CHANNELS_MIN_WEIGHTS:
        return -(-channels // BATCH_CHUNKS), max(1, images)
    return channels, max(1, -(-images // BATCH_CHUNKS))


@in_float32
def _sum_of_planes(g: np.ndarray) -> np.ndarray:
    """(n, filters, ...): the sum of each filter's elements, (filters,)."""
    if not is_host(g):
        return g.sum(axis=(0, *range(2, g.ndim)))
    return summed(g, len(g), g.shape[1], math.prod(g.shape[2:]))


@_convolve.backward
def _(
    g: np.ndarray, y: np.ndarray, x: np.ndarray, w: np.ndarray, *bias: np.ndarray, window: Window, wanted: list[bool]
) -> tuple[np.ndarray | None, ...]:
    dx = _convolve_image.forward(g, w, window=window, image=x.shape[2:]) if wanted[0] else None
    dw = _convolve_weight.forward(g, x, window=window) if wanted[1] else None
    return dx, dw, _sum_of_planes(g) if bias and wanted[2] else None


@_convolve.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, *bias: NDArray, window: Window) -> NDArray:
    return _convolve_image(g, w, window=window, image=x.shape[2:])


@_convolve.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, *bias: NDArray, window: Window) -> NDArray:
    return _convolve_weight(g, x, window=window)


@_convolve.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, bias: NDArray, *, window: Window) -> NDArray:
    return sum_(g, axis=1, exclude=True)


@_convolve_image.gradient
def _(g: NDArray, x: NDArray, y: NDArray, w: NDArray, *, window: Window, image: Shape) -> NDArray:
    return _convolve(g, w, window=window)


@_convolve_image.gradient
def _(g: NDArray, x: NDArray, y: NDArray, w: NDArray, *, window: Window, image: Shape) -> NDArray:
    return _convolve_weight(y, g, window=window)


@_convolve_weight.gradient
def _(g: NDArray, w: NDArray, y: NDArray, x: NDArray, *, window: Window) -> NDArray:
    return _convolve(x, g, window=window)


@_convolve_weight.gradient
def _(g: NDArray, w: NDArray, y: NDArray, x: NDArray, *, window: Window) -> NDArray:
    return _convolve_image(y, g, window=window, image=x.shape[2:])


# ---------------------------------------------------------------- layers


def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: Sequence[int] = (),
    stride: Sequence[int] = (),
    dilate: Sequence[int] = (),
    pad: Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> NDArray:
    """Each filter, at each place of the image: the sum of weights times what lies under them, plus the filter's bias.

    `data` is (batch, channels, [[depth,] height,] width), `weight` (num_filter, channels/num_group, *kernel), `bias`
    (num_filter,); the result is (batch, num_filter, ...) with (n + 2 pad - dilate (kernel - 1) - 1)//stride + 1 places
    along an axis of length n. `workspace`, `cudnn_tune` and `cudnn_off` do nothing here.
    """
    window = window_of("Convolution", data, kernel, stride, pad, dilate, num_group, layout)
    filters = len(weight) if num_filter is None else num_filter
    expected = _weights(data._data.shape, filters, window)
    return _convolve(*_checked_inputs("Convolution", data, weight, bias, no_bias, expected, filters), window=window)


@functools.lru_cache(maxsize=1024, typed=True)
def _weights(shape: Shape, filters: int, window: Window) -> Shape:
    """The shape of the weights of a Convolution of data of `shape`; MXNetError where the window does not fit it."""
    _check_groups("Convolution", shape[1], filters, window.groups)
    if min(window.outputs(shape[2:])) < 1:
        raise MXNetError(
            f"Convolution: a kernel of {window.kernel}, dilated by {window.dilate}, exceeds data of shape {shape} "
            f"padded by {window.pad}"
        )
    return (filters, shape[1] // window.groups, *window.kernel)


def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: Sequence[int] = (),
    stride: Sequence[int] = (),
    dilate: Sequence[int] = (),
    pad: Sequence[int] = (),
    adj: Sequence[int] = (),
    target_shape: Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> NDArray:
    """The transpose of `Convolution`: each element adds its multiple of the kernel to the result.

    `data` is (batch, channels, [[depth,] height,] width), `weight` (channels, num_filter/num_group, *kernel), `bias`
    (num_filter,). Along an axis of length n the result has stride (n - 1) + dilate (kernel - 1) + 1 - 2 pad + adj
    elements, or those of `target_shape`, from which `pad` and `adj` then follow.
    """
    window = window_of("Deconvolution", data, kernel, stride, pad, dilate, num_group, layout)
    filters = weight.shape[1] * num_group if num_filter is None else num_filter
    _check_groups("Deconvolution", data.shape[1], filters, num_group)
    expected = (data.shape[1], filters // num_group, *window.kernel)
    data, weight, *bias_ = _checked_inputs("Deconvolution", data, weight, bias, no_bias, expected, filters)
    window, image = _target(data, window, adj, target_shape)
    y = _convolve_image(data, weight, window=window, image=image)
    return y + bias_[0].reshape((1, -1) + (1,) * len(image)) if bias_ else y


def _target(data: NDArray, window: Window, adj: Sequence[int], target: Sequence[int]) -> tuple[Window, Shape]:
    """The window and the lengths of the result of a Deconvolution."""
    axes = len(window.kernel)
    sizes = zip(data.shape[2:], window.stride, window.kernel, window.dilate, strict=True)
    full = [s * (n - 1) + d * (k - 1) + 1 for n, s, k, d in sizes]
    if np.any(target):
        target = per_axis("Deconvolution", "target_shape", target, axes, None)
        for whole, wanted in zip(full, target, strict=True):
            if wanted > whole:
                raise MXNetError(
                    f"Deconvolution: target_shape {target} is too big: without padding it is {tuple(full)}"
                )
        surplus = [whole - wanted for whole, wanted in zip(full, target, strict=True)]
        window = window._replace(pad=tuple((x + 1) // 2 for x in surplus))
        return window, target
    adj = per_axis("Deconvolution", "adj", adj, axes, 0)
    if any(not 0 <= a < s for a, s in zip(adj, window.stride, strict=True)):
        raise MXNetError(f"Deconvolution: adj {adj} must be smaller than stride {window.stride}")
    image = tuple(x - 2 * p + a for x, p, a in zip(full, window.pad, adj, strict=True))
    if min(image) < 1:
        raise MXNetError(f"Deconvolution: data of shape {data.shape} with pad {window.pad} leaves nothing: {image}")
    return window, image


# ---------------------------------------------------------------- matrices of windows


@repeating
@Operator
@in_float32
def _im2col(x: np.ndarray, *, window: Window) -> np.ndarray:
    if not is_host(x):
        return gpu_windows.im2col(x, window)
    g = geometry(x.shape[1], x.shape[2:], 1, window)
    columns = np.empty((len(x), g.rows, math.prod(g.outputs)), x.dtype)
    native.im2col(len(x), columns.size, x, columns, g.kernel_params)
    return columns


@Operator
@in_float32
def _col2im(columns: np.ndarray, *, window: Window, image: Shape) -> np.ndarray:
    """`image` has the channels, then the spatial axes."""
    if not is_host(columns):
        return gpu_windows.col2im(columns, window, image)
    g = geometry(image[0], image[1:], 1, window)
    x = np.zeros((len(columns), *image), columns.dtype)
    native.col2im(len(x), columns.size, columns, x, g.kernel_params)
    return x


@_im2col.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, window: Window) -> NDArray:
    return _col2im(g, window=window, image=x.shape[1:])


@_col2im.gradient
def _(g: NDArray, x: NDArray, y: NDArray, *, window: Window, image: Shape) -> NDArray:
    return _im2col(g, window=window)


def im2col(
    data: NDArray,
    kernel: Sequence[int] = (),
    stride: Sequence[int] = (),
    dilate: Sequence[int] = (),
    pad: Sequence[int] = (),
) -> NDArray:
    """The windows of (batch, channels, ...) as columns: (batch, channels * elements of the kernel, places)."""
    window = window_of("im2col", data, kernel, stride, pad, dilate, 1, None)
    check_places("im2col", window, data.shape[2:])
    return _im2col(floating("im2col", data), window=window)


def col2im(
    data: NDArray,
    output_size: Sequence[int] = (),
    kernel: Sequence[int] = (),
    stride: Sequence[int] = (),
    dilate: Sequence[int] = (),
    pad: Sequence[int] = (),
) -> NDArray:
    """Images with spatial axes of `output_size`, in which columns as of `im2col` are added where they would be from."""
    image = tuple(output_size)
    axes = len(image)
    if not 1 <= axes <= 3 or data.ndim != 3:
        raise MXNetError(f"col2im: data of shape {data.shape} must have 3 axes, and output_size {image} 1 to 3")
    lists = (("kernel", kernel, None), ("stride", stride, 1), ("pad", pad, 0), ("dilate", dilate, 1))
    window = Window(*(per_axis("col2im", name, given, axes, default) for name, given, default in lists))
    check_places("col2im", window, image)
    elements, places = math.prod(window.kernel), math.prod(window.outputs(image))
    if data.shape[1] % elements or data.shape[2] != places:
        raise MXNetError(
            f"col2im: data of shape {data.shape} does not fit: output_size {image} with kernel {window.kernel} has "
            f"{elements} rows a channel and {places} columns"
        )
    return _col2im(floating("col2im", data), window=window, image=(data.shape[1] // elements, *image))


# ---------------------------------------------------------------- checks


def _check_groups(name: str, channels: int, filters: int, groups: int) -> None:
    count(f"{name}: num_filter", filters)
    if min(groups, channels, filters) < 1 or channels % groups or filters % groups:
        raise MXNetError(f"{name}: {channels} channels and {filters} filters cannot be cut into num_group = {groups}")


def _checked_inputs(
    name: str,
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
    no_bias: bool,
    expected: Shape,
    filters: int,
) -> tuple[NDArray, ...]:
    """Data, weight and, if there is to be one, bias."""
    if weight._data.shape != expected:
        raise MXNetError(f"{name}: data of shape {data.shape} takes weight {expected}, but weight has {weight.shape}")
    if bias is None and not no_bias:
        raise MXNetError(f"{name}: no bias is given; pass one of shape ({filters},), or no_bias=True")
    if not no_bias and bias._data.shape != (filters,):
        raise MXNetError(f"{name}: bias has shape {bias.shape}, not ({filters},), with weight {weight.shape}")
    inputs = (data, weight) if no_bias else (data, weight, bias)
    dtype = data._data.dtype
    if weight._data.dtype != dtype or not (no_bias or bias._data.dtype == dtype):
        found = ", ".join(str(x._data.dtype) for x in inputs)
        raise MXNetError(f"{name}: data, weight and bias must have one type, not {found}; convert with astype()")
    floating(name, data)
    return inputs
