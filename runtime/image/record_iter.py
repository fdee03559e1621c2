"""MXNet's iterators over record files by the names and arguments that they have in `mx.io`."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.base import ArgumentError, did_you_mean
from runtime.image.augmenters import Augmenter, CastAug, CreateAugmenter
from runtime.image.det_iter import ImageDetIter
from runtime.image.iterator import ImageIter
from runtime.ndarray import NDArray

_UNUSED = ("prefetch_buffer", "preprocess_threads", "round_batch", "verbose", "ctx")
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
    return beside if path_imgidx is None and beside.is_file() else path_imgidx


def _split(name: str, kwargs: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """The arguments that count; ArgumentError for one that is not there."""
    used = {key: value for key, value in kwargs.items() if key not in _UNUSED}
    for key in used:
        if key not in known:
            raise ArgumentError(f"{name} has no argument '{key}'{did_you_mean(key, [*known, *_UNUSED])}")
    return used


_COMMON = ("resize", "rand_mirror", "brightness", "contrast", "saturation", "pca_noise", "inter_method")
_READING = ("path_imglist", "path_root", "shuffle", "part_index", "num_parts", "data_name", "label_name")


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

    Further arguments are `mean_r`, `mean_g`, `mean_b` and `std_r`, `std_g`, `std_b`, those of `CreateAugmenter` and
    those of `ImageIter` that say what is read. `seed` seeds Python's `random`, from which the draws come. Colours are
    multiplied by `scale` after all. Arguments about threads and buffers are ignored, and unknown ones refused.
    """
    mean, std = _numbers(kwargs, "mean", 0.0), _numbers(kwargs, "std", 1.0)
    used = _split("ImageRecordIter", kwargs, [*_COMMON, *_READING, "rand_crop", "rand_resize", "hue", "rand_gray"])
    reading = {key: used.pop(key) for key in _READING if key in used}
    used.setdefault("inter_method", 1)
    augmenters = CreateAugmenter(data_shape, mean=mean, std=std, **used) + _scaled(scale)
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
