"""Images of another size, computed as OpenCV's `resize` does: without antialiasing, and rounded as it rounds.

The value of a pixel is a sum over a few pixels of each axis, its taps, times coefficients. With uint8 the coefficients
of all but the area method are whole numbers, multiples of 1/2048, and the sums exact. (OpenCV, modules/imgproc,
resize.cpp: INTER_NEAREST to INTER_LANCZOS4.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from runtime.base import ArgumentError
from runtime.native import resize as native

NEAREST, LINEAR, CUBIC, AREA, LANCZOS4 = range(5)
"""Methods, by their numbers in OpenCV."""

_COEFFICIENT_BITS = 11
_SINES = np.array([0, 1, 0, -1, 0, 1, 0, -1]) * np.sqrt(0.5)
_EIGHTHS = np.array([(1, 0), (-1, -1), (0, 1), (1, -1), (-1, 0), (1, 1), (0, -1), (-1, 1)]) * np.where(
    np.arange(8) % 2, np.sqrt(0.5), 1.0
).reshape(-1, 1)
"""What sine and cosine at the first of eight taps are multiplied by and added for the sine at each."""


_ONE = np.array([1, 0], np.float32)


class Taps(NamedTuple):
    """For each of n places of an axis: (n, taps) positions, and the coefficients of the pixels there, in float32."""

    places: np.ndarray
    coefficients: np.ndarray


def resize(image: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """(height, width, channels) in the new size, of the same type; `interp` is the method, 0 to 4."""
    rows, columns = image.shape[:2]
    if interp not in range(5):
        raise ArgumentError(f"interp is from 0 (nearest) to 4 (Lanczos), not {interp}")
    if 0 in image.shape:
        raise ArgumentError(f"an image of shape {image.shape} has no pixels")
    if (rows, columns) == (height, width):
        return image.copy()
    if interp == NEAREST:
        return image[_nearest(rows, height)][:, _nearest(columns, width)]
    if interp == LINEAR and (rows, columns) == (2 * height, 2 * width):
        interp = AREA
    if interp == AREA and rows >= height and columns >= width:
        return _of_area(image, width, height)
    taps = _METHODS[interp]
    across = taps(columns, width)
    if interp in (LINEAR, AREA):
        # At the border of the columns, not of the rows, OpenCV takes one pixel, which can round differently.
        across = Taps(across.places, np.where(across.places[:, :1] == across.places[:, 1:], _ONE, across.coefficients))
    return _sampled(image, taps(rows, height), across, interp)


def _nearest(old: int, new: int) -> np.ndarray:
    return np.minimum(np.floor(np.arange(new) * (1 / (new / old))).astype(int), old - 1)


# ---------------------------------------------------------------- taps


def _centres(old: int, new: int) -> tuple[np.ndarray, np.ndarray]:
    """Where new pixels lie among the old ones: the one before, and how far behind it."""
    at = ((np.arange(new) + 0.5) * (1 / (new / old)) - 0.5).astype(np.float32)
    before = np.floor(at)
    return before.astype(int), at - before


def _linear(old: int, new: int) -> Taps:
    return _between(*_centres(old, new), old)


def _between(before: np.ndarray, share: np.ndarray, old: int) -> Taps:
    """Two taps each, the second with the coefficient `share`."""
    places = np.clip(np.stack([before, before + 1], 1), 0, old - 1)
    share = share.astype(np.float32)
    return Taps(places, np.stack([1 - share, share], 1))


def _area_enlarged(old: int, new: int) -> Taps:
    """A pixel lies in one old pixel, or across the border of two, whose shares are those of its area."""
    scale = 1 / (new / old)
    before = np.floor(np.arange(new) * scale)
    share = (np.arange(1, new + 1) - (before + 1) * (new / old)).astype(np.float32)
    return _between(before.astype(int), np.where(share <= 0, 0, share - np.floor(share)), old)


def _cubic(old: int, new: int) -> Taps:
    before, x = _centres(old, new)
    a = np.float32(-0.75)
    one = np.float32(1)
    first = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
    second = ((a + 2) * x - (a + 3)) * x * x + one
    third = ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + one
    return _around(before, np.stack([first, second, third, one - first - second - third], 1), old)


def _lanczos(old: int, new: int) -> Taps:
    before, x = _centres(old, new)
    angle = -(x.astype(np.float64) + 3) * np.pi / 4
    waves = np.stack([np.sin(angle), np.cos(angle)], 1) @ _EIGHTHS.T
    distance = -(x.astype(np.float64)[:, None] + 3 - np.arange(8)) * np.pi / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients = (waves / distance**2).astype(np.float32)
        coefficients *= np.float32(1) / coefficients.sum(1, dtype=np.float32, keepdims=True)
    coefficients[x < np.finfo(np.float32).eps] = np.eye(8, dtype=np.float32)[3]
    return _around(before, coefficients, old)


def _around(before: np.ndarray, coefficients: np.ndarray, old: int) -> Taps:
    """Taps on both sides; beyond the border lie the pixels at it."""
    taps = coefficients.shape[1]
    places = before[:, None] + np.arange(taps) - (taps // 2 - 1)
    return Taps(np.clip(places, 0, old - 1), coefficients)


_METHODS: dict[int, Callable[[int, int], Taps]] = {
    LINEAR: _linear,
    CUBIC: _cubic,
    AREA: _area_enlarged,
    LANCZOS4: _lanczos,
}


# ---------------------------------------------------------------- sums


def _sampled(image: np.ndarray, rows: Taps, columns: Taps, interp: int) -> np.ndarray:
    if image.dtype != np.uint8:
        return _rounded(_mixed(image, rows, columns), image.dtype)
    rows, columns = (Taps(t.places, np.rint(t.coefficients * (1 << _COEFFICIENT_BITS))) for t in (rows, columns))
    if rows.places.shape[1] == 2:
        return _mixed(image, rows, columns, cut=True).astype(np.uint8)
    rows, columns = (Taps(t.places, t.coefficients.astype(np.int32)) for t in (rows, columns))
    total = _sum(_sum(image.astype(np.int32), columns, 1), rows, 0)
    bits = 2 * _COEFFICIENT_BITS
    half = (1 << (bits - 1)) - (
        1 - (total >> bits & 1) if interp == CUBIC else 0
    )  # of cubic, halves go to even numbers
    return np.clip((total + half) >> bits, 0, 255).astype(np.uint8)


def _mixed(image: np.ndarray, rows: Taps, columns: Taps, cut: bool = False) -> np.ndarray:
    """The sums of the taps along both axes, in float32; with `cut`, as OpenCV has those of two taps of bytes."""
    height, width, channels = image.shape
    size, n = len(rows.places), len(columns.places) * channels
    wide, y = np.empty((height, n), np.float32), np.empty((size, len(columns.places), channels), np.float32)
    places = np.ascontiguousarray((columns.places.T[:, :, None] * channels + np.arange(channels)).reshape(-1, n))
    coefficients = np.ascontiguousarray(np.repeat(columns.coefficients.T, channels, axis=1))
    x, taps = image.astype(np.float32), len(places)
    native.across(height, 2 * taps * wide.size, x, coefficients, wide, places, taps, width * channels, n)
    down, taps = (native.down_cut, ()) if cut else (native.down, (rows.places.shape[1],))
    numbers, places = np.ascontiguousarray(rows.coefficients.T), np.ascontiguousarray(rows.places.T)
    down(size, 4 * y.size, wide, numbers, y, places, *taps, size, n)
    return y


def _sum(image: np.ndarray, taps: Taps, axis: int) -> np.ndarray:
    """The sum of the taps along an axis, in the type of the image."""
    shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
    total = image.take(taps.places[:, 0], axis) * taps.coefficients[:, 0].reshape(shape)
    for i in range(1, taps.places.shape[1]):
        total += image.take(taps.places[:, i], axis) * taps.coefficients[:, i].reshape(shape)
    return total


def _rounded(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        x = np.clip(np.rint(x), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return x.astype(dtype)


# ---------------------------------------------------------------- areas


def _of_area(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Each pixel is the mean of the old ones that it covers, by the area that it covers of each."""
    rows, columns = image.shape[:2]
    if rows % height or columns % width:
        return _rounded(_mixed(image, _covered(rows, height), _covered(columns, width)), image.dtype)
    down, across = rows // height, columns // width
    blocks = image.reshape(height, down, width, across, image.shape[2])
    exact = image.dtype.kind in "iu"
    total = blocks.sum((1, 3), dtype=np.int64 if exact else np.float32)
    if exact and down == across == 2:
        return ((total + 2) >> 2).astype(image.dtype)
    return _rounded(total.astype(np.float32) * np.float32(1 / (down * across)), image.dtype)


def _covered(old: int, new: int) -> Taps:
    """The old pixels that each new one covers, with their shares of it; less than a thousandth of one is none."""
    scale = 1 / (new / old)
    start = np.arange(new) * scale
    size = np.minimum(scale, old - start)
    last = np.minimum(np.floor(start + scale).astype(int), old - 1)
    first = np.minimum(np.ceil(start).astype(int), last)
    head, tail = first - start, start + scale - last
    taps = int((last - first).max()) + 2
    places = (first - 1)[:, None] + np.arange(taps)
    shares = np.where((places >= first[:, None]) & (places < last[:, None]), (1 / size)[:, None], 0.0)
    shares[:, 0] = np.where(head > 1e-3, head / size, 0)
    at_end = (np.arange(new), last - first + 1)
    shares[at_end] = np.where(tail > 1e-3, np.minimum(np.minimum(tail, 1), size) / size, 0)
    return Taps(np.clip(places, 0, old - 1), shares.astype(np.float32))
