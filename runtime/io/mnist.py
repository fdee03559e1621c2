"""An iterator over the files of MNIST."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError, count
from runtime.core import idx_file
from runtime.io.io import MXDataIter, NDArrayIter
from runtime.ndarray import NDArray


class MNISTIter(MXDataIter, NDArrayIter):
    """Batches of digits from files of the IDX format: bytes / 256 as float32, and classes as float32.

    A last batch that is not full is left out.

    Parameters
    ----------
    image, label: the files, compressed by gzip or not.
    batch_size: samples in a batch.
    shuffle: whether the samples are in the order that `seed` gives, the same in each round.
    flat: whether an image is a row of (height * width,) numbers; by default it is (1, height, width).
    seed: of the order.
    num_parts, part_index: of so many equal parts, the one to read.
    input_shape: the shape of an image where it is another.
    dtype: the element type of images and classes, by default float32.
    data_name, label_name: of the arrays.
    silent, prefetch_buffer, ctx, data_shape: ignored; nothing is printed or read ahead, and batches are in the memory
        of the CPU.
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
        input_shape: Sequence[int] | None = None,
        data_shape: Sequence[int] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        images, labels = idx_file.read(image), idx_file.read(label)
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise MXNetError(f"MNISTIter: images of shape {images.shape}, but labels of shape {labels.shape}")
        parts, part = count("num_parts", num_parts), count("part_index", part_index, 0)
        if part >= parts:
            raise ArgumentError(f"MNISTIter: part_index is from 0 to {parts - 1}, not {part}")
        order = np.random.RandomState(seed).permutation(len(images)) if shuffle else np.arange(len(images))
        size = len(images) // parts
        rows = order[part * size : (part + 1) * size]
        shape = (-1,) if flat else (1, *images.shape[1:])
        dtype = np.dtype(dtype or np.float32)
        data = (images[rows] * np.float32(1 / 256)).astype(dtype).reshape(size, *(input_shape or shape))
        classes = labels[rows].astype(dtype)
        super().__init__({data_name: data}, {label_name: classes}, batch_size, last_batch_handle="discard")

    def getdata(self) -> NDArray:
        """The data of the batch."""
        return super().getdata()[0]

    def getlabel(self) -> NDArray:
        """The labels of the batch."""
        return super().getlabel()[0]
