"""Augmenters: functions of an image, most of them with draws, and `CreateAugmenter`, which makes a list of them.

Images are (height, width, channels). Those that change colours take three channels of floats: `CastAug` comes first.
Draws come from Python's `random` and from `numpy.random`, as in MXNet, in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, counts
from runtime.image.draws import source
from runtime.image.image import (
    Size,
    _get_interp_method,
    _min_area,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)
from runtime.ndarray import NDArray

LUMA = (0.299, 0.587, 0.114)
"""Shares of red, green and blue in brightness (ITU-R BT.601)."""

MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of the colours of ImageNet."""

_EIGENVALUES = np.array([55.46, 4.794, 1.148])
_EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])

_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])


def plain(value: Any) -> Any:
    """An argument as JSON can hold it."""
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


class Augmenter:
    """The base class: `augmenter(image)` is the changed image. Keyword arguments are what `dumps` shows."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {key: plain(value) for key, value in kwargs.items()}

    def dumps(self) -> Any:
        """The name and the arguments in JSON; of a list of augmenters, a list of its name and theirs."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src)")


class SequentialAug(Augmenter):
    """Augmenters one after the other."""

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = list(ts)

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for t in self.ts:
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters one after the other, in an order that is drawn each time."""

    def __call__(self, src: NDArray) -> NDArray:
        source.python.shuffle(self.ts)
        return super().__call__(src)


# ---------------------------------------------------------------- size and place


class ResizeAug(Augmenter):
    """`resize_short`."""

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """The size (width, height), whatever the proportions were."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        width, height = self.size
        return imresize(src, width, height, _get_interp_method(self.interp, (*src.shape[:2], height, width)))


class RandomCropAug(Augmenter):
    """`random_crop`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """`random_size_crop`."""

    def __init__(
        self,
        size: Size,
        area: float | tuple[float, float],
        ratio: tuple[float, float],
        interp: int = 2,
        **kwargs: Any,
    ) -> None:
        area = _min_area("RandomSizedCropAug", area, kwargs)
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """`center_crop`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """The mirror image, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.flip(src, axis=1) if source.python.random() < self.p else src


# ---------------------------------------------------------------- colours


class CastAug(Augmenter):
    """Another element type."""

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


def _factor(amount: float) -> float:
    return 1 + source.python.uniform(-amount, amount)


def _gray(src: NDArray) -> NDArray:
    """The brightness of each pixel, (height, width, 1)."""
    return (src * nd.array([[LUMA]], src.context, src.dtype)).sum(axis=2, keepdims=True)


class BrightnessJitterAug(Augmenter):
    """Colours times a factor at most `brightness` away from 1."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        return src * _factor(self.brightness)


class ContrastJitterAug(Augmenter):
    """Distances from the mean brightness times a factor at most `contrast` away from 1."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        factor = _factor(self.contrast)
        return src * factor + _gray(src).mean() * (1 - factor)


class SaturationJitterAug(Augmenter):
    """Distances of colours from their brightness times a factor at most `saturation` away from 1."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        factor = _factor(self.saturation)
        return src * factor + _gray(src) * (1 - factor)


class HueJitterAug(Augmenter):
    """Hues turned by at most `hue` half circles, in the plane of the colours of YIQ."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        angle = source.python.uniform(-self.hue, self.hue) * np.pi
        c, s = np.cos(angle), np.sin(angle)
        turn = _FROM_YIQ @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ _TO_YIQ
        return nd.dot(src, nd.array(turn.T, src.context, src.dtype))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, each changed by at most so much, in an order that is drawn."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(amount) for kind, amount in kinds if amount > 0])


class LightingAug(Augmenter):
    """Noise of standard deviation `alphastd` along principal components of colours (Krizhevsky et al. 2012)."""

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, np.asarray(eigval), np.asarray(eigvec)

    def __call__(self, src: NDArray) -> NDArray:
        noise = (self.eigvec * source.numpy.normal(0, self.alphastd, size=3)) @ self.eigval
        return src + nd.array(noise, src.context, src.dtype)


class ColorNormalizeAug(Augmenter):
    """`color_normalize`."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = (x if x is None or isinstance(x, NDArray) else nd.array(x) for x in (mean, std))

    def __call__(self, src: NDArray) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Grey in all three channels, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        if source.python.random() >= self.p:
            return src
        return nd.dot(src, nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3], src.context, src.dtype))


# ---------------------------------------------------------------- lists


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Augmenters for classification, which give images of `data_shape`, (channels, height, width), as float32.

    Parameters
    ----------
    resize: the length of the shorter side before the image is cropped; 0: as it is.
    rand_crop, rand_resize: crop at a drawn place, in place of the middle; there, of a drawn size, too.
    rand_mirror: mirror one half of the images.
    mean, std: of colours, an array each; True: those of ImageNet; None: they are not normalized.
    brightness, contrast, saturation, hue: the most that each is changed by.
    pca_noise: the standard deviation of noise along the principal components of ImageNet's colours.
    rand_gray: the share of images that become grey.
    inter_method: how sizes are changed; see `imresize`.
    """
    _, height, width = counts("data_shape", data_shape)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize and not rand_crop:
        raise ArgumentError("CreateAugmenter: rand_resize needs rand_crop")
    if rand_resize:
        augmenters.append(RandomSizedCropAug((width, height), 0.08, (3 / 4, 4 / 3), inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)((width, height), inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    return augmenters + colours(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)


def colours(
    mean: Any,
    std: Any,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[Augmenter]:
    """The augmenters of colours that these arguments of `CreateAugmenter` ask for."""
    augmenters: list[Augmenter] = []
    if brightness or contrast or saturation:
        augmenters.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        augmenters.append(HueJitterAug(hue))
    if pca_noise > 0:
        augmenters.append(LightingAug(pca_noise, _EIGENVALUES, _EIGENVECTORS))
    if rand_gray > 0:
        augmenters.append(RandomGrayAug(rand_gray))
    mean, std = _colour("mean", mean, MEAN), _colour("std", std, STD)
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters


def _colour(name: str, value: Any, usual: tuple[float, ...]) -> NDArray | None:
    if value is None or value is False:
        return None
    colour = nd.array(usual if value is True else value)
    if colour.shape not in ((1,), (3,)):
        raise ArgumentError(f"{name} must be True, or 1 or 3 numbers, not of shape {colour.shape}")
    return colour
