"""Pictures: their pixels and what becomes of them beside MXNet 1.9.1, with the same draws; iterators; errors."""

from __future__ import annotations

import colorsys
import io
import json
import random
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import image, nd, recordio
from runtime.image import draws, warping
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


@pytest.mark.parametrize(("form", "grey"), [("png", [173, 161, 166, 128]), ("bmp", [174, 161, 167, 128])])
def test_grey_is_computed_from_colours_as_by_opencv(form: str, grey: list[int]) -> None:
    colours = np.array([[[226, 178, 17], [23, 214, 250], [179, 184, 48], [128, 128, 128]]], np.uint8)
    assert image.imdecode(content(pillow.fromarray(colours), format=form), flag=0).asnumpy().ravel().tolist() == grey


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
    assert (batch(min_aspect_ratio=0.4, max_aspect_ratio=0.5) != batch()).any()
    scale = {"min_random_scale": 0.7, "max_random_scale": 0.7}
    assert (batch(**scale) != batch()).any()
    sized = {"random_resized_crop": True, "min_random_area": 0.5}  # crops have sizes of their own: scales are not read
    assert (batch(**sized, **scale) == batch(**sized)).all()
    plain = mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 9, 12), 3, path_imgidx="")
    assert [type(x) for x in plain.auglist] == [image.CenterCropAug], "nothing is computed that changes nothing"


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


def written(path: Path, labels: list[object], shape: tuple[int, int, int] = (6, 8, 3)) -> np.ndarray:
    """Drawn pictures, (images, channels, height, width), and a file of their records with ids from 0 on."""
    pixels = np.random.default_rng(0).integers(0, 256, (len(labels), *shape)).astype(np.uint8)
    with recordio.MXRecordIO(path, "w") as file:
        for i, (label, image_) in enumerate(zip(labels, pixels, strict=True)):
            file.write(recordio.pack((0, label, i, 0), content(pillow.fromarray(image_), format="png")))
    return pixels.transpose(0, 3, 1, 2).astype(np.float32)


def test_records_are_normalized_as_by_mxnet(tmp_path: Path) -> None:
    x = written(tmp_path / "x.rec", [0.0, 1.0])

    def batch(**kwargs: object) -> np.ndarray:
        return next(mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 6, 8), 2, **kwargs)).data[0].asnumpy()

    mean = np.random.default_rng(1).uniform(0, 99, (3, 6, 8)).astype(np.float32)
    nd.save(str(tmp_path / "mean"), {"mean_img": nd.array(mean)})
    found = batch(mean_img=tmp_path / "mean", mean_r=7, mirror=True, scale=0.5, std_g=4)
    np.testing.assert_allclose(found, (x - mean)[..., ::-1] * 0.5 / np.array([1, 4, 1])[:, None, None], rtol=1e-6)
    np.testing.assert_allclose(batch(mean_img=tmp_path / "new"), x - x.mean(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(nd.load(str(tmp_path / "new"))["mean_img"].asnumpy(), x.mean(0), rtol=1e-6)
    drawn = batch(max_random_contrast=0.5, max_random_illumination=20, mean_r=2, mean_g=2, mean_b=2, std_r=2, scale=3)
    factor, more = np.polyfit((x[0, 1] - 2).ravel(), drawn[0, 1].ravel(), 1)
    assert 1.5 <= factor <= 4.5 and factor != 3 and -60 <= more <= 60 and more != 0
    np.testing.assert_allclose(drawn[0, 0], (factor * (x[0, 0] - 2) + more) / 2, rtol=1e-4, atol=1e-3)
    assert (batch(dtype="uint8", mean_r=9) == x).all() and batch(dtype="uint8").dtype == np.uint8
    small = batch(dtype="int8", mean_r=100.5, mean_g=100.4)  # MXNet rounds halves down
    assert (small[:, 0] == (x[:, 0] - 101).clip(-128, 127)).all() and (
        small[:, 1] == (x[:, 1] - 100).clip(-128, 127)
    ).all()
    with pytest.raises(mx.MXNetError, match="must be \\(3, 6, 7\\)"):
        next(mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 6, 7), 2, mean_img=tmp_path / "mean"))
    with pytest.raises(mx.MXNetError, match="dtype is float32, uint8 or int8"):
        batch(dtype="int32")


def test_rounds_of_records(tmp_path: Path) -> None:
    written(tmp_path / "x.rec", [float(i) for i in range(7)])

    def rounds(batch_size: int = 3, **kwargs: object) -> list[list[tuple[list[float], int]]]:
        it = mx.io.ImageRecordIter(tmp_path / "x.rec", (1, 6, 8), batch_size, and_mirror=False, **kwargs)
        found = []
        for _ in range(3):
            found.append([(b.label[0].asnumpy().tolist(), b.pad) for b in it])
            it.reset()
        return found

    assert rounds() == [
        [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)],
        [([2, 3, 4], 0), ([5, 6, 0], 1)],
        [([1, 2, 3], 0), ([4, 5, 6], 0)],
    ]
    assert rounds(round_batch=False) == [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]] * 3
    assert rounds(num_parts=2, part_index=1) == [[([3, 4, 5], 0)]] * 3  # there is no index
    assert rounds(6, num_parts=2) == [[([0, 1, 2, 0, 1, 2], 3)]] * 3  # more than there are
    (first, *_), (second, *_), _ = rounds(shuffle=True, seed=4)
    assert rounds(shuffle=True, seed=4)[0][0] == first != second != rounds(shuffle=True, seed=5)[0][0]
    (tmp_path / "x.lst").write_text("".join(f"{i}\t{10 * i}\tx\n" for i in range(6)))
    with pytest.raises(mx.MXNetError, match=r"record of id 6 at offset \d+ of .* has no line in the list"):
        rounds(path_imglist=tmp_path / "x.lst")
    it = mx.io.ImageRecordIter(
        tmp_path, (3, 4, 5), 2, min_crop_size=3, max_crop_size=6, path_imglist=tmp_path / "x.lst"
    )
    assert it.iter_next() and it.getdata().shape == (2, 3, 4, 5) and it.getlabel().asnumpy().tolist() == [0, 10]
    with pytest.raises(mx.MXNetError, match="max_crop_size 7 is more than an image of 8x6"):
        next(mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 4, 5), 2, min_crop_size=3, max_crop_size=7))
    with pytest.raises(mx.MXNetError, match="1, 3 or 4 channels"):
        mx.io.ImageRecordIter(tmp_path / "x.rec", (5, 4, 5), 2)


def test_an_iterator_over_records_draws_from_its_own_generator(tmp_path: Path) -> None:
    written(tmp_path / "x.rec", [0.0] * 6)
    several = {"rand_crop": True, "rand_mirror": True, "max_rotate_angle": 10, "random_h": 10, "pca_noise": 0.1}
    state = random.getstate()
    a, b, c = (mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 4, 5), 2, seed_aug=s, **several) for s in (3, 3, 4))
    together = [[x.data[0].asnumpy() for x in rows] for rows in zip(a, b, c, strict=True)]
    assert len(together) == 3 and all((x == y).all() and (x != z).any() for x, y, z in together)
    assert random.getstate() == state
    threads = mx.io.PrefetchingIter(
        [mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 4, 5), 2, seed_aug=s, **several) for s in (3, 4)]
    )
    for (x, _, z), batch in zip(together, threads, strict=True):
        assert (batch.data[0].asnumpy() == x).all() and (batch.data[1].asnumpy() == z).all()
    with draws.Draws(1).in_place(), ThreadPoolExecutor() as pool:
        assert pool.submit(lambda: draws.source.python).result() is random is not draws.source.python


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (b"short", "a packed record begins with 24 bytes of a header, and this one has 5"),
        ((9).to_bytes(4, "little") + bytes(20), "a packed record of 9 labels has 60 bytes at least, and this one 24"),
        (recordio.pack((0, 0.0, 1, 0), b"GIF89a"), "no picture of a known format: its 6 bytes begin b'GIF89a'"),
    ],
)
def test_records_in_the_middle_that_hold_no_picture(tmp_path: Path, record: bytes, words: str) -> None:
    whole = recordio.pack((0, 0.0, 0, 0), content(pillow.new("RGB", (4, 4)), format="png"))
    with recordio.MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as file:
        for key, packed in enumerate((whole, record)):
            file.write_idx(key, packed)
    at = int((tmp_path / "x.idx").read_text().split()[-1])
    path = tmp_path / "x.rec"
    for name, iterator in (
        ("record 1 of", image.ImageIter(2, (3, 4, 4), path_imgrec=path)),
        ("key 1 of", image.ImageIter(2, (3, 4, 4), path_imgrec=path, path_imgidx=tmp_path / "x.idx")),
        (f"offset {at} of", mx.io.ImageRecordIter(path, (3, 4, 4), 2)),
    ):
        with pytest.raises(mx.MXNetError, match=rf"{name} '.*x\.rec'.*{words}"):
            next(iterator)
    with pytest.raises(mx.MXNetError, match=rf"x\.rec', sample 1: .*{words}"):
        mx.gluon.data.vision.ImageRecordDataset(path)[1]


@pytest.mark.parametrize("numbers", [(np.nan, 5), (2, np.inf), (-2, 5), (2, 0), (1e30, 5)])
def test_labels_of_objects_whose_headers_do_not_fit(tmp_path: Path, numbers: tuple[float, float]) -> None:
    written(tmp_path / "x.rec", [[*numbers, 0, 0, 0, 1, 1]])
    for read in (
        lambda: image.ImageDetIter(1, (3, 6, 8), tmp_path / "x.rec"),
        lambda: next(mx.io.ImageDetRecordIter(tmp_path / "x.rec", (3, 6, 8), 1)),
    ):
        with pytest.raises(mx.MXNetError, match=r"x\.rec': a label of 7 numbers with a header of .* and objects of"):
            read()


def test_labels_of_other_lengths_name_their_records(tmp_path: Path) -> None:
    written(tmp_path / "x.rec", [0.0, [1, 2, 3]])
    with pytest.raises(mx.MXNetError, match=r"the record of id 1 at .*x\.rec' has a label of 3 numbers; label_width=1"):
        next(mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 6, 8), 2))


def test_records_of_objects(tmp_path: Path) -> None:
    labels = [[2, 5, *(x for j in range(n) for x in (j, 0.1 * j, 0.2, 0.5 + 0.1 * j, 0.8))] for n in (1, 3)]
    pixels = written(tmp_path / "x.rec", labels)

    def batch(shape: tuple[int, ...] = (3, 6, 8), **kwargs: object) -> tuple[np.ndarray, np.ndarray]:
        read = next(mx.io.ImageDetRecordIter(tmp_path / "x.rec", shape, 2, **kwargs))
        return read.data[0].asnumpy(), read.label[0].asnumpy()

    data, label = batch()
    assert (data == pixels).all() and label.shape == (2, 21)
    np.testing.assert_allclose(label[0], [3, 6, 8, 7, *labels[0], *[-1] * 10], rtol=1e-6)
    assert batch(label_pad_width=20, label_pad_value=9)[1][0, -13:].tolist() == [9] * 13
    data, label = batch(rand_mirror_prob=1)
    assert (data == pixels[..., ::-1]).all()
    np.testing.assert_allclose(label[0, 6:11], [0, 0.5, 0.2, 1, 0.8], rtol=1e-6)
    for mode, size in (("force", (12, 12)), ("shrink", (6, 8)), ("fit", (9, 12))):
        data, label = batch((3, 12, 12), resize_mode=mode)
        assert tuple(label[0, 1:3]) == size and (data[0, :, size[0] :] == 0).all() and data.shape == (2, 3, 12, 12)
    data, label = batch(rand_pad_prob=1, max_pad_scale=3, mean_r=127, seed_aug=1)
    assert (data[0, 0, 0] == 0).all() and 0.5 / 3 < label[0, 9] - label[0, 7] < 0.5
    limits = {"min_crop_scales": (0.3, 0.5), "max_crop_scales": (0.9, 1), "min_crop_object_coverages": 0.6}
    _, label = batch(rand_crop_prob=1, num_crop_sampler=2, crop_emit_mode="overlap", **limits)
    assert label[0, 9] - label[0, 7] > 0.5 and label[:, 6:].max() <= 2
    with pytest.raises(mx.MXNetError, match="label_pad_width 6 is less than the longest label's 17"):
        batch(label_pad_width=6)
    with pytest.raises(mx.MXNetError, match="label_width is 7, and labels have \\[7, 17\\]"):
        batch(label_width=7)
    with pytest.raises(ValueError, match="ImageDetRecordIter has no argument 'rand_mirror'; did you mean"):
        batch(rand_mirror=True)


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
        "pictures are read and written by Pillow: pip install 'pillow' (the extra 'image')\n"
    )
