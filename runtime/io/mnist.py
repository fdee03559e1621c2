"""MNIST's files of digits, in the IDX format (yann.lecun.com/exdb/mnist), and the iterator over them."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, count
from runtime.io.files import _RowsIter


class MNISTIter(_RowsIter):
    """Digits and their classes. Pixels are float32 in [0, 1), (batch_size, 1, 28, 28). A last, smaller batch is left
    out.

    Parameters
    ----------
    image, label: the files, compressed with gzip or not.
    batch_size: samples in a batch.
    shuffle: whether the samples are in an order drawn with `seed`, which is the same in each round.
    flat: whether the pixels of a digit are one axis, (batch_size, 784).
    seed: of the order.
    num_parts, part_index: of so many parts of consecutive samples, the one to read.
    dtype: the element type, by default float32.
    input_shape, data_shape, silent, prefetch_buffer, ctx: ignored. The files and `flat` tell the shape, nothing is
        printed or read ahead, and batches are in the memory of the CPU.
    """

    def __init__(
        self,
        image: str | os.PathLike[str] = "./train-images-idx3-ubyte",
        label: str | os.PathLike[str] = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        prefetch_buffer: int = 4,
        ctx: Any = None,
        dtype: Any = None,
        input_shape: Any = None,
        data_shape: Any = None,
    ) -> None:
        pixels, classes = read_idx(image), read_idx(label)
        if pixels.ndim != 3 or classes.ndim != 1:
            raise MXNetError(f"MNISTIter: '{image}' has {pixels.ndim} axes, not 3, or '{label}' {classes.ndim}, not 1")
        part, parts = count("part_index", part_index, 0), count("num_parts", num_parts)
        if part >= parts:
            raise ArgumentError(f"MNISTIter: part_index is from 0 to {parts - 1}, not {part}")
        own = slice(len(pixels) * part // parts, len(pixels) * (part + 1) // parts)
        data = pixels[own].astype(np.float32).reshape(-1, *((784,) if flat else (1, 28, 28))) / 256
        super().__init__(nd.array(data, dtype=dtype), nd.array(classes[own], dtype=dtype), batch_size, False)
        if shuffle:
            self._order = np.random.RandomState(seed).permutation(self._order)

    def iter_next(self) -> bool:
        return self._next + self.batch_size <= len(self._order) and super().iter_next()


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array of bytes in a file of the IDX format, compressed or not."""
    try:
        with open(path, "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if compressed else open)(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError) as error:
        raise MXNetError(f"'{path}' cannot be read: {error}") from None
    axes = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content[4 : 4 + 4 * axes], ">u4").tolist() if len(content) >= 4 + 4 * axes else []
    if not shape or len(content) - 4 - 4 * axes != np.prod(shape, dtype=object):
        raise MXNetError(f"'{path}' is no complete IDX file of bytes")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
