"""Sets of images read from files made here, and what is done to images: beside figures computed by MXNet 1.9.1."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import runtime as mx
from runtime import MXNetError, gluon, nd, recordio
from runtime.gluon import nn
from runtime.gluon.data import vision
from runtime.gluon.data.vision import transforms

# ---------------------------------------------------------------- sets of images


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes())


def checksums(monkeypatch: pytest.MonkeyPatch, cls: type, attribute: str, files: dict[str, bytes]) -> None:
    monkeypatch.setattr(cls, attribute, {name: hashlib.sha1(content).hexdigest() for name, content in files.items()})


@pytest.fixture
def mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    images = np.arange(3 * 28 * 28).astype(np.uint8).reshape(3, 28, 28)
    contents = [idx(images), idx(np.array([7, 8, 9], np.uint8)), idx(images[:1]), idx(np.array([5], np.uint8))]
    files = dict(zip(vision.MNIST.files, contents, strict=True))
    checksums(monkeypatch, vision.MNIST, "files", files)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_mnist_from_a_folder(mnist: Path) -> None:
    train, test = vision.MNIST(mnist), vision.MNIST(root=str(mnist), train=False)
    assert len(train) == 3 and len(test) == 1
    image, label = train[1]
    assert image.shape == (28, 28, 1) and image.dtype is np.uint8 and label == 8
    assert image[0, 2, 0].asscalar() == (28 * 28 + 2) % 256
    halved = vision.MNIST(mnist, transform=lambda x, y: (x.astype("float32") / 2, -y))
    assert halved[0][1] == -7 and halved[0][0][0, 9, 0].asscalar() == 4.5
    loader = gluon.data.DataLoader(train.transform_first(transforms.ToTensor()), batch_size=3)
    [(x, y)] = loader
    assert x.shape == (3, 1, 28, 28) and y.asnumpy().tolist() == [7, 8, 9]


def test_files_that_are_damaged_or_missing(mnist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://127.0.0.1:9/")
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        whole = (mnist / name).read_bytes()
        for content in (whole[:-9], idx(np.zeros((3, 28), np.uint8))[:-1], gzip.compress(b"\0\0\x08\x03\xff"), b"text"):
            (mnist / name).write_bytes(content)
            checksums(monkeypatch, vision.MNIST, "files", {n: (mnist / n).read_bytes() for n in vision.MNIST.files})
            with pytest.raises(MXNetError, match=name):
                vision.MNIST(mnist)
        (mnist / name).write_bytes(whole)
    (mnist / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(
        MXNetError, match=r"t10k-images.* is not there, and could not be downloaded from http://127\.0\.0\.1"
    ):
        vision.MNIST(mnist, train=False)


@pytest.mark.parametrize(("cls", "labels"), [(vision.CIFAR10, 1), (vision.CIFAR100, 2)])
def test_cifar_from_its_archive(cls: Any, labels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    files = {name: random.bytes(2 * (labels + 3072)) for name in [*cls.training, *cls.testing]}
    checksums(monkeypatch, cls, "training", {name: files[name] for name in cls.training})
    checksums(monkeypatch, cls, "testing", {name: files[name] for name in cls.testing})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"../elsewhere/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    (tmp_path / cls.archive[0]).write_bytes(packed.getvalue())
    monkeypatch.setattr(cls, "archive", (cls.archive[0], hashlib.sha1(packed.getvalue()).hexdigest()))
    train = cls(tmp_path)
    assert len(train) == 2 * len(cls.training) and len(cls(tmp_path, train=False)) == 2
    first = np.frombuffer(files[next(iter(cls.training))], np.uint8)[: labels + 3072]
    image, label = train[0]
    assert label == first[0] and (image.asnumpy() == first[labels:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    if labels == 2:
        assert cls(tmp_path, fine_label=True)[0][1] == first[1]


def test_images_in_folders(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.RandomState(0).randint(0, 256, (5, 4, 3)).astype(np.uint8)
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        image.fromarray(pixels).save(tmp_path / name / "a.png")
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "readme").write_text("no folder")
    with pytest.warns(UserWarning, match="passed over"):
        dataset = vision.ImageFolderDataset(tmp_path)
    assert dataset.synsets == ["cat", "dog"] and len(dataset) == 2
    x, label = dataset[1]
    assert (x.asnumpy() == pixels).all() and label == 1
    with pytest.warns(UserWarning):
        assert vision.ImageFolderDataset(tmp_path, flag=0)[0][0].shape == (5, 4, 1)


def test_records_of_images(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    with recordio.MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as file:
        file.write_idx(4, recordio.pack_img((0, 7, 4, 0), PIXELS[..., ::-1], 9, ".png"))
        file.write_idx(2, recordio.pack_img((0, [1, 2], 2, 0), PIXELS[..., ::-1], 9, ".png"))
        file.write_idx(3, recordio.pack((0, 0, 3, 0), b"none"))
    dataset = vision.ImageRecordDataset(tmp_path / "x.rec")
    assert len(dataset) == 3 and dataset[0][1] == 7 and dataset[1][1].tolist() == [1, 2]
    assert (dataset[1][0].asnumpy() == PIXELS).all()
    assert vision.ImageRecordDataset(tmp_path / "x.rec", 0, lambda x, y: x.shape)[0] == (3, 2, 1)
    with pytest.raises(mx.MXNetError, match=r"x.rec', sample 2: the buffer is no picture"):
        dataset[2]
    assert (recordio.unpack_img(recordio.pack_img((0, 1, 2, 3), PIXELS, 9, ".png"))[1] == PIXELS).all()


# ---------------------------------------------------------------- what is done to images

PIXELS = np.random.RandomState(0).randint(0, 256, (3, 2, 3)).astype(np.uint8)
IMAGE = nd.array(PIXELS, dtype=np.uint8)


def test_tensors_for_networks() -> None:
    x = transforms.ToTensor()(IMAGE)
    assert_allclose(x.asnumpy(), PIXELS.transpose(2, 0, 1) / np.float32(255), rtol=1e-6)
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    normal = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])(IMAGE).asnumpy()
    assert_allclose(normal[2], (PIXELS[..., 2] / 255 - 0.3) / 0.7, rtol=1e-5)
    assert transforms.Cast("float64")(IMAGE).dtype is np.float64
    assert nd.image.to_tensor(nd.stack(IMAGE, IMAGE)).shape == (2, 3, 3, 2)


def test_hybrid_transforms_in_a_row_are_one_block_as_names_count_it() -> None:
    steps = [transforms.Cast(), transforms.ToTensor(), lambda x: x + 1, transforms.Cast("float64")]
    before, made, after = nn.HybridSequential(), transforms.Compose(steps), nn.HybridSequential()
    assert [type(block).__name__ for block in made] == ["HybridSequential", "_Function", "Cast"]
    assert list(made[0]) == steps[:2] and len(steps) == 4
    counts = [int(block.name.removeprefix("hybridsequential")) for block in (before, made[0], after)]
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]
    assert_allclose(made(IMAGE).asnumpy()[:, 0, 1], 1 + PIXELS[0, 1] / 255, rtol=1e-6)


def test_sizes_and_places() -> None:
    assert (transforms.Resize((2, 3))(IMAGE).asnumpy() == PIXELS).all()
    assert transforms.Resize(4, keep_ratio=True)(IMAGE).shape == (6, 4, 3)
    assert nd.image.resize(nd.stack(IMAGE, IMAGE), (5, 7)).shape == (2, 7, 5, 3)
    ramp = nd.array(np.arange(4.0).reshape(1, 4, 1) * np.ones((3, 1, 1)))
    assert_allclose(nd.image.resize(ramp, (8, 3)).asnumpy()[0, :, 0], [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3])
    assert_allclose(nd.image.resize(ramp, (2, 3), interp=0).asnumpy()[0, :, 0], [0, 2])
    for interp in range(5):
        found = transforms.Resize((9, 7), interpolation=interp)(nd.stack(IMAGE, IMAGE))
        assert (found[1].asnumpy() == mx.image.imresize(IMAGE, 9, 7, interp).asnumpy()).all()
    with pytest.raises(mx.MXNetError, match="interp is from 0"):
        nd.image.resize(IMAGE, 9, interp=5)
    assert (transforms.CropResize(1, 0, 1, 2)(IMAGE).asnumpy() == PIXELS[:2, 1:]).all()
    assert transforms.CropResize(0, 0, 2, 2, size=(4, 5))(IMAGE).shape == (5, 4, 3)
    for wrong in (transforms.Resize(-3), transforms.Resize((2, 2, 2)), transforms.CropResize(0, 0, 2, 2, (-1, 2))):
        with pytest.raises(mx.MXNetError, match="size is one or two positive integers"):
            wrong(IMAGE)  # at the call, as in MXNet
    assert (transforms.CenterCrop(1)(nd.array(np.arange(9).reshape(3, 3, 1))).asnumpy() == 4).all()
    assert transforms.CenterCrop((4, 4))(IMAGE).shape == (4, 4, 3)
    assert transforms.RandomResizedCrop(5)(IMAGE).shape == (5, 5, 3)
    assert (nd.image.flip_left_right(IMAGE).asnumpy() == PIXELS[:, ::-1]).all()
    assert (nd.image.flip_top_bottom(IMAGE).asnumpy() == PIXELS[::-1]).all()
    for wrong in ((1, 0, 2, 2), (-1, 0, 1, 1), (0, 0, 0, 1)):
        with pytest.raises(MXNetError, match="is no part of images of 2x3"):
            nd.image.crop(IMAGE, *wrong)


def test_turned_images() -> None:
    x = nd.array(np.random.RandomState(0).rand(2, 4, 6))
    wanted = {
        (30,): [0.0, 0.076, 0.759, 0.447, 0.353, 0.314],
        (30, True): [0.304, 0.319, 0.611, 0.501, 0.192, 0.286],
        (-75, False, True): [0.0, 0.174, 0.398, 0.249, 0.0, 0.0],
    }
    for arguments, row in wanted.items():
        assert_allclose(transforms.Rotate(*arguments)(x).asnumpy()[1, 0], row, atol=6e-4)
    assert_allclose(transforms.Rotate(0)(x).asnumpy(), x.asnumpy(), atol=1e-6)
    assert transforms.RandomRotation((-90, 90))(x).shape == x.shape
    with pytest.raises(TypeError, match="must be of float32, not uint8"):
        transforms.Rotate(10)(IMAGE)
    with pytest.raises(ValueError, match="angle_limits"):
        transforms.RandomRotation((10, -10))


def test_colours() -> None:
    """By a factor of 0.7, as MXNet; of hues within one, for it computes them in another order."""
    colours = [
        ("random_brightness", [120, 32, 81, 134, 46, 175, 136, 72, 6], 0),
        ("random_contrast", [152, 65, 114, 166, 79, 207, 168, 104, 38], 0),
        ("random_hue", [46, 91, 172, 67, 250, 228, 140, 8, 195], 1),
    ]
    for name, wanted, off in colours:
        found = getattr(nd.image, name)(IMAGE, 0.7, 0.7).asnumpy().ravel()[: len(wanted)]
        assert abs(found.astype(int) - wanted).max() <= off, name
    gray = PIXELS @ [0.299, 0.587, 0.114]
    faded = nd.image.random_saturation(IMAGE.astype("float32"), 0, 0).asnumpy()
    assert_allclose(faded, np.repeat(gray[..., None], 3, axis=-1), rtol=1e-5)
    assert_allclose(nd.image.random_hue(IMAGE.astype("float32"), 1, 1).asnumpy(), PIXELS, atol=1e-3)
    lit = nd.image.adjust_lighting(nd.zeros((1, 1, 3)), (0.1, 0.2, 0.3)).asnumpy().ravel()
    assert_allclose(lit, [-2.3197, -3.5058, -3.7583], atol=1e-3)


def test_draws_follow_from_the_seed() -> None:
    blocks = [
        transforms.RandomBrightness(0.5),
        transforms.RandomContrast(0.5),
        transforms.RandomSaturation(0.5),
        transforms.RandomHue(0.2),
        transforms.RandomColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.RandomLighting(10),
        transforms.RandomFlipLeftRight(),
        transforms.RandomFlipTopBottom(),
        transforms.RandomApply(transforms.RandomLighting(10), 0.5),
        transforms.RandomResizedCrop(4),
    ]
    found = []
    for seed in (3, 3, 4):
        mx.random.seed(seed)
        found.append([np.stack([block(IMAGE).asnumpy() for _ in range(4)]) for block in blocks])
    for same, again, other in zip(*found, strict=True):
        assert same.dtype == np.uint8 and (same == again).all() and (same != other).any()
