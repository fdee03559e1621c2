"""MXNet's iterators over records of images for classification, by the names and arguments that they have in `mx.io`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.base import ArgumentError
from runtime.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    RandomCropAug,
    RandomSizedCropAug,
    ResizeAug,
    colours,
)
from runtime.image.det_record_iter import ImageDetRecordIter
from runtime.image.draws import source
from runtime.image.image import Size, imresize
from runtime.image.records import RecordsIter, sized, taken
from runtime.image.warping import BorderAug, HLSJitterAug, WarpAug
from runtime.ndarray import NDArray

__all__ = ["ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordUInt8Iter"]

_AUGMENTING: dict[str, Any] = {
    "aug_seq": "aug_default",
    "resize": -1,
    "rand_crop": False,
    "random_resized_crop": False,
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_shear_ratio": 0.0,
    "min_aspect_ratio": None,
    "max_aspect_ratio": 0.0,
    "min_crop_size": -1,
    "max_crop_size": -1,
    "min_random_scale": 1.0,
    "max_random_scale": 1.0,
    "min_random_area": 1.0,
    "max_random_area": 1.0,
    "min_img_size": 0.0,
    "max_img_size": 1e10,
    "brightness": 0.0,
    "contrast": 0.0,
    "saturation": 0.0,
    "pca_noise": 0.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "pad": 0,
    "fill_value": 255,
    "inter_method": 1,
}
"""Arguments of MXNet's default augmenter, and what they are if not given."""


class ImageRecordIter(RecordsIter):
    """Batches of images of a file of records, (batch_size, channels, height, width), with their labels.

    Arguments have MXNet's names, and unknown ones are refused. In the order in which they act:

    - `path_imgrec`, a file or a folder of files; `path_imgidx`, its index, which spares reading through the file;
      `path_imglist` with other labels; `num_parts`, `part_index`, `shuffle`, `seed`;
    - `resize`, the length of the shorter side; `max_rotate_angle` or `rotate`, `max_shear_ratio`, `min_random_scale`,
      `max_random_scale`, `max_aspect_ratio`, `min_img_size`, `max_img_size` (see `WarpAug`); `pad`; `fill_value`;
    - crops of the shape of `data_shape`, in the middle or with `rand_crop` at drawn places, from drawn squares with
      `min_crop_size` and `max_crop_size`, or with `random_resized_crop` of `min_random_area` to `max_random_area` of
      the image and of an aspect ratio from `min_aspect_ratio` to `max_aspect_ratio`;
    - `random_h`, `random_s`, `random_l`; `brightness`, `contrast`, `saturation`, `pca_noise`;
    - `mean_img`, a file of one mean image, which is computed and written if there is none, or `mean_r` to `mean_a`;
      `mirror`, `rand_mirror`; `max_random_contrast`, `max_random_illumination`, `scale`, `std_r` to `std_a`.

    `dtype` is float32, uint8, whose images are not normalized, or int8, from which only the mean is subtracted.
    """

    def __init__(
        self,
        path_imgrec: Any = None,
        data_shape: Sequence[int] = (),
        batch_size: int = 0,
        path_imgidx: Any = None,
        label_width: int = 1,
        **kwargs: Any,
    ) -> None:
        given = taken("ImageRecordIter", kwargs, {**self.READING, **_AUGMENTING, **self.NORMAL})
        given |= {"path_imgrec": path_imgrec, "path_imgidx": path_imgidx}
        super().__init__(data_shape, batch_size, label_width, _augmenters(sized(data_shape), given), given, given)


ImageRecordIter_v1 = ImageRecordIter


def ImageRecordUInt8Iter(*args: Any, **kwargs: Any) -> ImageRecordIter:
    """`ImageRecordIter` of uint8."""
    return ImageRecordIter(*args, **kwargs, dtype="uint8")


ImageRecordUInt8Iter_v1 = ImageRecordUInt8Iter


def ImageRecordInt8Iter(*args: Any, **kwargs: Any) -> ImageRecordIter:
    """`ImageRecordIter` of int8."""
    return ImageRecordIter(*args, **kwargs, dtype="int8")


def _augmenters(size: Size, given: Mapping[str, Any]) -> list[Augmenter]:
    """The augmenters that the arguments ask for."""
    if given["aug_seq"] != "aug_default":
        raise ArgumentError(f"ImageRecordIter: aug_seq is 'aug_default', not {given['aug_seq']!r}")
    resize, interp = given["resize"], given["inter_method"]
    augmenters: list[Augmenter] = [ResizeAug(resize, interp)] if resize > 0 else []
    augmenters += [*_warping(given), _crop(size, given)]
    jitter = (given["random_h"], given["random_l"], given["random_s"])
    if any(jitter):
        augmenters.append(HLSJitterAug(*jitter))
    changes = [given[name] for name in ("brightness", "contrast", "saturation")]
    if any(changes) or given["pca_noise"]:
        augmenters += [CastAug(), *colours(None, None, *changes, 0, given["pca_noise"], 0)]
    return augmenters


def _warping(given: Mapping[str, Any]) -> list[Augmenter]:
    drawn, fill = given["random_resized_crop"], given["fill_value"]
    options = {
        "angle": given["max_rotate_angle"],
        "rotate": given["rotate"],
        "shear": given["max_shear_ratio"],
        "scales": (1.0, 1.0) if drawn else (given["min_random_scale"], given["max_random_scale"]),
        "aspects": (1.0, 1.0) if drawn else _aspects(given),
        "sizes": (given["min_img_size"], given["max_img_size"]),
    }
    unchanged = {"angle": 0, "rotate": -1, "shear": 0, "scales": (1, 1), "aspects": (1, 1), "sizes": (0, 1e10)}
    augmenters: list[Augmenter] = [] if options == unchanged else [WarpAug(**options, fill=fill)]
    return augmenters + ([BorderAug(given["pad"], fill)] if given["pad"] > 0 else [])


def _aspects(given: Mapping[str, Any]) -> tuple[float, float]:
    least, most = given["min_aspect_ratio"], given["max_aspect_ratio"]
    return (1 - most, 1 + most) if least is None else (least, most)


def _crop(size: Size, given: Mapping[str, Any]) -> Augmenter:
    interp = given["inter_method"]
    if given["random_resized_crop"]:
        area = (given["min_random_area"], given["max_random_area"])
        return RandomSizedCropAug(size, area, _aspects(given), interp)
    if given["min_crop_size"] > 0 or given["max_crop_size"] > 0:
        return _SquareCropAug(size, given["min_crop_size"], given["max_crop_size"], given["rand_crop"], interp)
    return (RandomCropAug if given["rand_crop"] else CenterCropAug)(size, interp)


class _SquareCropAug(Augmenter):
    """A square with a drawn side, in the size (width, height)."""

    def __init__(self, size: Size, least: int, most: int, drawn: bool, interp: int) -> None:
        if not 0 < least <= most:
            raise ArgumentError(f"ImageRecordIter: min_crop_size {least} and max_crop_size {most} must ascend from 1")
        super().__init__(size=size, least=least, most=most, drawn=drawn, interp=interp)
        self.size, self.least, self.most, self.drawn, self.interp = size, least, most, drawn, interp

    def __call__(self, src: NDArray) -> NDArray:
        rows, columns = src.shape[:2]
        if min(rows, columns) < self.most:
            raise ArgumentError(f"ImageRecordIter: max_crop_size {self.most} is more than an image of {columns}x{rows}")
        side = source.python.randint(self.least, self.most)
        y, x = (source.python.randint(0, n - side) if self.drawn else (n - side) // 2 for n in (rows, columns))
        return imresize(src[y : y + side, x : x + side], *self.size, self.interp)
