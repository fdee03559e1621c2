"""MXNet's iterator over records of images with objects, `mx.io.ImageDetRecordIter`, and its augmenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.image.augmenters import Augmenter, HorizontalFlipAug, ResizeAug
from runtime.image.det_iter import header_of
from runtime.image.draws import source
from runtime.image.image import Size, copyMakeBorder, imresize
from runtime.image.records import RecordsIter, sized, taken
from runtime.image.warping import HLSJitterAug
from runtime.io.io import DataBatch, DataDesc
from runtime.ndarray import NDArray

_LIMITS = ("crop_scales", "crop_aspect_ratios", "crop_overlaps", "crop_sample_coverages", "crop_object_coverages")

_AUGMENTING: dict[str, Any] = {
    "aug_seq": "det_aug_default",
    "resize": -1,
    "rand_crop_prob": 0.0,
    "num_crop_sampler": 1,
    **{f"{end}_{name}": start for name in _LIMITS for end, start in (("min", (0.0,)), ("max", (1.0,)))},
    "min_crop_aspect_ratios": (1.0,),
    "crop_emit_mode": "center",
    "emit_overlap_thresh": 0.3,
    "max_crop_trials": (25,),
    "rand_pad_prob": 0.0,
    "max_pad_scale": 1.0,
    "max_random_hue": 0,
    "random_hue_prob": 0.0,
    "max_random_saturation": 0,
    "random_saturation_prob": 0.0,
    "max_random_illumination": 0,
    "random_illumination_prob": 0.0,
    "max_random_contrast": 0.0,
    "random_contrast_prob": 0.0,
    "rand_mirror_prob": 0.0,
    "fill_value": 127,
    "inter_method": 1,
    "resize_mode": "force",
}
_WITH_OBJECTS = ("mirror", "rand_mirror", "max_random_contrast", "max_random_illumination")
"""What the augmenter does here in place of the normalization."""

_LABELS = {"label_width": -1, "label_pad_width": 0, "label_pad_value": -1.0}

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in fractions of width and height."""


class ImageDetRecordIter(RecordsIter):
    """Batches of images with objects of a file of records; arguments have MXNet's names, and unknown ones are refused.

    A label is a row: the channels, the height and the width of the image that is within `data_shape` (`resize_mode`
    'force' fills it, 'fit' and 'shrink' keep proportions), how many numbers follow, and these: the width of the
    header, the numbers of an object, the rest of the header, and the objects, `class, left, top, right, bottom, ...` in
    fractions of width and height. `label_pad_value` fills rows up to the longest label, or `label_pad_width` numbers.

    Images are mirrored, put into a larger one (`rand_pad_prob`, `max_pad_scale`), and cropped (`rand_crop_prob`) by one
    of `num_crop_sampler` samplers, whose limits are numbers or tuples of these; `crop_emit_mode` says which objects a
    crop leaves: those whose 'center' it has, or of which it has at least the share `emit_overlap_thresh`.
    """

    def __init__(
        self, path_imgrec: Any = "./data/imgrec.rec", data_shape: Sequence[int] = (), batch_size: int = 0, **kwargs: Any
    ) -> None:
        unchanged = {key: value for key, value in self.NORMAL.items() if key in _WITH_OBJECTS}
        normal = {key: value for key, value in self.NORMAL.items() if key not in _WITH_OBJECTS}
        given = taken("ImageDetRecordIter", kwargs, {**self.READING, **_AUGMENTING, **_LABELS, **normal})
        given["path_imgrec"] = path_imgrec
        if given["aug_seq"] != "det_aug_default":
            raise ArgumentError(f"ImageDetRecordIter: aug_seq is 'det_aug_default', not {given['aug_seq']!r}")
        self._augmenter = _Augmenter(sized(data_shape), given)
        super().__init__(data_shape, batch_size, 1, [], given, {**given, **unchanged})
        self._pad_value, self._width = given["label_pad_value"], given["label_width"]
        longest = self._longest_label()
        if 0 < given["label_pad_width"] < longest:
            raise ArgumentError(
                f"ImageDetRecordIter: label_pad_width {given['label_pad_width']} is less than the longest label's "
                f"{longest} numbers"
            )
        shape = (self.batch_size, 4 + max(longest, given["label_pad_width"]))
        self.provide_label = [DataDesc(given["label_name"], shape)]

    def _longest_label(self) -> int:
        if self.imglist is not None:
            return max(label.size for label, _ in self.imglist.values())
        widths = {np.size(self._record(file, at)[0].label) for file, at in self.seq}
        if self._width > 0 and widths != {self._width}:
            raise MXNetError(f"ImageDetRecordIter: label_width is {self._width}, and labels have {sorted(widths)}")
        return max(widths)

    def _augmented(self, data: NDArray, label: Any) -> tuple[NDArray, np.ndarray]:
        raw = np.asarray(label.asnumpy() if isinstance(label, NDArray) else label, np.float32).ravel()
        header = header_of(raw, self._name)
        data, objects = self._augmenter(data, raw[header:].reshape(-1, int(raw[1])))
        rows, columns, channels = data.shape
        numbers = np.concatenate([raw[:header], objects.ravel()])
        whole = nd.zeros((self.data_shape[1], self.data_shape[2], channels), dtype=data.dtype)
        whole[:rows, :columns] = data
        return whole, np.concatenate([[channels, rows, columns, numbers.size], numbers])

    def _batch(self, samples: list[Any], pad: int) -> DataBatch:
        labels = np.full(self.provide_label[0].shape, self._pad_value, np.float32)
        for row, (_, label) in zip(labels, samples, strict=True):
            row[: label.size] = label
        return DataBatch([self._stacked(samples)], [nd.array(labels)], pad)


class _Augmenter:
    """MXNet's default augmenter for detection, by the arguments that it has there."""

    def __init__(self, size: Size, given: Mapping[str, Any]) -> None:
        self.size, self.interp, self.fill = size, given["inter_method"], given["fill_value"]
        if given["resize_mode"] not in ("force", "shrink", "fit"):
            raise ArgumentError(f"resize_mode is 'force', 'shrink' or 'fit', not {given['resize_mode']!r}")
        if given["crop_emit_mode"] not in ("center", "overlap"):
            raise ArgumentError(f"crop_emit_mode is 'center' or 'overlap', not {given['crop_emit_mode']!r}")
        self.mode = given["resize_mode"]
        self.first: list[tuple[float, Augmenter]] = []
        if given["resize"] > 0:
            self.first.append((1.0, ResizeAug(given["resize"], self.interp)))
        for place, name in enumerate(("hue", "illumination", "saturation")):
            amounts = [given[f"max_random_{name}"] if i == place else 0 for i in range(3)]
            self.first.append((given[f"random_{name}_prob"], HLSJitterAug(*amounts)))
        self.first.append((given["random_contrast_prob"], _FactorAug(given["max_random_contrast"])))
        self.mirrored, self.padded, self.most = (
            given[name] for name in ("rand_mirror_prob", "rand_pad_prob", "max_pad_scale")
        )
        self.cropped = given["rand_crop_prob"]
        self.samplers = [_Sampler(given, i) for i in range(given["num_crop_sampler"])]

    def __call__(self, src: NDArray, objects: np.ndarray) -> tuple[NDArray, np.ndarray]:
        for probability, augmenter in self.first:
            if source.python.random() < probability:
                src = augmenter(src)
        objects = objects.copy()
        if source.python.random() < self.mirrored:
            src = HorizontalFlipAug(1)(src)
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        if source.python.random() < self.padded and self.most > 1:
            src, objects = self._in_larger(src, objects)
        if source.python.random() < self.cropped and self.samplers:
            src, objects = self._part(src, objects)
        return self._resized(src), objects

    def _in_larger(self, src: NDArray, objects: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The image at a drawn place of one of a drawn size."""
        scale = source.python.uniform(1, self.most)
        rows, columns = src.shape[:2]
        more = [int(n * scale) - n for n in (rows, columns)]
        top, left = (source.python.randint(0, n) for n in more)
        whole = (columns + more[1], rows + more[0])
        src = copyMakeBorder(src, top, more[0] - top, left, more[1] - left, value=self.fill)
        objects[:, [1, 3]] = (objects[:, [1, 3]] * columns + left) / whole[0]
        objects[:, [2, 4]] = (objects[:, [2, 4]] * rows + top) / whole[1]
        return src, objects

    def _part(self, src: NDArray, objects: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """A crop that one of the samplers, in a drawn order, finds; the image as it is, if none does."""
        rows, columns = src.shape[:2]
        for sampler in source.python.sample(self.samplers, len(self.samplers)):
            found = sampler(objects, columns / rows)
            if found is not None:
                (left, top, right, bottom), objects = found
                x, y = int(left * columns), int(top * rows)
                return src[y : max(y + 1, round(bottom * rows)), x : max(x + 1, round(right * columns))], objects
        return src, objects

    def _resized(self, src: NDArray) -> NDArray:
        rows, columns = src.shape[:2]
        width, height = self.size
        if self.mode != "force":
            factor = min(width / columns, height / rows)
            factor = min(factor, 1.0) if self.mode == "shrink" else factor
            width, height = (max(1, int(n * factor + 1e-6)) for n in (columns, rows))
        return src if (columns, rows) == (width, height) else imresize(src, width, height, self.interp)


class _FactorAug(Augmenter):
    """Colours times a factor at most `amount` away from 1."""

    def __init__(self, amount: float) -> None:
        super().__init__(amount=amount)
        self.amount = amount

    def __call__(self, src: NDArray) -> NDArray:
        changed = np.rint(src.asnumpy() * (1 + source.python.uniform(-self.amount, self.amount)))
        return nd.array(changed.clip(0, 255), dtype=src.dtype)


class _Sampler:
    """Draws boxes of an image until one is within the limits of some object."""

    def __init__(self, given: Mapping[str, Any], place: int) -> None:
        def limit(name: str) -> Any:
            values = np.atleast_1d(given[name])
            if len(values) not in (1, given["num_crop_sampler"]):
                raise ArgumentError(
                    f"{name} has {len(values)} numbers for num_crop_sampler={given['num_crop_sampler']}"
                )
            return values[min(place, len(values) - 1)]

        self.scales, self.ratios, *self.limits = (
            tuple(float(limit(f"{end}_{name}")) for end in ("min", "max")) for name in _LIMITS
        )
        self.trials, self.mode = int(limit("max_crop_trials")), given["crop_emit_mode"]
        self.threshold = given["emit_overlap_thresh"]

    def __call__(self, objects: np.ndarray, aspect: float) -> tuple[Box, np.ndarray] | None:
        """The box, and the objects that it has; None if no trial finds one."""
        for _ in range(self.trials):
            box = self._box(aspect)
            if self._is_within_limits(box, objects):
                kept = self._kept(box, objects)
                if len(kept):
                    return box, kept
        return None

    def _box(self, aspect: float) -> Box:
        scale = source.python.uniform(*self.scales)
        if scale <= 0:
            return 0.0, 0.0, 1.0, 1.0
        least, most = max(self.ratios[0] / aspect, scale**2), min(self.ratios[1] / aspect, 1 / scale**2)
        root = source.python.uniform(least, max(least, most)) ** 0.5
        width, height = min(1.0, scale * root), min(1.0, scale / root)
        left, top = source.python.uniform(0, 1 - width), source.python.uniform(0, 1 - height)
        return left, top, left + width, top + height

    def _is_within_limits(self, box: Box, objects: np.ndarray) -> bool:
        if all(limits == (0.0, 1.0) for limits in self.limits):
            return True
        common, own = _common(box, objects), _areas(objects)
        area = (box[2] - box[0]) * (box[3] - box[1])
        shares = (common / (area + own - common), common / area, common / np.maximum(own, 1e-12))
        fits = [(low <= share) & (share <= high) for (low, high), share in zip(self.limits, shares, strict=True)]
        return bool(np.logical_and.reduce(fits).any())

    def _kept(self, box: Box, objects: np.ndarray) -> np.ndarray:
        left, top, right, bottom = box
        if self.mode == "center":
            x, y = (objects[:, 1] + objects[:, 3]) / 2, (objects[:, 2] + objects[:, 4]) / 2
            kept = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
        else:
            kept = _common(box, objects) >= self.threshold * _areas(objects)
        found = objects[kept].copy()
        found[:, [1, 3]] = ((found[:, [1, 3]] - left) / (right - left)).clip(0, 1)
        found[:, [2, 4]] = ((found[:, [2, 4]] - top) / (bottom - top)).clip(0, 1)
        return found


def _areas(objects: np.ndarray) -> np.ndarray:
    return (objects[:, 3] - objects[:, 1]) * (objects[:, 4] - objects[:, 2])


def _common(box: Box, objects: np.ndarray) -> np.ndarray:
    """The areas that objects have in common with the box."""
    width = np.minimum(objects[:, 3], box[2]) - np.maximum(objects[:, 1], box[0])
    height = np.minimum(objects[:, 4], box[3]) - np.maximum(objects[:, 2], box[1])
    return width.clip(0) * height.clip(0)
