"""`nd.image`: functions of images, (height, width, channels), and of batches of them, with one more axis in front.

Results have the type of the images, but for `to_tensor`. Colours of integer types are computed in float32, clipped to
the type and truncated, as MXNet's are. Draws come from `mx.random`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence

import numpy as np

from runtime.base import MXNetError, count
from runtime.core import interpolation
from runtime.core.backend import device_scope, to_device_of
from runtime.core.generator import generator
from runtime.ndarray.creation import array
from runtime.ndarray.elementwise import cast
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public
from runtime.ndarray.shape.reshape import transpose

LUMA_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)
"""Shares of red, green and blue in brightness (ITU-R BT.601)."""

LIGHTING_COMPONENTS = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)
"""Principal components of the colours of ImageNet, times their strengths (Krizhevsky et al., 2012)."""


def _check(name: str, data: NDArray, channels: int | None = None) -> None:
    if data.ndim not in (3, 4):
        raise MXNetError(
            f"image.{name}: an image is (height, width, channels), a batch has one axis more: {data.shape}"
        )
    if channels is not None and data.shape[-1] != channels:
        raise MXNetError(f"image.{name}: images must have {channels} channels, but the shape is {data.shape}")


def _changed(data: NDArray, function: Callable[[np.ndarray], np.ndarray]) -> NDArray:
    """`function` of the values as float32, in the type of `data`."""
    dtype = data._data.dtype
    with device_scope(data.context):
        x = function(data._data.astype(np.float32))
        if dtype.kind in "iu":
            x = np.clip(x, np.iinfo(dtype).min, np.iinfo(dtype).max)
        return NDArray(x.astype(dtype, order="C"), data.context)


# ---------------------------------------------------------------- for networks


@public
def to_tensor(data: NDArray) -> NDArray:
    """(height, width, channels) from 0 to 255 as (channels, height, width) of float32 from 0 to 1."""
    _check("to_tensor", data)
    axes = (2, 0, 1) if data.ndim == 3 else (0, 3, 1, 2)
    return transpose(cast(data, np.float32) / 255, axes)


@public
def normalize(data: NDArray, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> NDArray:
    """`(x - mean)/std` of (channels, height, width), with one number for all channels or one for each.

    Integers are computed with as float32, and the result cut off to their type.
    """
    if data.ndim not in (3, 4) or data.shape[-3] not in (1, 3):
        raise MXNetError(
            f"image.normalize: an image is (channels, height, width) here, with 1 or 3 channels, not {data.shape}; "
            "to_tensor makes it so"
        )
    x = data.astype("float32") if data._data.dtype.kind in "iu" else data
    per_channel = []
    for what, value in (("mean", mean), ("std", std)):
        values = np.asarray(value, np.float64).reshape(-1, 1, 1)
        if len(values) not in (1, data.shape[-3]):
            raise MXNetError(f"image.normalize: {len(values)} numbers as {what} for {data.shape[-3]} channels")
        per_channel.append(array(values, x.context, x.dtype))
    return ((x - per_channel[0]) / per_channel[1]).astype(data.dtype, copy=False)


# ---------------------------------------------------------------- place and size


@public
def resize(data: NDArray, size: int | Sequence[int], keep_ratio: bool = False, interp: int = 1) -> NDArray:
    """Images of another size: `size` is (width, height), or a number for both.

    With `keep_ratio`, a number is the length of the shorter side. `interp`: 0 nearest pixel, 1 linear, 2 cubic, 3 area,
    4 Lanczos over 8x8 pixels, as OpenCV computes them, on the CPU.
    """
    _check("resize", data)
    height, width = data.shape[-3:-1]
    sizes = size if isinstance(size, (list, tuple)) else (size,)
    if len(sizes) not in (1, 2) or not all(isinstance(n, numbers.Integral) and n > 0 for n in sizes):
        raise MXNetError(f"image.resize: size is one or two positive integers (width, height), not {size!r}")
    new_width, new_height = sizes if len(sizes) == 2 else sizes * 2
    if keep_ratio and len(sizes) == 1:
        new_width, new_height = max(width * sizes[0] // height, sizes[0]), max(height * sizes[0] // width, sizes[0])
    images = data.asnumpy().reshape(-1, *data.shape[-3:])
    resized = np.stack([interpolation.resize(x, int(new_width), int(new_height), interp) for x in images])
    return array(resized.reshape(*data.shape[:-3], *resized.shape[1:]), data.context, data.dtype)


@public
def crop(data: NDArray, x: int, y: int, width: int, height: int) -> NDArray:
    """The part of `width` and `height` whose upper left corner is at column `x` and row `y`."""
    _check("crop", data)
    rows, columns = data.shape[-3:-1]
    x, y, width, height = (
        count(f"image.crop: {name}", n, None) for name, n in (("x", x), ("y", y), ("width", width), ("height", height))
    )
    if x < 0 or y < 0 or width < 1 or height < 1 or x + width > columns or y + height > rows:
        raise MXNetError(
            f"image.crop: x={x}, y={y}, width={width}, height={height} is no part of images of {columns}x{rows}"
        )
    return data[..., y : y + height, x : x + width, :]


@public
def flip_left_right(data: NDArray) -> NDArray:
    """The mirror image."""
    _check("flip_left_right", data)
    return _flipped(data, -2)


@public
def flip_top_bottom(data: NDArray) -> NDArray:
    """The image upside down."""
    _check("flip_top_bottom", data)
    return _flipped(data, -3)


def _flipped(data: NDArray, axis: int) -> NDArray:
    with device_scope(data.context):
        return NDArray(np.flip(data._data, axis).copy(), data.context)


@public
def random_flip_left_right(data: NDArray, p: float = 0.5) -> NDArray:
    """The mirror image with probability `p`, else the image itself."""
    return flip_left_right(data) if generator.random() < p else data


@public
def random_flip_top_bottom(data: NDArray, p: float = 0.5) -> NDArray:
    """The image upside down with probability `p`, else the image itself."""
    return flip_top_bottom(data) if generator.random() < p else data


def rotate(data: NDArray, degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """(channels, height, width) of float32 turned about its centre, with zeros where nothing was.

    With `zoom_in` it is made so large that no such place is seen, with `zoom_out` so small that all of it is.
    """
    if zoom_in and zoom_out:
        raise ValueError("rotate: zoom_in and zoom_out exclude each other")
    height, width = data.shape[-2:]
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    # The box around the turned image, and by how much it is larger than the image.
    box = np.array([width * abs(c) + height * abs(s), width * abs(s) + height * abs(c)])
    scales = box / (width, height)
    scale = scales.max() if zoom_out else (1 / scales).min() if zoom_in else 1.0
    y, x = np.meshgrid(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij")
    columns, rows = scale * (x * c - y * s) + (width - 1) / 2, scale * (x * s + y * c) + (height - 1) / 2
    return _changed(data, lambda image: _sampled(image, rows, columns))


def _sampled(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The values at places between pixels, (channels, *places); outside of the image are zeros."""
    padded = np.pad(image, [(0, 0)] * (image.ndim - 2) + [(1, 1), (1, 1)])
    found = np.zeros_like(image, np.float32, shape=(*image.shape[:-2], *rows.shape))
    top, left = np.floor(rows), np.floor(columns)
    for i in (0, 1):
        for j in (0, 1):
            share = (1 - abs(rows - top - i)) * (1 - abs(columns - left - j))
            r = np.clip(top + i + 1, 0, image.shape[-2] + 1).astype(int)
            k = np.clip(left + j + 1, 0, image.shape[-1] + 1).astype(int)
            found += padded[..., to_device_of(image, r), to_device_of(image, k)] * to_device_of(
                image, share.astype(np.float32)
            )
    return found


# ---------------------------------------------------------------- colours


def _factor(low: float, high: float) -> np.float32:
    return np.float32(generator.uniform(low, high))


def _brightness(x: np.ndarray, factor: np.float32) -> np.ndarray:
    return x * factor


def _contrast(x: np.ndarray, factor: np.float32) -> np.ndarray:
    """Towards the mean brightness of the image."""
    gray = x @ to_device_of(x, LUMA_WEIGHTS) if x.shape[-1] == 3 else x[..., 0]
    return x * factor + (1 - factor) * gray.mean(axis=(-2, -1))[..., None, None, None]


def _saturation(x: np.ndarray, factor: np.float32) -> np.ndarray:
    """Towards the brightness of each pixel."""
    return x if x.shape[-1] == 1 else x * factor + (1 - factor) * (x @ to_device_of(x, LUMA_WEIGHTS))[..., None]


def _hue(x: np.ndarray, factor: np.float32) -> np.ndarray:
    """The hue turned by `factor` of a circle, in the space of hue, lightness and saturation."""
    if x.shape[-1] == 1:
        return x
    r, g, b = np.moveaxis(x, -1, 0)
    # A tenth of the time of a maximum along an axis of 3.
    high, low = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    spread = np.where(high > low, high - low, 1)
    others = np.where(high == g, 2 + (b - r) / spread, 4 + (r - g) / spread)
    sixth = np.where(high == r, (g - b) / spread, others)
    sixth = (sixth + 6 * factor) % 6
    # Each colour is at most `high` and at least `low`; its place between follows from how far the hue is from it.
    places = np.stack([np.abs(sixth - 3) - 1, 2 - np.abs(sixth - 2), 2 - np.abs(sixth - 4)], axis=-1)
    return low[..., None] + np.clip(places, 0, 1) * (high - low)[..., None]


@public
def random_brightness(data: NDArray, min_factor: float, max_factor: float) -> NDArray:
    """Colours times a factor drawn between the two."""
    _check("random_brightness", data)
    return _changed(data, lambda x: _brightness(x, _factor(min_factor, max_factor)))


@public
def random_contrast(data: NDArray, min_factor: float, max_factor: float) -> NDArray:
    """Colours' distances from the mean brightness times a factor drawn between the two."""
    _check("random_contrast", data)
    return _changed(data, lambda x: _contrast(x, _factor(min_factor, max_factor)))


@public
def random_saturation(data: NDArray, min_factor: float, max_factor: float) -> NDArray:
    """Colours' distances from their own brightness times a factor drawn between the two."""
    _check("random_saturation", data)
    return _changed(data, lambda x: _saturation(x, _factor(min_factor, max_factor)))


@public
def random_hue(data: NDArray, min_factor: float, max_factor: float) -> NDArray:
    """Hues turned by a part of the circle drawn between the two; 0 and 1 change nothing."""
    _check("random_hue", data)
    return _changed(data, lambda x: _hue(x, _factor(min_factor, max_factor)))


@public
def random_color_jitter(
    data: NDArray, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0, hue: float = 0.0
) -> NDArray:
    """All four of the above, each by a factor at most so far from 1, in an order that is drawn."""
    _check("random_color_jitter", data)
    amounts = {_brightness: brightness, _contrast: contrast, _saturation: saturation, _hue: hue}
    changes = [change for change, amount in amounts.items() if amount > 0]

    def jitter(x: np.ndarray) -> np.ndarray:
        for i in generator.permutation(len(changes)):
            x = changes[i](x, _factor(max(0.0, 1 - amounts[changes[i]]), 1 + amounts[changes[i]]))
        return x

    return _changed(data, jitter)


@public
def adjust_lighting(data: NDArray, alpha: Sequence[float]) -> NDArray:
    """Colours plus `alpha` times the principal components of ImageNet's, (height, width, 3)."""
    _check("adjust_lighting", data, 3)
    return _changed(data, lambda x: x + to_device_of(x, LIGHTING_COMPONENTS @ np.asarray(alpha, np.float32)))


@public
def random_lighting(data: NDArray, alpha_std: float = 0.05) -> NDArray:
    """`adjust_lighting` by normally distributed numbers of this standard deviation."""
    return adjust_lighting(data, generator.normal(0, alpha_std, 3))
