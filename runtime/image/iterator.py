"""An iterator over the images of a record file, or of a list of files."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, count, counts, numeric_types
from runtime.image.augmenters import CreateAugmenter
from runtime.image.image import imdecode
from runtime.io.io import DataBatch, DataDesc, DataIter
from runtime.ndarray import NDArray
from runtime.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO, unpack

_LABEL_TYPES = ("float32", "float64", "int32", "int64")


class ImageIter(DataIter):
    """Batches of images, (batch_size, channels, height, width) of float32, with their labels.

    Parameters
    ----------
    batch_size: images in a batch.
    data_shape: (3, height, width).
    label_width: numbers of a label.
    path_imgrec, path_imgidx: a file of records, and its index, which is needed to shuffle and to read a part.
    path_imglist: a file of lines `key<tab>label<tab>...<tab>path`. With `path_imgrec` it gives the labels by key.
    imglist: the same as a list of `[label, path]`, where a label is one number, several, or a list.
    path_root: the folder that the paths begin in.
    shuffle: whether the order is drawn anew at every start, from Python's `random`.
    part_index, num_parts: of so many parts of as many images, the one to read.
    aug_list: the augmenters; by default what `CreateAugmenter(data_shape, **kwargs)` makes.
    data_name, label_name: the names of the arrays.
    dtype: the element type of labels.
    last_batch_handle: what fills a last, smaller batch: 'pad', images from the start; 'discard' drops it; 'roll_over'
        keeps its images for the first batch of the next round, whose `pad` is the number of its other images.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
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
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(count("batch_size", batch_size))
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise ArgumentError(f"{type(self).__name__}: give path_imgrec, path_imglist or imglist")
        if dtype not in _LABEL_TYPES:
            raise ArgumentError(
                f"{type(self).__name__}: dtype is that of labels, {', '.join(_LABEL_TYPES)}, not {dtype}"
            )
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ArgumentError(f"last_batch_handle must be 'pad', 'discard' or 'roll_over', not {last_batch_handle!r}")
        self.data_shape = counts("data_shape", data_shape)
        self.check_data_shape(self.data_shape)
        self.label_width = count("label_width", label_width)
        label_shape = (self.batch_size,) if self.label_width == 1 else (self.batch_size, self.label_width)
        self.provide_data = [DataDesc(data_name, (self.batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label_name, label_shape, np.dtype(dtype).type)]
        self.path_root = "" if path_root is None else os.fspath(path_root)
        self.shuffle, self.last_batch_handle = shuffle, last_batch_handle
        self.imglist = _listed(path_imglist, imglist, dtype)
        self.imgrec = self._records(path_imgrec, path_imgidx)
        self.seq = self._sequence(shuffle, count("part_index", part_index, 0), count("num_parts", num_parts))
        self.auglist = CreateAugmenter(self.data_shape, **kwargs) if aug_list is None else list(aug_list)
        self._rolled: list[Any] = []  # samples that are left for the next round
        self._name = "the image"  # what errors call the current one
        self.hard_reset()

    def _records(self, rec: str | os.PathLike[str] | None, idx: str | os.PathLike[str] | None) -> Any:
        """The file of records, if there is one."""
        if rec is None:
            return None
        return MXRecordIO(rec, "r") if idx is None else MXIndexedRecordIO(idx, rec, "r")

    def _sequence(self, shuffle: bool, part: int, parts: int) -> list[Any] | None:
        """The keys of the images to read; None for records that are read in their order."""
        if isinstance(self.imgrec, MXIndexedRecordIO):
            keys = list(self.imgrec.keys)
        elif self.imgrec is None:
            keys = list(self.imglist)
        elif shuffle or parts > 1:
            raise ArgumentError(f"{type(self).__name__}: to shuffle records, or to read a part, give path_imgidx")
        else:
            return None
        return self._part(keys, part, parts)

    def _part(self, keys: list[Any], part: int, parts: int) -> list[Any]:
        """Of so many parts of as many keys, the one of this number."""
        if part >= parts:
            raise ArgumentError(f"{type(self).__name__}: part_index is from 0 to {parts - 1}, not {part}")
        size = len(keys) // parts
        return keys[part * size : (part + 1) * size]

    @property
    def num_image(self) -> int | None:
        """The number of images; None where records are read in their order."""
        return None if self.seq is None else len(self.seq)

    def reset(self) -> None:
        self._start()

    def hard_reset(self) -> None:
        """Start again, without the images that 'roll_over' has left."""
        self._rolled = []
        self._start()

    def _start(self) -> None:
        if self.shuffle and self.seq is not None:
            random.shuffle(self.seq)
        self._rewind()
        self._ended = False

    def _rewind(self) -> None:
        self.cur = 0
        if self.imgrec is not None and self.seq is None:
            self.imgrec.reset()

    # ------------------------------------------------------------ samples

    def next_sample(self) -> tuple[Any, bytes]:
        """The label and the content of the next image; StopIteration after the last."""
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            self._name = f"record {self.cur} of '{self.imgrec.uri}'"
            self.cur += 1
            header, content = self._unpacked(record)
            return header.label, content
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, path = self.imglist[key]
            self._name = f"'{os.path.join(self.path_root, path)}'"
            return label, self.read_image(path)
        self._name = f"the record of key {key!r} of '{self.imgrec.uri}'"
        header, content = self._unpacked(self.imgrec.read_idx(key))
        if self.imglist is None:
            return header.label, content
        if key not in self.imglist:
            raise MXNetError(f"{self._name} has no line in the list of images")
        return self.imglist[key][0], content

    def _unpacked(self, record: bytes) -> tuple[IRHeader, bytes]:
        """The header and the content of the current record; MXNetError names it if it has none."""
        try:
            return unpack(record)
        except MXNetError as error:
            raise MXNetError(f"{self._name}: {error}") from None

    def read_image(self, fname: str) -> bytes:
        """The content of a file below `path_root`."""
        return Path(self.path_root, fname).read_bytes()

    def imdecode(self, s: bytes) -> NDArray:
        """The pixels of the content of the current image; MXNetError names it if it is no picture."""
        try:
            return imdecode(s)
        except MXNetError as error:
            raise MXNetError(f"{self._name}: {error}") from None

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image changed by all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image as (channels, height, width)."""
        return nd.transpose(datum, axes=(2, 0, 1))

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Refuse a shape of images that there cannot be."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise ArgumentError(f"{type(self).__name__}: data_shape is (3, height, width), not {tuple(data_shape)}")

    def check_valid_image(self, data: Sequence[NDArray]) -> None:
        """Refuse an image without pixels: it is left out."""
        if len(data[0].shape) == 0:
            raise RuntimeError("the image has no pixels")

    def _sample(self) -> tuple[np.ndarray, Any]:
        """The next image that can be used, and its label."""
        while True:
            label, content = self.next_sample()
            data = self.imdecode(content)
            try:
                self.check_valid_image([data])
                data, label = self._augmented(data, label)
            except RuntimeError as error:
                if isinstance(error, MXNetError):
                    raise
                logging.debug("%s is left out: %s", self._name, error)
                continue
            return self.postprocess_data(data).asnumpy(), label

    def _augmented(self, data: NDArray, label: Any) -> tuple[NDArray, Any]:
        size = np.size(label.asnumpy() if isinstance(label, NDArray) else label)
        if size != self.label_width:
            raise MXNetError(f"{self._name} has a label of {size} numbers; label_width={self.label_width}")
        return self.augmentation_transform(data), label

    # ------------------------------------------------------------ batches

    def next(self) -> DataBatch:
        if self._ended:
            raise StopIteration
        samples, self._rolled = self._rolled, []
        rolled = len(samples)
        self._fill(samples)
        pad = self.batch_size - len(samples)
        if pad:
            self._ended = True
            if not samples or self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over":
                self._rolled = samples
                raise StopIteration
            while len(samples) < self.batch_size:
                self._rewind()
                self._fill(samples)
        return self._batch(samples, self.batch_size - rolled if rolled else pad)

    def _fill(self, samples: list[Any]) -> None:
        """Add samples until the batch is full, or they end."""
        while len(samples) < self.batch_size:
            try:
                samples.append(self._sample())
            except StopIteration:
                break

    def _batch(self, samples: list[Any], pad: int) -> DataBatch:
        data = self._stacked(samples)
        described = self.provide_label[0]
        labels = np.empty(described.shape, described.dtype)
        for i, (_, label) in enumerate(samples):
            value = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
            labels[i] = value.reshape(described.shape[1:])
        return DataBatch([data], [nd.array(labels, dtype=labels.dtype)], pad)

    def _stacked(self, samples: list[Any]) -> NDArray:
        data = np.empty(self.provide_data[0].shape, np.float32)
        for i, (image, _) in enumerate(samples):
            if image.shape != data.shape[1:]:
                raise MXNetError(
                    f"{type(self).__name__}: the augmenters give an image of shape {image.shape}, not {data.shape[1:]}"
                )
            data[i] = image
        return nd.array(data)


def _listed(path: Any, imglist: list[Any] | None, dtype: str) -> dict[Any, tuple[NDArray, str]] | None:
    """The labels and paths of a list of images, by their keys."""
    if path is not None:
        return _read_list(Path(path), dtype)
    if imglist is None:
        return None
    listed = {}
    for i, item in enumerate(imglist, 1):
        *label, file = item
        numbers = label if len(label) > 1 or isinstance(label[0], numeric_types) else label[0]
        listed[str(i)] = (nd.array(numbers, dtype=dtype), file)
    return listed


def _read_list(path: Path, dtype: str) -> dict[int, tuple[NDArray, str]]:
    listed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            key, *label, file = line.strip().split("\t")
            listed[int(key)] = (nd.array([float(x) for x in label], dtype=dtype), file)
        except ValueError:
            raise MXNetError(
                f"'{path}', line {number}: a key, labels and a path are expected, with tabs between, not {line[:80]!r}"
            ) from None
    return listed
