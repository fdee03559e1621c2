"""MXNet's iterators over record files by the names and arguments that they have in `mx.io`."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.base import ArgumentError, did_you_mean
from runtime.image.augmenters import Augmenter, CastAug, CreateAugmenter, HorizontalFlipAug, RandomSizedCropAug
from runtime.image.det_iter import ImageDetIter
from runtime.image.iterator import ImageIter
from runtime.image.warping import BorderAug, HLSJitterAug, WarpAug
from runtime.ndarray import NDArray

_UNUSED = (
    *("prefetch_buffer", "preprocess_threads", "round_batch", "verbose", "ctx"),
    *("device_id", "shuffle_chunk_size", "shuffle_chunk_seed"),
)
"""Arguments that change no value: images are read by this thread, and a last batch is always filled up."""


class _Scale(Augmenter):
    def __init__(self, scale: float) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def __call__(self, src: NDArray) -> NDArray:
        return src * self.scale


def _numbers(kwargs: dict[str, Any], name: str, default: float) -> np.ndarray | None:
    """The arguments `NAME_r`, `NAME_g`, `NAME_b` as an array; None if there is none of them."""
    given = [kwargs.pop(f"{name}_{colour}", None) for colour in "rgb"]
    if given == [None] * 3:
        return None
    return np.array([default if value is None else value for value in given], np.float32)


def _index_of(path_imgrec: str | os.PathLike[str], path_imgidx: Any) -> Any:
    """The index, or the file that is called as the records are, if there is one."""
    beside = Path(path_imgrec).with_suffix(".idx")
    return path_imgidx or (beside if beside.is_file() else None)


def _split(name: str, kwargs: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """The arguments that count; ArgumentError for one that is not there."""
    used = {key: value for key, value in kwargs.items() if key not in _UNUSED}
    for key in used:
        if key not in known:
            raise ArgumentError(f"{name} has no argument '{key}'{did_you_mean(key, [*known, *_UNUSED])}")
    return used


_COMMON = ("resize", "rand_mirror", "brightness", "contrast", "saturation", "pca_noise", "inter_method")
_READING = ("path_imglist", "path_root", "shuffle", "part_index", "num_parts", "data_name", "label_name")

_WARPING: dict[str, Any] = {
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_shear_ratio": 0.0,
    "min_random_scale": 1.0,
    "max_random_scale": 1.0,
    "min_aspect_ratio": None,
    "max_aspect_ratio": 0.0,
    "min_img_size": 0.0,
    "max_img_size": 1e10,
    "pad": 0,
    "fill_value": 255,
    "random_resized_crop": False,
    "min_random_area": 1.0,
    "max_random_area": 1.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "mirror": False,
}
"""Arguments of MXNet's default augmenter that `CreateAugmenter` does not have, and what they are if not given."""


def _warped(
    data_shape: Sequence[int],
    augmenters: list[Augmenter],
    given: dict[str, Any],
    inter_method: int,
    resize: int = 0,
    **_: Any,
) -> list[Augmenter]:
    """`augmenters`, of a size, a crop and what follows, and between these what `given` asks for."""
    at = 1 if resize > 0 else 0
    before, crop, after = augmenters[:at], augmenters[at], augmenters[at + 1 :]
    aspect, fill = given["max_aspect_ratio"], given["fill_value"]
    drawn = given["random_resized_crop"]
    if drawn:
        least = 1 - aspect if given["min_aspect_ratio"] is None else given["min_aspect_ratio"]
        most = 1 + aspect if given["min_aspect_ratio"] is None else aspect
        area = (given["min_random_area"], given["max_random_area"])
        crop = RandomSizedCropAug((data_shape[2], data_shape[1]), area, (least, most), inter_method)
    elif given["min_aspect_ratio"] is not None:
        raise ArgumentError("ImageRecordIter: min_aspect_ratio needs random_resized_crop")
    options = {
        "angle": given["max_rotate_angle"],
        "rotate": given["rotate"],
        "shear": given["max_shear_ratio"],
        "scales": (1.0, 1.0) if drawn else (given["min_random_scale"], given["max_random_scale"]),
        "aspect": 0.0 if drawn else aspect,
        "sizes": (given["min_img_size"], given["max_img_size"]),
    }
    if options != {"angle": 0, "rotate": -1, "shear": 0, "scales": (1, 1), "aspect": 0, "sizes": (0, 1e10)}:
        before.append(WarpAug(**options, fill=fill))
    if given["pad"] > 0:
        before.append(BorderAug(given["pad"], fill))
    colours = (given["random_h"], given["random_l"], given["random_s"])
    if any(colours):
        after.insert(0, HLSJitterAug(*colours))
    if given["mirror"]:
        after.insert(0, HorizontalFlipAug(1))
    return [*before, crop, *after]


def ImageRecordIter(
    path_imgrec: str | os.PathLike[str],
    data_shape: Sequence[int],
    batch_size: int,
    path_imgidx: str | os.PathLike[str] | None = None,
    label_width: int = 1,
    seed: int | None = None,
    scale: float = 1.0,
    **kwargs: Any,
) -> ImageIter:
    """An `ImageIter` over a file of records.

    Further arguments are `mean_r`, `mean_g`, `mean_b` and `std_r`, `std_g`, `std_b`, those of `CreateAugmenter`, those
    of MXNet for `WarpAug` (`max_rotate_angle`, `rotate`, `max_shear_ratio`, `min_random_scale`, `max_random_scale`,
    `max_aspect_ratio`, `min_img_size`, `max_img_size`), for a border (`pad`, `fill_value`), for crops of a drawn size
    (`random_resized_crop`, `min_random_area`, `max_random_area`, `min_aspect_ratio`, `max_aspect_ratio`) and for
    colours (`random_h`, `random_s`, `random_l`), `mirror`, and those of `ImageIter` that say what is read. `seed` seeds
    Python's `random`, from which the draws come. Colours are multiplied by `scale` after all. Arguments about threads
    and buffers are ignored, and unknown ones refused.
    """
    mean, std = _numbers(kwargs, "mean", 0.0), _numbers(kwargs, "std", 1.0)
    known = [*_COMMON, *_READING, "rand_crop", "rand_resize", "hue", "rand_gray", *_WARPING]
    used = _split("ImageRecordIter", kwargs, known)
    reading = {key: used.pop(key) for key in _READING if key in used}
    warping = _WARPING | {key: used.pop(key) for key in _WARPING if key in used}
    used.setdefault("inter_method", 1)
    augmenters = _warped(data_shape, CreateAugmenter(data_shape, mean=mean, std=std, **used), warping, **used)
    augmenters += _scaled(scale)
    return _seeded(
        seed,
        lambda: ImageIter(
            batch_size,
            data_shape,
            label_width,
            path_imgrec,
            path_imgidx=_index_of(path_imgrec, path_imgidx),
            aug_list=augmenters,
            **reading,
        ),
    )


def _scaled(scale: float) -> list[Augmenter]:
    return [] if scale == 1 else [CastAug(), _Scale(scale)]


def _seeded(seed: int | None, make: Callable[[], Any]) -> Any:
    if seed is not None:
        random.seed(seed)
    return make()


def ImageDetRecordIter(
    path_imgrec: str | os.PathLike[str],
    data_shape: Sequence[int],
    batch_size: int,
    path_imgidx: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    **kwargs: Any,
) -> ImageDetIter:
    """An `ImageDetIter` over a file of records; further arguments are as for `ImageRecordIter`, and those of
    `CreateDetAugmenter`."""
    mean, std = _numbers(kwargs, "mean", 0.0), _numbers(kwargs, "std", 1.0)
    cropping = ("rand_crop", "rand_pad", "rand_gray", "hue", "min_object_covered", "aspect_ratio_range", "area_range")
    limits = ("min_eject_coverage", "max_attempts", "pad_val")
    used = _split("ImageDetRecordIter", kwargs, [*_COMMON, *_READING, *cropping, *limits])
    used.setdefault("inter_method", 1)
    index = _index_of(path_imgrec, path_imgidx)
    return _seeded(
        seed,
        lambda: ImageDetIter(
            batch_size, data_shape, path_imgrec=path_imgrec, path_imgidx=index, mean=mean, std=std, **used
        ),
    )
