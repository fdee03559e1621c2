"""What MXNet's iterators over records of images share: reading, generators of their own, rounds, normalization."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, counts, did_you_mean
from runtime.core import pictures
from runtime.image.augmenters import Augmenter
from runtime.image.draws import Draws, source
from runtime.image.iterator import ImageIter
from runtime.io.io import DataBatch, DataDesc, MXDataIter
from runtime.ndarray import NDArray
from runtime.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO

_log = logging.getLogger(__name__)
"""Not the root logger's functions, which would keep a later `logging.basicConfig` from doing anything."""

_MEANINGLESS = {
    *("preprocess_threads", "prefetch_buffer", "shuffle_chunk_size", "shuffle_chunk_seed"),
    *("verbose", "ctx", "device_id"),
    "and_mirror",  # not an argument of MXNet either, whose examples give it
}
"""Arguments that change nothing: images are read by this thread, when they are asked for, into memory of the CPU."""

_NORMAL: dict[str, Any] = {
    "mean_img": "",
    **{f"mean_{colour}": 0.0 for colour in "rgba"},
    **{f"std_{colour}": 1.0 for colour in "rgba"},
    "mirror": False,
    "rand_mirror": False,
    "scale": 1.0,
    "max_random_contrast": 0.0,
    "max_random_illumination": 0.0,
}
"""Arguments of the normalization, and what they are if not given."""


def taken(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """`known` with the values of `given`; ArgumentError for an argument that is not there."""
    for key in given:
        if key not in known and key not in _MEANINGLESS:
            raise ArgumentError(f"{name} has no argument '{key}'{did_you_mean(key, [*known, *_MEANINGLESS])}")
    return {key: given.get(key, value) for key, value in known.items()}


class RecordsIter(MXDataIter, ImageIter):
    """The base class: an `ImageIter` over records in the order of their file, or with `shuffle` in drawn orders.

    Augmenters draw from generators that `seed_aug` (by default 0) seeds for each iterator anew. With `round_batch` the
    next round begins after the records that fill up a last batch, else with the first ones.
    """

    READING: Mapping[str, Any] = {
        "path_imgrec": None,
        "path_imgidx": None,
        "path_imglist": None,
        "num_parts": 1,
        "part_index": 0,
        "shuffle": False,
        "seed": 0,
        "seed_aug": None,
        "round_batch": True,
        "dtype": None,
        "data_name": "data",
        "label_name": "softmax_label",
    }
    NORMAL: Mapping[str, Any] = _NORMAL

    def __init__(
        self,
        data_shape: Sequence[int],
        batch_size: int,
        label_width: int,
        augmenters: list[Augmenter],
        reading: Mapping[str, Any],
        normal: Mapping[str, Any],
    ) -> None:
        name = type(self).__name__
        if not reading["path_imgrec"]:
            raise ArgumentError(f"{name}: path_imgrec, the file of records, is missing")
        self._dtype = np.dtype(reading["dtype"] or np.float32)
        if self._dtype not in (np.float32, np.uint8, np.int8):
            raise ArgumentError(f"{name}: dtype is float32, uint8 or int8, not {self._dtype}")
        self._order = random.Random(reading["seed"])
        self._draws = Draws(reading["seed_aug"] or 0)
        self._round, self._continues = reading["round_batch"], False
        self._read: DataBatch | None = None
        super().__init__(
            batch_size,
            data_shape,
            label_width,
            path_imgrec=reading["path_imgrec"],
            path_imgidx=reading["path_imgidx"],
            path_imglist=reading["path_imglist"] or None,
            shuffle=reading["shuffle"],
            part_index=reading["part_index"],
            num_parts=reading["num_parts"],
            aug_list=augmenters,
            data_name=reading["data_name"],
            label_name=reading["label_name"],
        )
        self.provide_data = [DataDesc(reading["data_name"], self.provide_data[0].shape, self._dtype.type)]
        self._normal = normal
        self._mean = self._means(normal)

    # ------------------------------------------------------------ records

    def _records(self, rec: Any, idx: Any) -> list[MXRecordIO]:
        path = Path(os.fspath(rec))
        if not path.exists():
            raise MXNetError(f"{type(self).__name__}: there is no file '{path}'")
        files = sorted(path.glob("*.rec")) if path.is_dir() else [path]
        beside = path.with_suffix(".idx")
        self._idx = idx or (beside if len(files) == 1 and beside.is_file() else None)
        return [MXRecordIO(file, "r") for file in files]

    def _sequence(self, shuffle: bool, part: int, parts: int) -> list[Any]:
        """The files and offsets of the records to read."""
        if self._idx is None:
            places = [(file, at) for file in self.imgrec for at in file.offsets()]
        else:
            with MXIndexedRecordIO(self._idx, self.imgrec[0].uri, "r") as index:
                places = [(self.imgrec[0], index.idx[key]) for key in index.keys]
        if not places:
            raise MXNetError(f"{type(self).__name__}: there is no record in {[file.uri for file in self.imgrec]}")
        return self._part(places, part, parts)

    def _start(self) -> None:
        self._rewind()
        self._ended = False

    def _rewind(self) -> None:
        if self.shuffle:
            self._order.shuffle(self.seq)
        super()._rewind()

    def reset(self) -> None:
        if self._continues and self.cur < len(self.seq):
            self._ended = False
        else:
            self._start()
        self._continues = False

    def next_sample(self) -> tuple[Any, bytes]:
        if self.cur >= len(self.seq):
            raise StopIteration
        file, at = self.seq[self.cur]
        self.cur += 1
        header, content = self._record(file, at)
        if self.imglist is None:
            return header.label, content
        if header.id not in self.imglist:
            raise MXNetError(f"{self._name} has no line in the list of images")
        return self.imglist[header.id][0], content

    def _record(self, file: MXRecordIO, at: int) -> tuple[IRHeader, bytes]:
        """The header and the content of a record, which becomes the current one."""
        self._name = f"the record at offset {at} of '{file.uri}'"
        header, content = self._unpacked(file.read_at(at))
        self._name = f"the record of id {header.id} at offset {at} of '{file.uri}'"
        return header, content

    def imdecode(self, s: bytes) -> NDArray:
        """The pixels with as many channels as `data_shape` has."""
        channels = self.data_shape[0]
        pixels = pictures.decode(s, {1: 0, 3: 1, 4: -1}[channels], self._name)
        pixels = pixels[..., None] if pixels.ndim == 2 else pixels
        if pixels.shape[2] != channels:
            raise MXNetError(f"{self._name} has {pixels.shape[2]} channels, and data_shape {channels}")
        return nd.array(pixels, dtype=np.uint8)

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        if len(data_shape) != 3 or data_shape[0] not in (1, 3, 4):
            raise ArgumentError(
                f"{type(self).__name__}: data_shape is (channels, height, width) with 1, 3 or 4 channels, "
                f"not {tuple(data_shape)}"
            )

    # ------------------------------------------------------------ batches

    def iter_next(self) -> bool:
        with self._draws.in_place():
            try:
                self._read = ImageIter.next(self)
            except StopIteration:
                return False
        self._continues = bool(self._round and self._read.pad)
        return True

    def _current(self) -> DataBatch:
        if self._read is None:
            raise MXNetError(f"{type(self).__name__}: there is no batch yet; call next() or iter_next()")
        return self._read

    def getdata(self) -> NDArray:
        return self._current().data[0]

    def getlabel(self) -> NDArray:
        return self._current().label[0]

    def getpad(self) -> int:
        return self._current().pad

    def getindex(self) -> np.ndarray:
        """Zeros, as MXNet has them."""
        return np.zeros(self.batch_size, np.uint64)

    # ------------------------------------------------------------ colours

    def _means(self, normal: Mapping[str, Any]) -> np.ndarray:
        """What is subtracted from an image: numbers for its channels, or an image."""
        if not normal["mean_img"]:
            return _colours(normal, "mean", self.data_shape[0])
        path = Path(normal["mean_img"])
        if not path.is_file():
            _log.info("%s: the mean of all images is computed, and written to '%s'", type(self).__name__, path)
            nd.save(os.fspath(path), {"mean_img": nd.array(self._mean_of_all())})
        loaded = nd.load(os.fspath(path))
        found = loaded.get("mean_img") if isinstance(loaded, dict) else next(iter(loaded), None)
        if found is None or found.shape != self.data_shape:
            shape = None if found is None else found.shape
            raise MXNetError(f"'{path}' has an image 'mean_img' of shape {shape}, which must be {self.data_shape}")
        return found.asnumpy()

    def _mean_of_all(self) -> np.ndarray:
        total, images = np.zeros(self.data_shape), 0
        with self._draws.in_place():
            try:
                while True:
                    total += self._sample()[0]
                    images += 1
            except StopIteration:
                self._start()
        return total / images

    def _stacked(self, samples: list[Any]) -> NDArray:
        data = super()._stacked(samples).asnumpy()
        return nd.array(self._normalized(data), dtype=self._dtype)

    def _normalized(self, data: np.ndarray) -> np.ndarray:
        """The images as batches hold them: of float32 normalized, of int8 less the mean, of uint8 as they are."""
        normal = self._normal
        data = data if self._dtype == np.uint8 else data - self._mean
        mirrored = np.full(len(data), bool(normal["mirror"]))
        if normal["rand_mirror"]:
            mirrored |= source.numpy.random_sample(len(data)) < 0.5
        data[mirrored] = data[mirrored][..., ::-1]
        if self._dtype == np.uint8:
            return np.rint(data).clip(0, 255)
        if self._dtype == np.int8:
            return np.ceil(data - 0.5).clip(-128, 127)
        contrast, light = (
            source.numpy.uniform(-normal[name], normal[name], (len(data), 1, 1, 1)) if normal[name] else 0.0
            for name in ("max_random_contrast", "max_random_illumination")
        )
        return (data * (1 + contrast) + light) * normal["scale"] / _colours(normal, "std", data.shape[1])


def _colours(normal: Mapping[str, Any], kind: str, channels: int) -> np.ndarray:
    """The arguments `KIND_r` and so on, (channels, 1, 1); of `std` 0 is 1."""
    numbers = np.array([normal[f"{kind}_{colour}"] for colour in "rgba"[:channels]], np.float32)
    if kind == "std":
        numbers[numbers == 0] = 1
    return numbers[:, None, None]


def sized(data_shape: Sequence[int]) -> tuple[int, int]:
    """The width and the height of images of a shape (channels, height, width)."""
    shape = counts("data_shape", data_shape)
    if len(shape) != 3:
        raise ArgumentError(f"data_shape is (channels, height, width), not {shape}")
    return shape[2], shape[1]
