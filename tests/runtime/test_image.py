"""Pictures: their pixels and what becomes of them beside MXNet 1.9.1, with the same draws; iterators; errors."""

from __future__ import annotations

import colorsys
import io
import json
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import image, nd, recordio
from runtime.image import warping
from tests.process import run
from tests.runtime.peers import pictures

pillow = pytest.importorskip("PIL.Image")
DATA = Path(__file__).parent / "peers" / "data"
FOLDER = DATA / "pictures"


def test_what_becomes_of_pictures_is_what_mxnet_makes_of_them() -> None:
    expected = np.load(DATA / "pictures.npz")
    found = pictures.measure(mx, FOLDER)
    assert sorted(found) == sorted(expected)
    for key, value in found.items():
        assert value.shape == expected[key].shape, key
        off = np.abs(value.astype(np.float64) - expected[key])
        if key.startswith("resize 2"):  # cubic: OpenCV computes halves in two ways
            assert off.max() <= 1 and (off > 0).mean() < 3e-3, key
        else:
            assert off.max() <= (0 if value.dtype == np.uint8 else 1e-3), key


def content(picture: object, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, **options)  # type: ignore[attr-defined]
    return buffer.getvalue()


def test_decoding() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    png = content(pillow.fromarray(pixels), format="png")
    for buffer in (png, bytearray(png), np.frombuffer(png, np.uint8), nd.array(list(png), dtype="uint8")):
        assert (image.imdecode(buffer).asnumpy() == pixels).all()
    assert (image.imdecode(png, to_rgb=False).asnumpy() == pixels[..., ::-1]).all()
    assert image.imdecode(png, 0).shape == (2, 4, 1)
    deep = content(pillow.fromarray(np.array([[0, 256, 65535]], np.uint16)), format="png")
    assert image.imdecode(deep, 0).asnumpy().ravel().tolist() == [0, 1, 255]
    clear = content(pillow.fromarray(np.dstack([pixels, np.zeros((2, 4), np.uint8)])), format="png")
    assert (image.imdecode(clear).asnumpy() == pixels).all()
    turned = pillow.Exif()
    turned[274] = 6  # the camera was turned to the right
    assert image.imdecode(content(pillow.fromarray(pixels), format="png", exif=turned)).shape == (4, 2, 3)
    for quality, fmt in ((95, ".jpg"), (9, ".png")):
        assert recordio.unpack_img(recordio.pack_img((0, 1, 2, 0), pixels, quality, fmt))[1].shape == (2, 4, 3)
    with pytest.raises(ValueError, match=r"written as .jpg, .jpeg, .png, not as '.gif'"):
        recordio.pack_img((0, 1, 2, 0), pixels, 9, ".gif")


@pytest.mark.parametrize(
    ("buffer", "words"),
    [
        (b"", "the buffer is empty"),
        (b"no picture", r"no picture of a known format: its 10 bytes begin b'no pictu'"),
        ((FOLDER / "colours.jpg").read_bytes()[:-100], "cannot be decoded: .*truncated"),
        ((FOLDER / "6.png").read_bytes()[:100], "cannot be decoded"),
    ],
)
def test_what_is_no_picture(buffer: bytes, words: str) -> None:
    with pytest.raises(mx.MXNetError, match=words):
        image.imdecode(buffer)


def test_errors(tmp_path: Path) -> None:
    x = nd.zeros((4, 4, 3), dtype="uint8")
    with pytest.raises(ValueError, match="interp is 0 to 4, 9 or 10, not 5"):
        image.imresize(x, 2, 2, 5)
    with pytest.raises(ValueError, match=r"imresize: an image is an array \(height, width, channels\), not \(4, 4\)"):
        image.imresize(x[..., 0], 2, 2)
    with pytest.raises(ValueError, match="rand_resize needs rand_crop"):
        image.CreateAugmenter((3, 2, 2), rand_resize=True)
    with pytest.raises(ValueError, match=r"data_shape is \(3, height, width\), not \(1, 2, 2\)"):
        image.ImageIter(1, (1, 2, 2), imglist=[[0, "x"]])
    (tmp_path / "x.lst").write_text("0\t1\tx.png\n1 2 y.png\n")
    with pytest.raises(mx.MXNetError, match=r"x.lst', line 2: a key, labels and a path are expected"):
        image.ImageIter(1, (3, 2, 2), path_imglist=tmp_path / "x.lst")
    (tmp_path / "x.png").write_bytes(b"none")
    with pytest.raises(mx.MXNetError, match=r"x.png': the buffer is no picture"):
        next(image.ImageIter(1, (3, 2, 2), imglist=[[0, "x.png"]], path_root=tmp_path))
    with pytest.raises(mx.MXNetError, match="a label of 7 numbers with a header of 2 and objects of 4"):
        image.ImageDetIter(1, (3, 2, 2), imglist=[[[2, 4, 0, 0, 0, 1, 1], "0.png"]], path_root=FOLDER)


def test_the_augmenter_of_records() -> None:
    draws = np.random.default_rng(0)
    pixels = draws.integers(0, 256, (6, 6, 3)).astype(np.uint8)
    x = nd.array(pixels, dtype=np.uint8)
    assert (warping.WarpAug()(x) == x).asnumpy().all() and (warping.HLSJitterAug()(x) == x).asnumpy().all()
    turned = warping.WarpAug(rotate=90, fill=7)(x).asnumpy()  # as OpenCV has it, about the corner of the middle pixel
    assert (turned[0] == 7).all() and (turned[1:] == pixels.transpose(1, 0, 2)[:0:-1]).all()
    doubled = warping.WarpAug(scales=(2, 2), fill=7)(x).asnumpy()
    assert doubled.shape == (12, 12, 3) and (doubled[::2, ::2] == pixels).all()
    assert warping.WarpAug(sizes=(20, 30))(x).shape == (20, 20, 3) and warping.BorderAug(2)(x).shape == (10, 10, 3)
    for change in ((20, 0, 0), (0, 30, 0), (0, 0, 40)):
        random.seed(3)
        found = warping.HLSJitterAug(*change)(x).asnumpy()
        random.seed(3)
        h, li, s = (int(random.uniform(-most, most)) for most in change)
        for rgb, colour in zip(pixels.reshape(-1, 3) / 255, found.reshape(-1, 3), strict=True):
            hue, light, strong = colorsys.rgb_to_hls(*rgb)
            hls = [min(max(value, 0), 1) for value in (hue + h / 180, light + li / 255, strong + s / 255)]
            np.testing.assert_allclose(np.array(colorsys.hls_to_rgb(*hls)) * 255, colour, atol=0.51)


def test_drawn_images_of_records(tmp_path: Path) -> None:
    with recordio.MXRecordIO(tmp_path / "x.rec", "w") as file:
        for i in range(3):
            file.write(recordio.pack((0, i, i, 0), (FOLDER / f"{i}.png").read_bytes()))

    def batch(**kwargs: object) -> np.ndarray:
        it = mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 9, 12), 3, path_imgidx="", seed=1, **kwargs)
        return next(it).data[0].asnumpy()

    level = {"random_h": 36, "random_s": 50, "random_l": 50, "max_rotate_angle": 10, "max_shear_ratio": 0.1}
    several = batch(rand_crop=1, rand_mirror=1, pad=4, fill_value=127, max_aspect_ratio=0.25, **level)
    assert several.shape == (3, 3, 9, 12) and 0 <= several.min() < several.max() <= 255
    cropped = batch(random_resized_crop=True, min_random_area=0.5, max_aspect_ratio=0.2, resize=20)
    assert cropped.shape == (3, 3, 9, 12)
    assert (batch(mirror=True) == batch()[..., ::-1]).all()
    assert (
        batch(random_resized_crop=True, min_aspect_ratio=0.9, max_aspect_ratio=1.1, min_random_area=0.3) != batch()
    ).any()
    with pytest.raises(ValueError, match="min_aspect_ratio needs random_resized_crop"):
        batch(min_aspect_ratio=0.5)


def test_iterators_over_records(tmp_path: Path) -> None:
    with recordio.MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as file:
        for i in range(7):
            file.write_idx(i, recordio.pack((0, i, i, 0), (FOLDER / f"{i}.png").read_bytes()))
    path, first = tmp_path / "x.rec", image.imread(FOLDER / "0.png").asnumpy()
    batches = mx.io.ImageRecordIter(path, (3, 9, 12), 3, mean_r=1, mean_g=2, mean_b=3, std_r=4, std_g=5, scale=0.5)
    rounds = list(batches)
    assert [(b.label[0].asnumpy().tolist(), b.pad) for b in rounds] == [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]
    normal = (first - np.array([1, 2, 3])) / np.array([4, 5, 1]) * 0.5
    np.testing.assert_allclose(rounds[0].data[0].asnumpy()[0], normal.transpose(2, 0, 1), rtol=1e-5, atol=1e-5)
    shuffled = mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 5, 5), batch_size=7, shuffle=True, seed=1)
    order = next(shuffled).label[0].asnumpy().tolist()
    assert sorted(order) == list(range(7)) != order
    part = mx.io.ImageRecordIter(path, (3, 5, 5), 3, num_parts=2, part_index=1, preprocess_threads=4)
    assert next(part).label[0].asnumpy().tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="ImageRecordIter has no argument 'rand_corp'; did you mean 'rand_crop'"):
        mx.io.ImageRecordIter(path, (3, 5, 5), 3, rand_corp=True)
    with pytest.raises(ValueError, match="to shuffle records, or to read a part, give path_imgidx"):
        image.ImageIter(3, (3, 5, 5), path_imgrec=path, shuffle=True)


def test_iterators_over_objects() -> None:
    def objects(n: int) -> list[float]:
        return [2, 5, *[1, 0.1, 0.1, 0.5, 0.5] * n]

    few, many = (image.ImageDetIter(1, (3, 5, 5), imglist=[[objects(n), "0.png"]], path_root=FOLDER) for n in (1, 4))
    assert (few.label_shape, many.label_shape) == ((1, 5), (4, 5))
    assert few.sync_label_shape(many) is many and few.provide_label[0].shape == (1, 4, 5)
    label = next(few).label[0].asnumpy()[0]
    np.testing.assert_allclose(label, [[1, 0.1, 0.1, 0.5, 0.5], *[[-1] * 5] * 3], rtol=1e-6)
    few.reshape((3, 7, 6))
    few.reset()
    assert next(few).data[0].shape == (1, 3, 7, 6)
    with pytest.raises(ValueError, match="has no room for labels"):
        few.reshape(label_shape=(1, 5))


def test_augmenters_show_themselves() -> None:
    assert json.loads(image.ColorNormalizeAug(np.array([1.0, 2.0]), None).dumps()) == [
        "colornormalizeaug",
        {"mean": [1, 2], "std": None},
    ]
    name, parts = image.SequentialAug([image.CastAug(), image.ResizeAug(3)]).dumps()
    assert name == "sequentialaug" and json.loads(parts[1]) == ["resizeaug", {"size": 3, "interp": 2}]
    random.seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        image.DetRandomCropAug(area_range=(0.5, 0.1))
    assert "does nothing" in str(caught[0].message)


WITHOUT = """
import sys
sys.modules["PIL"] = None
import runtime as mx
try:
    mx.image.imdecode(b"x")
except ImportError as error:
    print(error)
"""


def test_a_missing_extra_is_named() -> None:
    assert run([sys.executable, "-c", WITHOUT], timeout=60).stdout == (
        "pictures are read and written by Pillow: pip install 'optgen[image]'\n"
    )
