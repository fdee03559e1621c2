"""Data sets of tests and examples, which are downloaded where they are not there, and an endless iterator for measuring
speed."""

from __future__ import annotations

import bz2
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from runtime.base import MissingFileError
from runtime.core import files, idx_file
from runtime.io import DataBatch, DataIter, MNISTIter
from runtime.test_utils.settings import download

_DATA = Path("data")
_SERVER = "http://data.mxnet.io"
_DIGITS = {f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")}


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST as 'train_data', 'train_label', 'test_data' and 'test_label': images, (n, 1, 28, 28) of float32 in [0, 1],
    and int8 labels. The files (`train-images-idx3-ubyte.gz`, ...) are those of the current folder."""
    found = {}
    for name, part in (("train", "train"), ("test", "t10k")):
        images, labels = (
            idx_file.read(download(f"{_SERVER}/data/mnist/{part}-{what}-ubyte.gz"))
            for what in ("images-idx3", "labels-idx1")
        )
        found[f"{name}_data"] = images[:, None].astype(np.float32) / 255
        found[f"{name}_label"] = labels.astype(np.int8)
    return found


def get_mnist_ubyte() -> None:
    """See that the files of MNIST (`train-images-idx3-ubyte`, ...) are in the folder `data`."""
    _unpacked("mnist.zip", _DIGITS)


def get_mnist_pkl() -> None:
    """See that the file `mnist.pkl.gz` is in the folder `data`."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname=str(_DATA))


def get_cifar10() -> None:
    """See that the record files of CIFAR10 (`train.rec`, `test.rec`, their lists) are in the folder `data/cifar`."""
    _unpacked("cifar10.zip", {f"cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst")})


def _unpacked(archive: str, names: Iterable[str]) -> None:
    if not all((_DATA / name).exists() for name in names):
        with zipfile.ZipFile(download(f"{_SERVER}/mxnet/data/{archive}", dirname=str(_DATA))) as packed:
            packed.extractall(_DATA)


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int = 1, part_index: int = 0
) -> tuple[MNISTIter, MNISTIter]:
    """Batches of `get_mnist_ubyte` to train with, shuffled, and to test with: images of `input_shape`, (1, 28, 28) or
    (784,). Of `num_parts` equal parts of each it is the one with number `part_index`."""
    get_mnist_ubyte()

    def batches(part: str, shuffle: bool) -> MNISTIter:
        return MNISTIter(
            _DATA / f"{part}-images-idx3-ubyte",
            _DATA / f"{part}-labels-idx1-ubyte",
            batch_size,
            shuffle,
            input_shape=input_shape,
            num_parts=num_parts,
            part_index=part_index,
        )

    return batches("train", True), batches("t10k", False)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Download the archive `url`, called `data_origin_name`, to `data_dir` and unpack it there. Not if it is there."""
    archive = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(archive):
        download(url, dirname=data_dir)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(data_dir)


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[str, int]:
    """The prefix and the epoch, 0, of the files `MODEL_NAME-symbol.json` and `MODEL_NAME-0000.params` in `dst_dir`.

    `meta_info` has the urls 'symbol' and 'params' of models by name; they are asked for files that are not there.
    MissingFileError names a file that is not there, and has no url.
    """
    prefix = os.path.join(dst_dir, model_name)
    urls = (meta_info or {}).get(model_name, {})
    for kind, ending in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        if not os.path.exists(prefix + ending):
            if kind not in urls:
                raise MissingFileError(
                    f"download_model: '{prefix}{ending}' is not there; put the file there, or give its url as meta_info"
                )
            download(urls[kind], model_name + ending, dst_dir)
    return prefix, 0


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Download `url`, called `data_origin_name`, to `data_dir` and unpack it to `data_name`. Not if that is there."""
    target, packed = Path(data_dir, data_name), Path(data_dir, data_origin_name)
    if not target.exists():
        download(url, data_origin_name, data_dir)
        with bz2.open(packed) as source, files.replacing(target) as file:
            shutil.copyfileobj(source, file)
        packed.unlink()


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
