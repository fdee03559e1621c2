"""What `mx.io.ImageRecordIter` does to images beside `CreateAugmenter`: affine maps, borders, hue and lightness."""

from __future__ import annotations

import math

import numpy as np

from runtime import ndarray as nd
from runtime.image.augmenters import Augmenter
from runtime.image.draws import source
from runtime.image.image import copyMakeBorder
from runtime.ndarray import NDArray


class WarpAug(Augmenter):
    """The image sheared, turned and scaled about its middle, by drawn amounts.

    Parameters
    ----------
    angle: turns are drawn from -angle to angle, in whole degrees.
    rotate: the turn, in place of a drawn one, if it is positive.
    shear: the most that lines are shifted by, per pixel.
    scales: the least and the greatest factor of width and height.
    aspects: the least and the greatest factor of width over height.
    sizes: the least and the greatest width and height of what results.
    fill: the value of pixels from outside.
    """

    def __init__(
        self,
        angle: int = 0,
        rotate: int = -1,
        shear: float = 0.0,
        scales: tuple[float, float] = (1.0, 1.0),
        aspects: tuple[float, float] = (1.0, 1.0),
        sizes: tuple[float, float] = (0.0, 1e10),
        fill: float = 255,
    ) -> None:
        super().__init__(
            angle=angle, rotate=rotate, shear=shear, scales=scales, aspects=aspects, sizes=sizes, fill=fill
        )
        self.angle, self.rotate, self.shear, self.scales = angle, rotate, shear, scales
        self.aspects, self.sizes, self.fill = aspects, sizes, fill

    def __call__(self, src: NDArray) -> NDArray:
        shear = source.python.uniform(-self.shear, self.shear)
        angle = math.radians(self.rotate if self.rotate > 0 else source.python.randint(-self.angle, self.angle))
        scale, ratio = source.python.uniform(*self.scales), source.python.uniform(*self.aspects)
        cos, sin, high = math.cos(angle), math.sin(angle), 2 * scale / (1 + ratio)
        wide = ratio * high
        matrix = np.array(
            [[high * cos - shear * sin * wide, high * sin + shear * cos * wide], [-sin * wide, cos * wide]]
        )
        rows, columns = src.shape[:2]
        least, greatest = self.sizes
        size = [max(least, min(greatest, scale * length)) for length in (columns, rows)]
        shift = (np.array(size) - matrix @ (columns, rows)) / 2
        warped = _warped(src.asnumpy(), matrix, shift, int(size[0]), int(size[1]), self.fill)
        return nd.array(warped, src.context, src.dtype)


def _warped(
    image: np.ndarray, matrix: np.ndarray, shift: np.ndarray, width: int, height: int, fill: float
) -> np.ndarray:
    """The image whose pixel matrix @ (x, y) + shift is the pixel (x, y) of `image`, between pixels interpolated."""
    rows, columns = image.shape[:2]
    bordered = np.full((rows + 2, columns + 2, image.shape[2]), fill, np.float32)
    bordered[1:-1, 1:-1] = image
    places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1) - shift
    places = np.clip(places @ np.linalg.inv(matrix).T + 1, 0, (columns + 1, rows + 1))
    start = np.minimum(places.astype(np.int64), (columns, rows))
    x, y = start[..., 0], start[..., 1]
    part = (places - start).astype(np.float32)
    right, down = part[..., :1], part[..., 1:]
    upper = bordered[y, x] * (1 - right) + bordered[y, x + 1] * right
    lower = bordered[y + 1, x] * (1 - right) + bordered[y + 1, x + 1] * right
    warped = upper * (1 - down) + lower * down
    return np.rint(warped) if image.dtype.kind in "iu" else warped


class BorderAug(Augmenter):
    """The image with `pad` more pixels of the value `fill` at each side."""

    def __init__(self, pad: int, fill: float = 255) -> None:
        super().__init__(pad=pad, fill=fill)
        self.pad, self.fill = pad, fill

    def __call__(self, src: NDArray) -> NDArray:
        return copyMakeBorder(src, *[self.pad] * 4, value=self.fill)


class HLSJitterAug(Augmenter):
    """Hue, of 180 steps, lightness and saturation, of 255, to which drawn whole numbers up to these are added."""

    def __init__(self, hue: int = 0, lightness: int = 0, saturation: int = 0) -> None:
        super().__init__(hue=hue, lightness=lightness, saturation=saturation)
        self.limits = (hue, lightness, saturation)

    def __call__(self, src: NDArray) -> NDArray:
        change = [int(source.python.uniform(-limit, limit)) for limit in self.limits]
        hls = _hls(src.asnumpy().astype(np.float32))
        most = np.array([180, 255, 255], np.float32)
        return nd.array(np.rint(_rgb(np.clip(hls + change, 0, most))), src.context, src.dtype)


def _hls(rgb: np.ndarray) -> np.ndarray:
    """Hue from 0 to 180, lightness and saturation from 0 to 255 of colours from 0 to 255."""
    r, g, b = np.moveaxis(rgb, -1, 0)
    high, low = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)  # rgb.max(-1) takes ten times as long
    spread, total = high - low, high + low
    safe = np.where(spread > 0, spread, 1)
    sixth = np.select([high == r, high == g], [(g - b) / safe, 2 + (b - r) / safe], 4 + (r - g) / safe)
    bound = np.where(total < 255, total, 510 - total)
    saturation = np.where(spread > 0, 255 * spread / np.where(bound > 0, bound, 1), 0)
    return np.stack([np.where(spread > 0, sixth % 6 * 30, 0), total / 2, saturation], -1)


def _rgb(hls: np.ndarray) -> np.ndarray:
    """What `_hls` is made from."""
    hue, lightness, saturation = np.moveaxis(hls, -1, 0)
    reach = saturation / 255 * np.minimum(lightness, 255 - lightness)
    place = (np.array([0, 8, 4], np.float32) + hue[..., None] / 15) % 12
    return lightness[..., None] - reach[..., None] * np.clip(np.minimum(place - 3, 9 - place), -1, 1)
