"""An iterator over images with objects."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, counts
from runtime.image.detection import CreateDetAugmenter, _has_area
from runtime.image.iterator import ImageIter
from runtime.io.io import DataBatch, DataDesc
from runtime.ndarray import NDArray


def header_of(label: np.ndarray, name: str) -> int:
    """The width of a label's header; MXNetError, which begins with `name`, where it and that of objects do not fit."""
    header, width = label[:2].astype(np.float64) if label.size >= 2 else (0, 0)
    if not (2 <= header <= label.size and 5 <= width < np.inf) or (label.size - int(header)) % int(width):
        raise MXNetError(
            f"{name}: a label of {label.size} numbers with a header of {header:g} and objects of {width:g}"
        )
    return int(header)


class ImageDetIter(ImageIter):
    """Batches of images, with labels (batch_size, objects, numbers of an object); rows that no object fills are -1.

    A label is numbers: the width of the header, the numbers of an object (5 or more), the rest of the header, and then
    the objects, `class, left, top, right, bottom, ...` in fractions of width and height. Objects without an area are
    dropped. An image without objects, or that has none after augmentation, is left out. `label_shape` has the largest
    number of objects. Arguments are those of `ImageIter`, and of `CreateDetAugmenter`.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | os.PathLike[str] | None = None,
        path_imglist: str | os.PathLike[str] | None = None,
        path_root: str | os.PathLike[str] | None = None,
        path_imgidx: str | os.PathLike[str] | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self._arguments = kwargs if aug_list is None else None
        self.auglist = CreateDetAugmenter(self.data_shape, **kwargs) if aug_list is None else list(aug_list)
        self._set_label_shape(self._estimate_label_shape())

    def _set_label_shape(self, shape: tuple[int, int]) -> None:
        self.label_shape = shape
        self.provide_label = [DataDesc(self.provide_label[0].name, (self.batch_size, *shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The largest number of objects, and the numbers of an object, of all labels."""
        shapes = []
        self.reset()
        try:
            while True:
                shapes.append(self._parse_label(self.next_sample()[0]).shape)
        except StopIteration:
            self.reset()
        if len({width for _, width in shapes}) != 1:
            raise MXNetError(f"ImageDetIter: objects of {sorted({w for _, w in shapes})} numbers; they must be alike")
        return max(n for n, _ in shapes), shapes[0][1]

    def _parse_label(self, label: Any) -> np.ndarray:
        """The objects of a label that have an area; MXNetError for a label without."""
        raw = np.asarray(label.asnumpy() if isinstance(label, NDArray) else label, np.float32).ravel()
        if raw.size < 7:
            raise MXNetError(f"{self._name}: a label for detection has 7 numbers or more, not {raw.size}")
        objects = raw[header_of(raw, self._name) :].reshape(-1, int(raw[1]))
        objects = objects[_has_area(objects)]
        if not len(objects):
            raise MXNetError(f"{self._name}: no object has an area")
        return objects

    def _augmented(self, data: NDArray, label: Any) -> tuple[NDArray, np.ndarray]:
        data, objects = self.augmentation_transform(data, self._parse_label(label))
        self._check_valid_label(objects)
        return data, objects

    def augmentation_transform(self, data: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The image and its objects changed by all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _check_valid_label(self, label: np.ndarray) -> None:
        """Refuse objects of which none has a class and an area: the image is left out."""
        if label.ndim != 2 or label.shape[1] < 5 or not (_has_area(label) & (label[:, 0] >= 0)).any():
            raise RuntimeError("no object is left")

    def _batch(self, samples: list[Any], pad: int) -> DataBatch:
        labels = np.full(self.provide_label[0].shape, -1, np.float32)
        for i, (_, objects) in enumerate(samples):
            labels[i, : len(objects)] = objects
        return DataBatch([self._stacked(samples)], [nd.array(labels)], pad)

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None) -> None:
        """Change the shape of images, or make room for more objects, from the next batch on."""
        if data_shape is not None:
            self.data_shape = counts("data_shape", data_shape)
            self.check_data_shape(self.data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, (self.batch_size, *self.data_shape))]
            if self._arguments is not None:
                self.auglist = CreateDetAugmenter(self.data_shape, **self._arguments)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self._set_label_shape(tuple(label_shape))

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Refuse a shape of labels that has no room for all objects."""
        if len(label_shape) != 2 or label_shape[0] < self.label_shape[0] or label_shape[1] != self.label_shape[1]:
            raise ArgumentError(f"label_shape {tuple(label_shape)} has no room for labels of {self.label_shape}")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give both iterators room for as many objects as the other has; returns the other."""
        if not isinstance(it, ImageDetIter) or it.label_shape[1] != self.label_shape[1]:
            raise ArgumentError("sync_label_shape takes an ImageDetIter with as many numbers for an object")
        shape = (max(self.label_shape[0], it.label_shape[0]), self.label_shape[1])
        for one in (self, it):
            one.reshape(label_shape=shape)
        return it
