"""MNIST, and an endless iterator for measuring speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.gluon.data.vision import MNIST
from runtime.io import DataBatch, DataIter, NDArrayIter


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST as 'train_data', 'train_label', 'test_data' and 'test_label': images, (n, 1, 28, 28) of float32 in [0, 1],
    and int8 labels. The files are those of `gluon.data.vision.MNIST()`, which downloads them if they are not there."""
    found = {}
    for part, train in (("train", True), ("test", False)):
        images, labels = _mnist(train)
        found |= {f"{part}_data": images, f"{part}_label": labels}
    return found


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int = 1, part_index: int = 0
) -> tuple[NDArrayIter, NDArrayIter]:
    """Batches of `get_mnist` to train with, shuffled, and to test with: images of `input_shape`, (1, 28, 28) or (784,).

    Of `num_parts` equal parts of each it is the one with number `part_index`.
    """

    def batches(train: bool) -> NDArrayIter:
        images, labels = _mnist(train)
        size = len(images) // num_parts
        part = slice(part_index * size, (part_index + 1) * size)
        data = images[part].reshape(-1, *input_shape)
        return NDArrayIter(data, labels[part].astype(np.float32), batch_size, train, "discard")

    return batches(True), batches(False)


def _mnist(train: bool) -> tuple[np.ndarray, np.ndarray]:
    digits = MNIST(train=train)
    images = digits._data.asnumpy().transpose(0, 3, 1, 2).astype(np.float32) / 255
    return images, digits._label.astype(np.int8)


class DummyIter(DataIter):
    """Gives the first batch of `real_iter` again and again, without end."""

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self) -> DataBatch:
        return self.the_batch
