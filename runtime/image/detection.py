"""Augmenters for detection: functions of an image and its objects, and `CreateDetAugmenter`, which lists them.

Objects are rows of an array of float32, `(class, left, top, right, bottom, ...)`, in fractions of width and height.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, counts, numeric_types
from runtime.image.augmenters import (
    Augmenter,
    CastAug,
    ForceResizeAug,
    ResizeAug,
    colours,
    plain,
)
from runtime.image.draws import source
from runtime.image.image import copyMakeBorder, fixed_crop
from runtime.ndarray import NDArray

Sample = tuple[NDArray, np.ndarray]
"""An image, and its objects."""

Range = float | Sequence[float]


class DetAugmenter:
    """The base class: `augmenter(image, objects)` is the changed pair. Keyword arguments are what `dumps` shows."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {key: plain(value) for key, value in kwargs.items()}

    def dumps(self) -> Any:
        """The name and the arguments in JSON; of one over others, a list of its name and theirs."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src, label)")


class DetBorrowAug(DetAugmenter):
    """An augmenter that leaves objects where they are."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug takes an Augmenter, not {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn each time, or with probability `skip_prob` none."""

    def __init__(self, aug_list: DetAugmenter | Sequence[DetAugmenter], skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for augmenter in self.aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise ArgumentError(f"DetRandomSelectAug takes DetAugmenters, not {type(augmenter).__name__}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        if source.python.random() < self.skip_prob:
            return src, label
        source.python.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """The mirror image, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        if source.python.random() >= self.p:
            return src, label
        mirrored = label.copy()
        mirrored[:, 1], mirrored[:, 3] = 1 - label[:, 3], 1 - label[:, 1]
        return nd.flip(src, axis=1), mirrored


class _RandomBoxAug(DetAugmenter):
    """The base class of those that draw a box, a part of the image or one around it."""

    def __init__(self, least_area: float, aspect_ratio_range: Range, area_range: Range, **kwargs: Any) -> None:
        ratios, areas = ((r, r) if isinstance(r, numeric_types) else tuple(r) for r in (aspect_ratio_range, area_range))
        super().__init__(aspect_ratio_range=ratios, area_range=areas, **kwargs)
        self.aspect_ratio_range, self.area_range = ratios, areas
        self.enabled = least_area < areas[1] >= areas[0] and 0 < ratios[0] <= ratios[1]
        if not self.enabled:
            warnings.warn(
                f"{type(self).__name__} does nothing with area_range={areas} and aspect_ratio_range={ratios}",
                stacklevel=3,
            )

    def _limits(self, height: int, width: int) -> tuple[float, float]:
        """The least and the largest area, in pixels."""
        return self.area_range[0] * height * width, self.area_range[1] * height * width


class DetRandomCropAug(_RandomBoxAug):
    """A part of the image.

    Parameters
    ----------
    min_object_covered: the share that it must cover of each object that it covers at all.
    aspect_ratio_range: limits of its width divided by its height.
    area_range: limits of its share of the image.
    min_eject_coverage: objects of which it has less than this share are dropped.
    max_attempts: the most draws, after which the image stays as it is.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        own = {
            "min_object_covered": min_object_covered,
            "min_eject_coverage": min_eject_coverage,
            "max_attempts": max_attempts,
        }
        super().__init__(0, aspect_ratio_range, area_range, **own)
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            box = self._drawn(height, width)
            objects = None if box is None else self._kept(label, box, height, width)
            if objects is not None:
                return fixed_crop(src, *box), objects
        return src, label

    def _drawn(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Column, row, width and height of a part; None if the draw is none."""
        least, largest = self._limits(height, width)
        ratio = source.python.uniform(*self.aspect_ratio_range)
        h, tallest = round(sqrt(least / ratio)), round(sqrt(largest / ratio))
        if round(tallest * ratio) > width:
            tallest = int((width + 0.4999999) / ratio)
        tallest = min(tallest, height)
        h = min(h, tallest)
        if h < tallest:
            h = source.python.randint(h, tallest)
        if round(h * ratio) * h < least:  # by rounding
            h += 1
        if round(h * ratio) * h > largest:
            h -= 1
        w = round(h * ratio)
        if not (least <= w * h <= largest and 0 < w <= width and 0 < h <= height):
            return None
        y = source.python.randint(0, height - h)
        return source.python.randint(0, width - w), y, w, h

    def _kept(self, label: np.ndarray, box: tuple[int, int, int, int], height: int, width: int) -> np.ndarray | None:
        """The objects in a part; None if it has too little of one, or none."""
        x, y, w, h = box
        if w * h < 2:
            return None
        left, top, across, down = x / width, y / height, w / width, h / height
        areas = _areas(label[:, 1:])
        large = areas * width * height > 2
        corners = np.array([left, top, left + across, top + down])
        inside = label[large, 1:5].copy()
        inside[:, :2], inside[:, 2:] = np.maximum(inside[:, :2], corners[:2]), np.minimum(inside[:, 2:], corners[2:])
        covered = _areas(inside) / areas[large]
        covered = covered[covered > 0]
        if not covered.size or covered.min() <= self.min_object_covered:
            return None
        moved = label.copy()
        moved[:, [1, 3]] = (moved[:, [1, 3]] - left) / across
        moved[:, [2, 4]] = (moved[:, [2, 4]] - top) / down
        moved[:, 1:5] = np.clip(moved[:, 1:5], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = _areas(moved[:, 1:]) * across * down / areas
        moved = moved[_has_area(moved) & (shares > self.min_eject_coverage)]
        return moved if len(moved) else None


def _areas(boxes: np.ndarray) -> np.ndarray:
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


def _has_area(objects: np.ndarray) -> np.ndarray:
    return (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])


class DetRandomPadAug(_RandomBoxAug):
    """The image at a drawn place of a larger one.

    Parameters
    ----------
    aspect_ratio_range: limits of the width of the larger one divided by its height.
    area_range: limits of its area divided by that of the image.
    max_attempts: the most draws, after which the image stays as it is.
    pad_val: the colour around the image, a number or one for each channel.
    """

    def __init__(
        self,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Range = (128, 128, 128),
    ) -> None:
        super().__init__(1, aspect_ratio_range, area_range, max_attempts=max_attempts, pad_val=pad_val)
        self.max_attempts, self.pad_val = max_attempts, pad_val

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = self._drawn(height, width)
            if size is not None:
                return self._padded(src, label, *size)
        return src, label

    def _drawn(self, height: int, width: int) -> tuple[int, int] | None:
        """Width and height; None if the draw is hardly larger than the image."""
        least, largest = self._limits(height, width)
        ratio = source.python.uniform(*self.aspect_ratio_range)
        h, tallest = round(sqrt(least / ratio)), round(sqrt(largest / ratio))
        if round(h * ratio) < width:
            h = int((width + 0.499999) / ratio)
        h = min(max(h, height), tallest)
        if h < tallest:
            h = source.python.randint(h, tallest)
        w = round(h * ratio)
        return (w, h) if h - height >= 2 and w - width >= 2 else None

    def _padded(self, src: NDArray, label: np.ndarray, w: int, h: int) -> Sample:
        height, width = src.shape[:2]
        y = source.python.randint(0, h - height)
        x = source.python.randint(0, w - width)
        moved = label.copy()
        moved[:, [1, 3]] = (moved[:, [1, 3]] * width + x) / w
        moved[:, [2, 4]] = (moved[:, [2, 4]] * height + y) / h
        return copyMakeBorder(src, y, h - y - height, x, w - x - width, values=self.pad_val), moved


# ---------------------------------------------------------------- lists


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """One of several `DetRandomCropAug`: each argument is for all of them, or a list with one for each."""
    given = [
        value if isinstance(value, list) else [value]
        for value in (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    ]
    number = max(map(len, given))
    if any(len(values) not in (1, number) for values in given):
        raise ArgumentError(f"CreateMultiRandCropAugmenter: lists of {[len(v) for v in given]} arguments")
    aligned = [values * number if len(values) == 1 else values for values in given]
    return DetRandomSelectAug([DetRandomCropAug(*arguments) for arguments in zip(*aligned, strict=True)], skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Range = (127, 127, 127),
) -> list[DetAugmenter]:
    """Augmenters for detection, which give images of `data_shape`, (channels, height, width), as float32.

    `rand_crop` and `rand_pad` are the probabilities of `DetRandomCropAug` and `DetRandomPadAug`, whose arguments come
    last. The others are as for `CreateAugmenter`.
    """
    _, height, width = counts("data_shape", data_shape)
    augmenters: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    limits = (aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    if rand_crop > 0:
        augmenters.append(CreateMultiRandCropAugmenter(min_object_covered, *limits, skip_prob=1 - rand_crop))
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:  # late, as there are more pixels after it
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    rest = [ForceResizeAug((width, height), inter_method), CastAug()]
    rest += colours(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return augmenters + [DetBorrowAug(augmenter) for augmenter in rest]
