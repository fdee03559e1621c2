"""Pictures as arrays, (height, width, channels) of uint8: reading, resizing, cropping, turning.

Draws come from Python's `random` and from `numpy.random`, as in MXNet, in the same order.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, count, numeric_types
from runtime.core import interpolation, pictures
from runtime.image.draws import source
from runtime.ndarray import NDArray
from runtime.ndarray.image import rotate

Size = Sequence[int]
"""A width and a height."""

Crop = tuple[NDArray, tuple[int, int, int, int]]
"""A part of an image, and its column, row, width and height there."""

_BORDERS = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
"""Modes of np.pad, by OpenCV's numbers."""


def imread(filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool = True) -> NDArray:
    """The pixels of a file; see `imdecode`. MXNetError for a file that cannot be read."""
    path = Path(filename)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MXNetError(f"imread: {error}") from error
    return _decoded(content, flag, to_rgb, f"'{path}'")


def imdecode(
    buf: bytes | bytearray | memoryview | np.ndarray | NDArray,
    flag: int = 1,
    to_rgb: bool = True,
    out: NDArray | None = None,
) -> NDArray:
    """The pixels of a file's content, turned upright as its EXIF data say, as uint8.

    They are (height, width, 3), or for `flag` 0 grey, (height, width, 1). Without `to_rgb` colours are in the order
    blue, green, red. Pillow, the extra `image`, decodes. MXNetError for what is no picture, or a damaged one.
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray)):
        raise ArgumentError(f"imdecode takes bytes or an array of them, not {type(buf).__name__}")
    pixels = _decoded(bytes(memoryview(buf)), flag, to_rgb, "the buffer")
    return pixels if out is None else _written(pixels, out)


def _written(pixels: NDArray, out: NDArray) -> NDArray:
    if out.shape != pixels.shape:
        raise MXNetError(f"the image has shape {pixels.shape}, but out has shape {out.shape}")
    out[:] = pixels
    return out


def _decoded(content: bytes, flag: int, to_rgb: bool, name: str) -> NDArray:
    if flag not in (0, 1):
        raise ArgumentError(f"{name}: flag is 1 for colours or 0 for grey, not {flag!r}")
    pixels = pictures.decode(content, flag, name)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    return nd.array(pixels if to_rgb or not flag else pixels[..., ::-1], dtype=np.uint8)


# ---------------------------------------------------------------- size


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """The image with width `w` and height `h`.

    `interp`: 0 nearest pixel, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8x8 pixels; 9 chooses cubic to enlarge both
    sides, area to reduce both, and linear else; 10 draws one of 0 to 4. Values are those of OpenCV's `resize`, without
    antialiasing (of cubic, one in a hundred thousand may be off by 1).
    """
    _check("imresize", src)
    w, h = count("imresize: w", w), count("imresize: h", h)
    method = _get_interp_method(interp, (*src.shape[:2], h, w))
    resized = nd.array(interpolation.resize(src.asnumpy(), w, h, method), src.context, src.dtype)
    return resized if out is None else _written(resized, out)


def _check(name: str, src: NDArray) -> None:
    if not isinstance(src, NDArray) or src.ndim != 3:
        found = src.shape if isinstance(src, NDArray) else type(src).__name__
        raise ArgumentError(f"{name}: an image is an array (height, width, channels), not {found}")


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """The method, 0 to 4, that `interp` asks for; `sizes` are the old height and width, and the new ones."""
    if interp == 9:
        if not sizes:
            return interpolation.CUBIC
        rows, columns, height, width = sizes
        if height > rows and width > columns:
            return interpolation.CUBIC
        return interpolation.AREA if height < rows and width < columns else interpolation.LINEAR
    if interp == 10:
        return source.python.randint(0, 4)
    if interp not in range(5):
        raise ArgumentError(f"interp is 0 to 4, 9 or 10, not {interp!r}")
    return interp


def scale_down(src_size: Size, size: Size) -> tuple[int, int]:
    """`size` made smaller, in its proportions, until it fits into `src_size`; all are (width, height)."""
    w, h = size
    columns, rows = src_size
    if rows < h:
        w, h = w * rows / h, rows
    if columns < w:
        w, h = columns, h * columns / w
    return int(w), int(h)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image with a shorter side of length `size`, in its proportions."""
    _check("resize_short", src)
    rows, columns = src.shape[:2]
    size = count("resize_short: size", size)
    height, width = (size * rows // columns, size) if rows > columns else (size, size * columns // rows)
    return imresize(src, width, height, interp)


# ---------------------------------------------------------------- parts


def fixed_crop(src: NDArray, x0: int, y0: int, w: int, h: int, size: Size | None = None, interp: int = 2) -> NDArray:
    """The part of width `w` and height `h` at column `x0` and row `y0`, in the size (width, height) if one is given."""
    _check("fixed_crop", src)
    part = src[y0 : y0 + h, x0 : x0 + w]
    return part if size is None or (w, h) == tuple(size) else imresize(part, *size, interp)


def random_crop(src: NDArray, size: Size, interp: int = 2) -> Crop:
    """A part of the size (width, height), at a drawn place. A smaller image is cropped to the same proportions and
    enlarged."""
    _check("random_crop", src)
    rows, columns = src.shape[:2]
    return _drawn_part(src, scale_down((columns, rows), size), size, interp)


def _drawn_part(src: NDArray, part: Size, size: Size, interp: int) -> Crop:
    rows, columns = src.shape[:2]
    w, h = part
    x0, y0 = source.python.randint(0, columns - w), source.python.randint(0, rows - h)
    return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)


def center_crop(src: NDArray, size: Size, interp: int = 2) -> Crop:
    """The middle part of the size (width, height). A smaller image is cropped to the same proportions and enlarged."""
    _check("center_crop", src)
    rows, columns = src.shape[:2]
    w, h = scale_down((columns, rows), size)
    x0, y0 = (columns - w) // 2, (rows - h) // 2
    return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)


def random_size_crop(
    src: NDArray,
    size: Size,
    area: float | tuple[float, float],
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: Any,
) -> Crop:
    """A drawn part in the size (width, height): its share of the image's area is within `area` (a number: from there
    to 1), width over height within `ratio`. After ten that do not fit into the image, `center_crop`."""
    _check("random_size_crop", src)
    area = _min_area("random_size_crop", area, kwargs)
    low, high = (area, 1.0) if isinstance(area, numeric_types) else area
    rows, columns = src.shape[:2]
    for _ in range(10):
        wanted = source.python.uniform(low, high) * rows * columns
        shape = np.exp(source.python.uniform(*np.log(ratio)))
        w, h = round(np.sqrt(wanted * shape)), round(np.sqrt(wanted / shape))
        if 0 < w <= columns and 0 < h <= rows:
            return _drawn_part(src, (w, h), size, interp)
    return center_crop(src, size, interp)


def _min_area(name: str, area: Any, kwargs: dict[str, Any]) -> Any:
    """`area`, or what its old name `min_area` has; an error for any other argument."""
    if "min_area" in kwargs:
        warnings.warn(f"{name}: min_area is called area", DeprecationWarning, stacklevel=3)
        area = kwargs.pop("min_area")
    if kwargs:
        raise ArgumentError(f"{name} has no argument '{next(iter(kwargs))}'")
    return area


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: float | Sequence[float] = (),
    out: NDArray | None = None,
) -> NDArray:
    """The image with so many pixels around it.

    `type`, as in OpenCV: 0 the colour `values` (or the number `value`), 1 the border's pixel, 2 the image reflected, 3
    the image over again, 4 reflected without its border.
    """
    _check("copyMakeBorder", src)
    widths = [tuple(count("copyMakeBorder", n, 0) for n in pair) for pair in ((top, bot), (left, right))]
    pixels = src.asnumpy()
    kind = type & ~16  # 16 says that the image is no part of another
    if kind in _BORDERS:
        padded = np.pad(pixels, [*widths, (0, 0)], _BORDERS[kind])
    elif kind == 0:
        channels = pixels.shape[2]
        colour = np.broadcast_to(np.atleast_1d(values if np.size(values) else value), channels)
        (top, bot), (left, right) = widths
        padded = np.empty((pixels.shape[0] + top + bot, pixels.shape[1] + left + right, channels), pixels.dtype)
        padded[:] = colour
        padded[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    else:
        raise ArgumentError(f"copyMakeBorder: type is from 0 to 4, not {type}")
    bordered = nd.array(padded, src.context, src.dtype)
    return bordered if out is None else _written(bordered, out)


# ---------------------------------------------------------------- colours and angles


def color_normalize(src: NDArray, mean: NDArray | None, std: NDArray | None = None) -> NDArray:
    """`(src - mean)/std` in float32, each with a number for each channel, or None."""
    src = src.astype(np.float32, copy=False)
    src = src if mean is None else src - mean
    return src if std is None else src / std


def imrotate(src: NDArray, rotation_degrees: float | NDArray, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """(channels, height, width) of float32 turned about its centre, or a batch of such, by an angle for all or each.

    Zeros are where nothing was. With `zoom_in` no such place is seen, with `zoom_out` all of the image is.
    """
    if src.dtype is not np.float32:
        raise TypeError(f"imrotate: images must be of float32, not {np.dtype(src.dtype)}")
    single = isinstance(rotation_degrees, numeric_types)
    if src.ndim == 3:
        if not single:
            raise TypeError("imrotate: one image is turned by one angle, a number")
        return rotate(src, rotation_degrees, zoom_in, zoom_out)
    if src.ndim != 4:
        raise ArgumentError(f"imrotate: images are (channels, height, width) or a batch of these, not {src.shape}")
    angles = [rotation_degrees] * len(src) if single else rotation_degrees.asnumpy().tolist()
    if len(angles) != len(src):
        raise ArgumentError(f"imrotate: {len(angles)} angles for {len(src)} images")
    return nd.stack(*(rotate(x, angle, zoom_in, zoom_out) for x, angle in zip(src, angles, strict=True)))


def random_rotate(
    src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """`imrotate` by an angle, for each image of a batch, that is drawn between the two, in degrees."""
    if src.ndim == 3:
        return imrotate(src, float(source.numpy.uniform(*angle_limits)), zoom_in, zoom_out)
    return imrotate(src, nd.array(source.numpy.uniform(*angle_limits, size=len(src))), zoom_in, zoom_out)
