"""Data sets, in files that are fetched where they are not there, and an endless iterator for measuring speed."""

from __future__ import annotations

import bz2
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from runtime.gluon.data.vision import MNIST
from runtime.io import DataBatch, DataIter, NDArrayIter
from runtime.test_utils.settings import download


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


def get_mnist_ubyte() -> None:
    """Have MNIST's four files, such as `train-images-idx3-ubyte`, in the folder `data` of the current one."""
    parts = [f"{part}-{what}" for part in ("train", "t10k") for what in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    _unpacked(parts, "http://data.mxnet.io/mxnet/data/mnist.zip")


def get_cifar10() -> None:
    """Have CIFAR-10 as files of records and lists, such as `train.rec`, in the folder `data/cifar`."""
    parts = [f"cifar/{part}.{ending}" for part in ("train", "test") for ending in ("rec", "lst")]
    _unpacked(parts, "http://data.mxnet.io/mxnet/data/cifar10.zip")


def _unpacked(names: Sequence[str], url: str) -> None:
    """Have the files of an archive in the folder `data`."""
    folder = Path("data")
    if not all((folder / name).exists() for name in names):
        with zipfile.ZipFile(download(url, dirname=str(folder))) as archive:
            archive.extractall(folder)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Have the archive `data_origin_name` in `data_dir`, and what is in it beside it."""
    archive = Path(data_dir, data_origin_name)
    if not archive.exists():
        download(url, dirname=data_dir)
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Have the file `data_name` in `data_dir`: what the compressed file `data_origin_name` at `url` holds."""
    if not Path(data_dir, data_name).exists():
        compressed = download(url, fname=data_origin_name, dirname=data_dir)
        with bz2.open(compressed) as source, open(Path(data_dir, data_name), "wb") as target:
            shutil.copyfileobj(source, target)
        Path(compressed).unlink()


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
