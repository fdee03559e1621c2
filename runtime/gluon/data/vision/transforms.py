"""Transforms of images, as blocks for `dataset.transform_first(...)`.

Images are (height, width, channels), as data sets give them, until `ToTensor` has made them (channels, height, width).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from runtime.core.generator import generator
from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.nn import HybridSequential, Sequential
from runtime.gluon.nn.conv_layers import per_axis
from runtime.ndarray import NDArray, image

Size = int | Sequence[int]


class Compose(Sequential):
    """Transformations one after the other. Hybrid blocks that follow each other are one `HybridSequential`, which
    counts where names of networks made later do."""

    def __init__(self, transforms: Sequence[Callable[[NDArray], NDArray]]) -> None:
        super().__init__()
        for hybrid, group in groupby(transforms, lambda transform: isinstance(transform, HybridBlock)):
            blocks = [transform if isinstance(transform, Block) else _Function(transform) for transform in group]
            if hybrid and len(blocks) > 1:
                chain = HybridSequential()
                chain.add(*blocks)
                blocks = [chain]
            self.add(*blocks)


class _Function(Block):
    def __init__(self, function: Callable[[NDArray], NDArray]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: NDArray) -> NDArray:
        return self._function(x)


class Cast(HybridBlock):
    """Another element type."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.cast(x, self._dtype)


class ToTensor(HybridBlock):
    """(height, width, channels) from 0 to 255 as (channels, height, width) of float32 from 0 to 1."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """`(x - mean)/std` of (channels, height, width), with one number for all channels or one for each."""

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.normalize(x, self._mean, self._std)


# ---------------------------------------------------------------- geometry


class Resize(HybridBlock):
    """Another size, (width, height) or one number for both; see `nd.image.resize`."""

    def __init__(self, size: Size, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._size = size
        self._keep_ratio = keep_ratio
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.resize(x, self._size, self._keep_ratio, self._interpolation)


class CropResize(HybridBlock):
    """The part of `width` and `height` at column `x` and row `y`, in another size if one is given."""

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Size | None = None, interpolation: int = 1
    ) -> None:
        super().__init__()
        self._part = (x, y, width, height)
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        part = F.image.crop(x, *self._part)
        return part if self._size is None else F.image.resize(part, self._size, False, self._interpolation)


class CenterCrop(Block):
    """The centre of an image, cropped to `size`. A smaller image is cropped to the same proportions and enlarged."""

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__()
        self._size = per_axis(type(self).__name__, "size", size, 2)
        self._interpolation = interpolation

    def forward(self, x: NDArray) -> NDArray:
        width, height = _scaled_down((x.shape[1], x.shape[0]), self._size)
        left, top = (x.shape[1] - width) // 2, (x.shape[0] - height) // 2
        return _part(x, left, top, width, height, self._size, self._interpolation)


class RandomResizedCrop(Block):
    """A part of the image, of `scale` of its area and `ratio` of width to height, both drawn, in the size `size`."""

    def __init__(
        self,
        size: Size,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size = per_axis(type(self).__name__, "size", size, 2)
        self._scale = (scale, 1.0) if isinstance(scale, (int, float)) else scale
        self._ratio = ratio
        self._interpolation = interpolation

    def forward(self, x: NDArray) -> NDArray:
        rows, columns = x.shape[:2]
        for _ in range(10):
            area = generator.uniform(*self._scale) * rows * columns
            ratio = np.exp(generator.uniform(*np.log(self._ratio)))
            width, height = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
            if 0 < width <= columns and 0 < height <= rows:
                left = int(generator.integers(columns - width + 1))
                top = int(generator.integers(rows - height + 1))
                return _part(x, left, top, width, height, self._size, self._interpolation)
        return CenterCrop(self._size, self._interpolation)(x)


def _scaled_down(image_size: tuple[int, int], size: Sequence[int]) -> tuple[int, int]:
    """`size` made smaller, in its proportions, until it fits into the image."""
    shrink = min(1, image_size[0] / size[0], image_size[1] / size[1])
    return max(int(size[0] * shrink), 1), max(int(size[1] * shrink), 1)


def _part(x: NDArray, left: int, top: int, width: int, height: int, size: tuple[int, ...], interp: int) -> NDArray:
    part = image.crop(x, left, top, width, height)
    return part if (width, height) == size else image.resize(part, size, False, interp)


class RandomFlipLeftRight(HybridBlock):
    """The mirror image, with probability 1/2."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """The image upside down, with probability 1/2."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.random_flip_top_bottom(x)


class Rotate(Block):
    """(channels, height, width) of float32 turned about its centre; see `nd.image.rotate`."""

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._arguments = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: NDArray) -> NDArray:
        return _rotated(x, *self._arguments)


class RandomRotation(Block):
    """With probability `rotate_with_proba`, turned by an angle drawn between the two of `angle_limits`, in degrees."""

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        if not angle_limits[0] < angle_limits[1]:
            raise ValueError(f"angle_limits must be a smaller and a larger angle, not {angle_limits}")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError(f"rotate_with_proba must be from 0 to 1, not {rotate_with_proba}")
        self._limits = angle_limits
        self._zoom = (zoom_in, zoom_out)
        self._p = rotate_with_proba

    def forward(self, x: NDArray) -> NDArray:
        if generator.random() >= self._p:
            return x
        return _rotated(x, float(generator.uniform(*self._limits)), *self._zoom)


def _rotated(x: NDArray, degrees: float, zoom_in: bool, zoom_out: bool) -> NDArray:
    if x.dtype is not np.float32:
        raise TypeError(f"images to be turned must be of float32, not {np.dtype(x.dtype)}: put ToTensor before")
    return image.rotate(x, degrees, zoom_in, zoom_out)


# ---------------------------------------------------------------- colours


class _Jitter(HybridBlock):
    """The base class of colour changes by a random factor from 1 - amount to 1 + amount."""

    operator: str

    def __init__(self, amount: float) -> None:
        super().__init__()
        self._factors = (max(0.0, 1 - amount), 1 + amount)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return getattr(F.image, self.operator)(x, *self._factors)


class RandomBrightness(_Jitter):
    """Colours times a factor at most `brightness` away from 1."""

    operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


class RandomContrast(_Jitter):
    """Distances from the mean brightness times a factor at most `contrast` away from 1."""

    operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


class RandomSaturation(_Jitter):
    """Distances of colours from their brightness times a factor at most `saturation` away from 1."""

    operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


class RandomHue(_Jitter):
    """Hues turned by at most `hue` of the circle."""

    operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


class RandomColorJitter(HybridBlock):
    """Brightness, contrast, saturation and hue, each changed by at most so much, in an order that is drawn."""

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        self._amounts = (brightness, contrast, saturation, hue)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.random_color_jitter(x, *self._amounts)


class RandomLighting(HybridBlock):
    """Noise along the principal components of ImageNet's colours, of standard deviation `alpha`."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.image.random_lighting(x, self._alpha)


class RandomApply(Sequential):
    """A transformation, done with probability `p`."""

    def __init__(self, transforms: Callable[[NDArray], NDArray], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: NDArray) -> NDArray:
        return self.transforms(x) if generator.random() < self.p else x
