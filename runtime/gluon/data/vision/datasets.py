"""MNIST, FashionMNIST, CIFAR and folders of images. Missing files are downloaded."""

from __future__ import annotations

import os
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from runtime import image
from runtime import ndarray as nd
from runtime.base import MXNetError, data_dir
from runtime.core import files, idx_file
from runtime.gluon.data.dataset import Dataset, RecordFileDataset
from runtime.gluon.utils import _get_repo_file_url, check_sha1, download
from runtime.ndarray import NDArray
from runtime.recordio import unpack

Transform = Callable[[NDArray, Any], Any]


class _Downloaded(Dataset):
    """Images, (height, width, channels) of uint8, and classes, as int32.

    Parameters
    ----------
    root: folder of the files; those that are not there, or have another checksum, are downloaded to it. By default
        `$MXNET_HOME/datasets/NAME`, or `~/.mxnet/datasets/NAME`.
    train: the images to train with, rather than those to test with.
    transform: `transform(image, class)` gives the sample; by default it is the pair of both.
    """

    name: str

    def __init__(
        self, root: str | os.PathLike[str] | None = None, train: bool = True, transform: Transform | None = None
    ) -> None:
        self._root = Path(data_dir(), "datasets", self.name) if root is None else Path(root).expanduser()
        self._root.mkdir(parents=True, exist_ok=True)
        self._transform = transform
        images, self._label = self._read(train)
        self._data = nd.array(images, dtype=np.uint8)

    def _read(self, train: bool) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _file(self, name: str, sha1: str) -> str:
        """The path of a file with this checksum, downloaded if need be."""
        url = _get_repo_file_url(f"gluon/dataset/{self.name}", name)
        try:
            return download(url, self._root, sha1_hash=sha1)
        except Exception as error:
            raise MXNetError(
                f"{self.name}: '{self._root / name}' with the SHA-1 hash {sha1} is not there, and could not be "
                f"downloaded from {url}: {error}"
            ) from None

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)


class MNIST(_Downloaded):
    """Handwritten digits (LeCun, Cortes and Burges): 60,000 and 10,000 images, (28, 28, 1), of 10 classes."""

    name = "mnist"
    files: ClassVar = {
        "train-images-idx3-ubyte.gz": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
        "train-labels-idx1-ubyte.gz": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
        "t10k-images-idx3-ubyte.gz": "c3a25af1f52dad7f726cce8cacb138654b760d48",
        "t10k-labels-idx1-ubyte.gz": "763e7fa3757d93b0cdec073cef058b2004252c17",
    }

    def _read(self, train: bool) -> tuple[np.ndarray, np.ndarray]:
        part = "train" if train else "t10k"
        images, labels = (
            idx_file.read(self._file(name, sha1)) for name, sha1 in self.files.items() if name.startswith(part)
        )
        if len(images) != len(labels):
            raise MXNetError(f"{self._root}: {len(images)} images, but {len(labels)} labels")
        return images[..., None], labels.astype(np.int32)


class FashionMNIST(MNIST):
    """Articles of clothing (Xiao, Rasul and Vollgraf, 2017): 60,000 and 10,000 images, (28, 28, 1), of 10 classes."""

    name = "fashion-mnist"
    files: ClassVar = {
        "train-images-idx3-ubyte.gz": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
        "train-labels-idx1-ubyte.gz": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
        "t10k-images-idx3-ubyte.gz": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
        "t10k-labels-idx1-ubyte.gz": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
    }


class CIFAR10(_Downloaded):
    """Photographs (Krizhevsky, 2009): 50,000 and 10,000 images, (32, 32, 3), of 10 classes."""

    name = "cifar10"
    archive: ClassVar = ("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891")
    training: ClassVar = {
        "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
        "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
        "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
        "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
        "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    }
    testing: ClassVar = {"test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c"}
    labels = 1
    """Bytes before each image; the last is the class."""

    def _read(self, train: bool) -> tuple[np.ndarray, np.ndarray]:
        parts = self.training if train else self.testing
        if not all(self._is_there(name, sha1) for name, sha1 in parts.items()):
            _unpack(self._file(*self.archive), parts, self._root)
        images, labels = zip(*(self._batch(self._root / name) for name in parts), strict=True)
        return np.concatenate(images), np.concatenate(labels)

    def _is_there(self, name: str, sha1: str) -> bool:
        path = self._root / name
        return path.exists() and check_sha1(path, sha1)

    def _batch(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        content = np.fromfile(path, np.uint8)
        size = self.labels + 3 * 32 * 32
        if not len(content) or len(content) % size:
            raise MXNetError(f"'{path}' is no file of images of {size} bytes")
        rows = content.reshape(-1, size)
        images = rows[:, self.labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, rows[:, self._label_column()].astype(np.int32)

    def _label_column(self) -> int:
        return 0


class CIFAR100(CIFAR10):
    """Photographs (Krizhevsky, 2009): 50,000 and 10,000 images, (32, 32, 3), of 20 classes.

    With `fine_label`, of 100 classes.
    """

    name = "cifar100"
    archive: ClassVar = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    training: ClassVar = {"train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"}
    testing: ClassVar = {"test.bin": "8fb6623e830365ff53cf14adec797474f5478006"}
    labels = 2

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ) -> None:
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _label_column(self) -> int:
        return int(self._fine_label)


def _unpack(archive: str, names: dict[str, str], folder: Path) -> None:
    """Extract the files of these names from an archive, whatever their folders in it."""
    with tarfile.open(archive) as tar:
        found = {os.path.basename(member.name): member for member in tar.getmembers() if member.isfile()}
        for name in names:
            if name not in found:
                raise MXNetError(f"'{archive}' has no file '{name}'")
            files.write(folder / name, tar.extractfile(found[name]).read())


class ImageRecordDataset(RecordFileDataset):
    """Images with their labels in a file `x.rec` with its index `x.idx`. Reading them needs Pillow.

    Parameters
    ----------
    filename: the file of records that `recordio.pack` made, or MXNet's tool `im2rec`.
    flag: 1 for colours, (height, width, 3); 0 for grey, (height, width, 1).
    transform: `transform(image, label)` gives the sample; by default it is the pair of both.
    """

    def __init__(self, filename: str | os.PathLike[str], flag: int = 1, transform: Transform | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        record = super().__getitem__(idx)
        try:
            header, content = unpack(record)
            picture = image.imdecode(content, self._flag)
        except MXNetError as error:
            raise MXNetError(f"'{self.filename}', sample {idx}: {error}") from None
        return (picture, header.label) if self._transform is None else self._transform(picture, header.label)


class ImageFolderDataset(Dataset):
    """Images in folders, one for each class: `root/car/0001.jpg`. Reading them needs Pillow.

    Parameters
    ----------
    root: the folder of the folders.
    flag: 1 for colours, (height, width, 3); 0 for grey, (height, width, 1).
    transform: `transform(image, class)` gives the sample; by default it is the pair of both.

    `synsets` are the names of the classes, in order; `items` are pairs of a file and its class.
    """

    extensions = (".jpg", ".jpeg", ".png")

    def __init__(self, root: str | os.PathLike[str], flag: int = 1, transform: Transform | None = None) -> None:
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(Path(root).expanduser().iterdir()):
            if not folder.is_dir():
                warnings.warn(f"'{folder}' is passed over: it is no folder of a class", stacklevel=2)
                continue
            for path in sorted(folder.iterdir()):
                if path.suffix.lower() in self.extensions:
                    self.items.append((str(path), len(self.synsets)))
                else:
                    warnings.warn(f"'{path}' is passed over: not one of {', '.join(self.extensions)}", stacklevel=2)
            self.synsets.append(folder.name)

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        picture = image.imread(path, self._flag)
        return (picture, label) if self._transform is None else self._transform(picture, label)

    def __len__(self) -> int:
        return len(self.items)
