"""Images, (batch, channels, height, width), made larger or smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError, count, counts, did_you_mean
from runtime.core.backend import to_device_of
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.convolution import Deconvolution
from runtime.ndarray.nn.pooling import Pool, unpool_sum
from runtime.ndarray.nn.windows import floating
from runtime.ndarray.operator import Operator, in_float32
from runtime.ndarray.shape.slicing import concat

__all__ = ["UpSampling"]
CONTRIB = ("AdaptiveAvgPooling2D", "BilinearResize2D")

# ---------------------------------------------------------------- along rows and columns apart


@Operator
@in_float32
def _separable(x: np.ndarray, *, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """`rows x columns^T` for each channel."""
    rows, columns = to_device_of(x, rows.astype(x.dtype)), to_device_of(x, columns.T.astype(x.dtype))
    return np.matmul(np.matmul(rows, x), columns)


@_separable.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, rows: np.ndarray, columns: np.ndarray) -> NDArray:
    return _separable(g, rows=rows.T, columns=columns.T)


def AdaptiveAvgPooling2D(data: NDArray, output_size: int | Sequence[int] = ()) -> NDArray:
    """Means over `output_size` (height and width, or one number for both; 1 by default) windows of about one size."""
    _check_image("AdaptiveAvgPooling2D", data)
    sizes = counts("AdaptiveAvgPooling2D: output_size", output_size) or (1,)
    if len(sizes) > 2:
        raise MXNetError(f"AdaptiveAvgPooling2D: output_size is one or two numbers, not {output_size}")
    height, width = sizes * (3 - len(sizes))
    return _separable(data, rows=_means(data.shape[2], height), columns=_means(data.shape[3], width))


def _means(n: int, out: int) -> np.ndarray:
    """(out, n): row i has the mean of the elements from floor(i n/out) to before ceil((i + 1) n/out)."""
    matrix = np.zeros((out, n))
    for i in range(out):
        start, stop = i * n // out, -(-(i + 1) * n // out)
        matrix[i, start:stop] = 1 / (stop - start)
    return matrix


_MODES = ("size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")


def BilinearResize2D(
    data: NDArray,
    like: NDArray | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: str = "size",
    align_corners: bool = True,
) -> NDArray:
    """Each pixel interpolated between the four of `data` around its place.

    The new size, by `mode`: 'size', `height` and `width`, or the old one times `scale_height` and `scale_width`;
    'odd_scale', such that an odd length n becomes (n - 1) scale + 1; 'like', that of the array `like`; 'to_even_down',
    'to_even_up', 'to_odd_down', 'to_odd_up', one less or more where that makes it even or odd. With `align_corners` the
    centres of the corner pixels stay where they are, else the image's edges do.
    """
    _check_image("BilinearResize2D", data)
    if mode not in _MODES:
        raise MXNetError(f"BilinearResize2D: unknown mode '{mode}'{did_you_mean(str(mode), _MODES)}")
    if mode == "like" and (like is None or like.ndim != 4):
        raise MXNetError("BilinearResize2D: mode 'like' takes the size from an array `like` of 4 axes")
    if mode == "odd_scale" and None in (scale_height, scale_width):
        raise MXNetError("BilinearResize2D: mode 'odd_scale' needs scale_height and scale_width")
    wanted = like.shape[2:] if mode == "like" else counts("BilinearResize2D: height and width", (height, width))
    sizes = [
        _resized(n, size, scale, mode)
        for n, size, scale in zip(data.shape[2:], wanted, (scale_height, scale_width), strict=True)
    ]
    if min(sizes) < 1:
        raise MXNetError(f"BilinearResize2D: data of shape {data.shape} cannot become {sizes[0]} by {sizes[1]}")
    rows, columns = (_between(n, out, align_corners) for n, out in zip(data.shape[2:], sizes, strict=True))
    return _separable(data, rows=rows, columns=columns)


def _resized(n: int, size: int, scale: float | None, mode: str) -> int:
    if mode == "like" or (mode == "size" and scale is None):
        return size
    if mode in ("size", "odd_scale"):
        return int((n - 1) * scale) + 1 if mode == "odd_scale" and n % 2 else int(n * scale)
    parity, change = (0 if "even" in mode else 1), (-1 if "down" in mode else 1)
    return n if n % 2 == parity else n + change


def _between(n: int, out: int, align_corners: bool) -> np.ndarray:
    """(out, n): row i has the weights of the two elements around the place that i has in the old axis.

    Steps and places are rounded to float32 where MXNet rounds them. A single pixel is the first one of the old axis.
    """
    i = np.arange(out)
    step = np.float32(n - align_corners) / np.float32(out - align_corners) if out > 1 else np.float32(0)
    half = 0.0 if align_corners else 0.5
    place = np.maximum((i + half) * step.astype(np.float64) - half, 0).astype(np.float32)
    low = np.minimum(place.astype(int), n - 1)
    part = place - low.astype(np.float32)
    matrix = np.zeros((out, n))
    matrix[i, low] += 1 - part
    matrix[i, np.minimum(low + 1, n - 1)] += part
    return matrix


# ---------------------------------------------------------------- by whole numbers


def UpSampling(
    *data: NDArray,
    scale: int,
    sample_type: str,
    num_args: int = 1,
    num_filter: int = 0,
    multi_input_mode: str = "concat",
    workspace: int = 512,
) -> NDArray:
    """Images `scale` times as high and wide.

    'nearest' repeats pixels. Several arrays are all brought to the size that the first gets, then put together along
    the channels (`multi_input_mode` 'concat') or added up ('sum'). 'bilinear' takes one array and a weight of shape
    (num_filter, 1, k, k), with k = 2 scale - scale % 2, and is a `Deconvolution`. `workspace` does nothing here.
    """
    scale = count("UpSampling: scale", scale)
    if sample_type not in ("nearest", "bilinear") or multi_input_mode not in ("concat", "sum"):
        raise MXNetError(
            "UpSampling: sample_type is 'nearest' or 'bilinear', multi_input_mode 'concat' or 'sum', not "
            f"{sample_type!r}, {multi_input_mode!r}"
        )
    if not data or (sample_type == "bilinear" and len(data) != 2):
        raise MXNetError(f"UpSampling: '{sample_type}' got {len(data)} arrays; 'bilinear' takes an image and a weight")
    _check_image("UpSampling", data[0])
    if sample_type == "bilinear":
        kernel, pad = 2 * scale - scale % 2, math.ceil((scale - 1) / 2)
        windows = {"kernel": (kernel, kernel), "stride": (scale, scale), "pad": (pad, pad)}
        return Deconvolution(*data, num_filter=num_filter, num_group=num_filter, **windows)
    size = tuple(n * scale for n in data[0].shape[2:])
    images = [_repeated(x, size) for x in data]
    if len(images) == 1:
        return images[0]
    return concat(*images, dim=1) if multi_input_mode == "concat" else sum(images[1:], images[0])


def _repeated(x: NDArray, size: tuple[int, ...]) -> NDArray:
    _check_image("UpSampling", x)
    h, w = x.shape[2:]
    if size[0] % h or size[1] % w or size[0] // h != size[1] // w:
        raise MXNetError(f"UpSampling: an image of {h} by {w} cannot be brought to {size[0]} by {size[1]} by repeating")
    times = size[0] // h
    return unpool_sum(x, pool=Pool((times, times), (times, times), (0, 0), (h, w), 0), plane=size)


def _check_image(name: str, data: NDArray) -> None:
    if data.ndim != 4 or 0 in data.shape[2:]:
        raise MXNetError(
            f"{name}: data must be (batch, channels, height, width), with pixels, but its shape is {data.shape}"
        )
    floating(name, data)
