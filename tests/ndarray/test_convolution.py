"""Convolution and its transpose against their definition, element by element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import autograd, nd
from runtime.base import MXNetError
from runtime.core import kept
from runtime.ndarray.nn import channels_last, convolution, depthwise, gathered, grouped, pointwise, windows, winograd
from runtime.ndarray.nn.windows import Window
from tests.ndarray import gradients

FLOATS = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return FLOATS.normal(size=shape)


def definition(x, w, stride, pad, dilate, groups):
    """The sum over a window at each place, one place and one element of the kernel after the other."""
    axes = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    kernel = w.shape[2:]
    outputs = [(x.shape[2 + a] - dilate[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in range(axes)]
    y = np.zeros((len(x), len(w), *outputs))
    inputs, filters = x.shape[1] // groups, len(w) // groups
    for place in itertools.product(*map(range, outputs)):
        for k in itertools.product(*map(range, kernel)):
            at = tuple(p * s + i * d for p, s, i, d in zip(place, stride, k, dilate, strict=True))
            for g in range(groups):
                own = slice(g * filters, (g + 1) * filters)
                seen = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)]
                y[(slice(None), own, *place)] += seen @ w[(own, slice(None), *k)].T
    return y


@st.composite
def cases(draw):
    axes = draw(st.integers(1, 3))
    kernel, stride, pad, dilate = (
        draw(st.tuples(*[st.integers(low, high)] * axes)) for low, high in ((1, 3), (1, 3), (0, 2), (1, 2))
    )
    sizes = tuple(
        draw(st.integers(max(1, d * (k - 1) + 1 - 2 * p), 7)) for k, p, d in zip(kernel, pad, dilate, strict=True)
    )
    groups = draw(st.integers(1, 3))
    batch, inputs, filters = (draw(st.integers(1, 3)) for _ in range(3))
    x, w = random(batch, inputs * groups, *sizes), random(filters * groups, inputs, *kernel)
    return x, w, kernel, stride, pad, dilate, groups


@settings(deadline=None, max_examples=60)
@given(cases())
def test_is_its_definition(case) -> None:
    x, w, kernel, stride, pad, dilate, groups = case
    expected = definition(x, w, stride, pad, dilate, groups)
    a, b = (nd.array(v, dtype="float64") for v in (x, w))
    given_ = dict(kernel=kernel, stride=stride, pad=pad, dilate=dilate, num_group=groups, no_bias=True)
    y = nd.Convolution(a, b, num_filter=len(w), **given_)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-10, atol=1e-10)
    # The transpose: <conv(x), g> = <x, deconv(g)>.
    g = random(*expected.shape)
    sizes = zip(x.shape[2:], pad, dilate, kernel, stride, strict=True)
    adj = tuple((n + 2 * p - d * (k - 1) - 1) % s for n, p, d, k, s in sizes)
    back = nd.Deconvolution(nd.array(g, dtype="float64"), b, adj=adj, num_filter=x.shape[1], **given_)
    np.testing.assert_allclose((back.asnumpy() * x).sum(), (g * expected).sum(), rtol=1e-9, atol=1e-9)


def test_tiles_of_rows_and_of_parts_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image in many tiles is the same as in one."""

    x, w = nd.array(random(2, 3, 9, 11), dtype="float64"), nd.array(random(4, 3, 3, 2), dtype="float64")
    x.attach_grad()
    w.attach_grad()
    found = []
    for tile in (1 << 16, 18 * 25, 18 * 4):
        monkeypatch.setattr(windows, "TILE_ELEMENTS", tile)
        windows.geometry.cache_clear()
        with autograd.record():
            y = nd.Convolution(x, w, kernel=(3, 2), pad=(1, 1), num_filter=4, no_bias=True)
        y.backward()
        found.append([v.asnumpy() for v in (y, x.grad, w.grad)])
    windows.geometry.cache_clear()
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, another, rtol=1e-12, atol=1e-12)


def test_weights_are_the_same_from_parts_of_the_batch_and_of_the_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = random(5, 2 * 11, 6, 7), random(5, 4, 4, 5)
    window = convolution.Window((3, 3), (1, 1), (0, 0), (1, 1), 2)
    found = []
    for many in (1 << 40, 0):
        monkeypatch.setattr(convolution, "SPLIT_CHANNELS_MIN_WEIGHTS", many)
        found.append(convolution._convolve_weight.forward(y, x, window=window))
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


@pytest.mark.cpu_only("kernels of the CPU")
@pytest.mark.parametrize(
    "n, channels, filters, image, window",
    [
        (3, 17, 50, (9, 20), dict(kernel=(3, 2), stride=(2, 1), pad=(1, 1), dilate=(1, 2))),
        (5, 3, 16, (40, 41), dict(kernel=(7, 7), stride=(2, 2), pad=(3, 3))),
        (2, 130, 70, (12, 13), dict(kernel=(3, 3), pad=(4, 4), dilate=(4, 4))),
        (8, 20, 33, (17, 9), dict(kernel=(1, 1), stride=(2, 2))),
        (2, 1100, 40, (5, 6), dict(kernel=(1, 1), pad=(1, 1))),
        (16, 512, 1, (4, 4), dict(kernel=(4, 4))),
        (3, 130, 140, (5, 6), dict(kernel=(4, 3), stride=(2, 2), pad=(2, 1))),
        (2, 32, 64, (9, 10), dict(kernel=(3, 3), stride=(3, 2), num_group=2)),
        (2, 12, 16, (5, 9, 10), dict(kernel=(3, 3, 2), stride=(2, 2, 1), pad=(1, 0, 1), dilate=(1, 1, 2))),
        (6, 24, 48, (301,), dict(kernel=(5,), stride=(3,), pad=(2,))),
        (1, 20, 16, (3, 40), dict(kernel=(3, 3), pad=(1, 1300))),
        (9, 70, 33, (23, 22), dict(kernel=(1, 1))),
        (2, 130, 1100, (7, 9), dict(kernel=(1, 1))),
        (3, 60, 30, (3, 5, 6), dict(kernel=(1, 1, 1), num_group=3)),
        (2, 7, 20, (1000,), dict(kernel=(1,))),
        (2, 40, 80, (5, 6), dict(kernel=(1, 1))),
        (1, 99, 195, (4, 10), dict(kernel=(1, 1), num_group=3)),
        (5, 48, 48, (20, 1), dict(kernel=(1, 1), stride=(1, 3), pad=(5, 5))),
    ],
    ids=str,
)
def test_gathered_rows_and_single_pixels_give_what_windows_laid_out_give(
    n: int, channels: int, filters: int, image: tuple[int, ...], window: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    groups = window.get("num_group", 1)
    weight = random(filters, channels // groups, *window["kernel"])
    arrays = [nd.array(v, dtype="float64") for v in (random(n, channels, *image), weight, random(filters))]
    calls = []
    single = max(window["kernel"]) == 1 and not {"stride", "pad"} & window.keys()
    module, last = (pointwise, "weight_parts") if single else (gathered, "convolve_weight")
    for name in ("convolve", "convolve_image", *(["convolve_few"] if single else []), last):
        way = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, way=way, name=name: calls.append(name) or way(*given))
    found = []
    for least in (convolution.MIN_PRODUCTS, 1 << 60):
        monkeypatch.setattr(convolution, "MIN_PRODUCTS", least)
        for v in arrays:
            v.attach_grad()
        with autograd.record():
            y = nd.Convolution(*arrays, **window, num_filter=filters)
        y.backward(nd.sin(nd.arange(y.size, dtype="float64")).reshape(y.shape))
        found.append([v.asnumpy() for v in (y, *(v.grad for v in arrays))])
    assert {last, "convolve", "convolve_few"} & set(calls)
    assert not single or {"convolve_image", "convolve_few"} & set(calls)
    for one, another in zip(*found, strict=True):
        np.testing.assert_allclose(one, another, rtol=0, atol=1e-14 * abs(another).max())


@pytest.mark.cpu_only("kernels of the CPU")
@pytest.mark.parametrize(
    "n, channels, filters, image, pad, dilate",
    [
        (5, 17, 20, (16, 15), (1, 1), (1, 1)),
        (8, 24, 260, (11, 13), (0, 2), (1, 1)),
        (3, 130, 16, (20, 22), (2, 1), (1, 1)),
        (260, 16, 16, (2, 2), (1, 1), (1, 1)),
        (2, 16, 16, (40, 300), (1, 1), (1, 1)),
        (2, 17, 20, (40, 47), (4, 3), (2, 3)),
        (1, 18, 16, (61, 60), (0, 1), (4, 1)),
    ],
)
def test_winograd_is_what_gemm_gives(
    n: int, channels: int, filters: int, image: tuple[int, int], pad: tuple[int, int], dilate: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    x, w, b = random(n, channels, *image), random(filters, channels, 3, 3), random(filters)
    arrays = [nd.array(v, dtype="float64") for v in (x, w, b)]
    given_ = dict(kernel=(3, 3), pad=pad, dilate=dilate, num_filter=filters)
    found = []
    for alone in (winograd.MIN_CHANNELS, 1 << 40):
        monkeypatch.setattr(winograd, "MIN_CHANNELS", alone)
        for v in arrays:
            v.attach_grad()
        with autograd.record():
            y = nd.Convolution(*arrays, **given_)
        y.backward(nd.sin(nd.arange(y.size, dtype="float64")).reshape(y.shape))
        found.append([v.asnumpy() for v in (y, *(v.grad for v in arrays))])
    assert not np.array_equal(found[0][0], found[1][0])
    for one, another in zip(*found, strict=True):
        np.testing.assert_allclose(one, another, rtol=0, atol=1e-14 * abs(another).max())


@pytest.mark.cpu_only("kernels of the CPU")
@pytest.mark.parametrize(
    "n, channels, filters, image, window",
    [
        (2, 5, 5, (19, 40), Window((3, 3), (1, 1), (1, 1), (1, 1), 5)),
        (3, 35, 35, (19, 41), Window((3, 3), (2, 2), (1, 1), (1, 1), 35)),
        (2, 16, 16, (20, 40), Window((5, 4), (2, 1), (0, 2), (2, 2), 16)),
        (9, 3, 3, (5, 9, 30), Window((3, 2, 3), (2, 1, 2), (1, 0, 1), (1, 2, 1), 3)),
        (1, 2, 2, (6, 2500), Window((2, 3), (1, 2), (1, 1), (1, 1), 2)),
        (1, 2, 2, (6, 5), Window((2, 3), (1, 1), (1, 2500), (1, 1), 2)),
        (2, 3, 3, (90, 3), Window((1, 1), (2, 4), (1, 0), (1, 1), 3)),
        (2, 3, 6, (20, 40), Window((3, 3), (2, 1), (0, 2), (2, 2), 3)),
        (2, 6, 9, (7, 7), Window((3, 3), (1, 1), (1, 1), (1, 1), 3)),
        (2, 6, 4, (90, 3), Window((1, 1), (2, 4), (1, 0), (1, 1), 2)),
        (2, 32, 64, (9, 10), Window((3, 3), (1, 1), (1, 1), (1, 1), 8)),
        (3, 32, 32, (19, 11), Window((3, 2), (2, 1), (1, 0), (1, 2), 4)),
        (2, 24, 18, (23, 19), Window((5, 4), (3, 3), (2, 3), (1, 2), 3)),
        (2, 16, 16, (5, 16, 17), Window((3, 2, 3), (2, 1, 2), (1, 1, 0), (1, 1, 2), 2)),
        (1, 40, 40, (70, 80), Window((5, 5), (1, 1), (2, 2), (1, 1), 5)),
        (2, 10, 12, (2100,), Window((7,), (2,), (5,), (3,), 2)),
    ],
)
def test_small_groups_are_what_gemm_gives(
    n: int, channels: int, filters: int, image: tuple[int, ...], window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A channel alone, and groups of a few."""
    x, w, b = random(n, channels, *image), random(filters, channels // window.groups, *window.kernel), random(filters)
    found = []
    for _ in range(2):
        y = convolution._convolve.forward(x, w, b, window=window)
        g = np.sin(np.arange(y.size)).reshape(y.shape)
        dx = convolution._convolve_image.forward(g, w, window=window, image=image)
        found.append([y, dx, convolution._convolve_weight.forward(g, x, window=window)])
        monkeypatch.setattr(depthwise, "pays", lambda *given: False)
        monkeypatch.setattr(grouped, "pays", lambda *given: False)
        monkeypatch.setattr(convolution, "MIN_PRODUCTS", 1 << 60)
    assert not np.array_equal(found[0][2], found[1][2])
    for one, another in zip(*found, strict=True):
        np.testing.assert_allclose(one, another, rtol=0, atol=1e-14 * abs(another).max())


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_that_are_alike_share_their_tables(sparse: bool) -> None:
    window = Window((3, 5), (1, 2), (1, 3), (2, 1), 1)
    for result in (
        channels_last.of_outputs(16, (80, 700), window, sparse=sparse),
        channels_last.of_image(16, (80, 700), window, sparse=sparse),
    ):
        found = channels_last.blocks(result, 1)
        assert found.each > 20 and found.rows.size < 6 * len(result.groups) * channels_last.WIDE_BLOCK
        met = np.zeros(result.pixels, int)
        for of_block, segments in zip(
            found.table.reshape(-1, 8), found.segments.reshape(found.each, -1, 2), strict=True
        ):
            first, start = of_block[0], of_block[2:5]
            for group, (at, count) in zip(result.groups, segments, strict=True):
                of_result = np.unravel_index(first + found.of_rows[at : at + count], result.pixels)
                assert all(np.isin(x, pixels).all() for x, pixels in zip(of_result, group.pixels, strict=True))
                places = [x[of] - low for x, of, low in zip(result.starts, of_result, start, strict=True)]
                assert np.array_equal(found.rows[at : at + count], np.array(places).T @ found.steps)
                met[of_result] += 1
        assert met.sum() == sum(np.prod([len(x) for x in group.pixels]) for group in result.groups)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_types(dtype: str) -> None:
    x, w, b = (nd.array(v).astype(dtype) for v in (random(2, 4, 6), random(3, 4, 3), random(3)))
    y = nd.Convolution(x, w, b, kernel=(3,), num_filter=3)
    wide = [v.astype("float32").asnumpy().astype(np.float64) for v in (x, w, b)]
    expected = definition(wide[0], wide[1], (1,), (0,), (1,), 1) + wide[2][:, None]
    assert y.dtype == x.dtype
    tolerance = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-5}[dtype]
    np.testing.assert_allclose(y.astype("float32").asnumpy(), expected, rtol=tolerance, atol=tolerance)


CONVOLUTION = dict(kernel=(2, 3), stride=(2, 1), pad=(1, 0), dilate=(1, 2), num_filter=4)
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
GRADIENTS = {
    "Convolution": gradients.Case(
        lambda x, w, b: nd.Convolution(x, w, b, num_group=2, **CONVOLUTION),
        (random(2, 4, 4, 6), random(4, 2, 2, 3), random(4)),
        **TOLERANCE,
    ),
    "Deconvolution": gradients.Case(
        lambda x, w, b: nd.Deconvolution(x, w, b, no_bias=False, adj=(1, 0), num_group=2, **CONVOLUTION),
        (random(2, 2, 3, 3), random(2, 2, 2, 3), random(4)),
        **TOLERANCE,
    ),
    "im2col": gradients.Case(
        lambda x: nd.im2col(x, kernel=(2, 2), pad=(1, 0), stride=(2, 1)) ** 2, (random(2, 2, 3, 4),), **TOLERANCE
    ),
    "col2im": gradients.Case(
        lambda x: nd.col2im(x, output_size=(3, 4), kernel=(2, 2)) ** 2, (random(2, 8, 6),), **TOLERANCE
    ),
}


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_empty_batch(groups: int) -> None:
    x, w = nd.empty((0, 4, 5, 5)), nd.ones((4, 4 // groups, 3, 3))
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True, num_group=groups)
    y.backward()
    assert y.shape == (0, 4, 3, 3) and x.grad.shape == x.shape and not w.grad.asnumpy().any()


@pytest.mark.parametrize(
    "n, channels, filters, image, window",
    [
        (9, 64, 64, (8, 8), Window((8, 8), (10**9, 10**9), (0, 0), (1, 1))),
        (9, 64, 64, (8, 8), Window((2, 2), (10**9, 10**9), (10**9, 10**9), (1, 1))),
        (9, 16, 16, (8, 8), Window((2, 2), (10**9, 10**9), (10**9, 10**9), (1, 1), 4)),
        (9, 16, 16, (8, 8), Window((2, 2), (10**9, 10**9), (10**9, 10**9), (1, 1), 16)),
        (9, 64, 64, (8, 8), Window((1, 1), (10**9, 10**9), (0, 0), (1, 1))),
        (2, 16, 16, (200, 200), Window((200, 200), (200, 200), (0, 0), (1, 1))),
        *(
            (9, 64, 64, (8, 8), Window((k, k), (1, 1), (5 * 10**8 * (k - 1),) * 2, (10**9, 10**9), groups))
            for k in (2, 3)
            for groups in (1, 4, 16, 64)
        ),
        (1, 1, 16, (100_000,), Window((1000,), (1,), (0,), (1,))),
    ],
    ids=str,
)
def test_long_ways(n: int, channels: int, filters: int, image: tuple[int, ...], window: Window) -> None:
    """Kernels that are long, move far, or lie far outside of the image, take no longer and no more memory for it."""
    x = random(n, channels, *image).astype("float32")
    w = np.ones((filters, channels // window.groups, *window.kernel), "float32")
    y = convolution._convolve.forward(x, w, window=window)
    assert y.shape == (n, filters, *window.outputs(image))
    assert convolution._convolve_image.forward(y, w, window=window, image=image).shape == x.shape
    assert convolution._convolve_weight.forward(y, x, window=window).shape == w.shape


def test_tables_of_many_sizes_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    w = np.ones((16, 3, 3, 3), "float32")
    for limit, value, first in (("MAX_BYTES", 1 << 16, 60), ("MAX_RESULTS", 2, 80)):
        monkeypatch.setattr(kept, limit, value)
        for size in range(first, first + 6):
            x = np.ones((1, 3, size, size), "float32")
            for _ in range(2):
                y = convolution._convolve.forward(x, w, window=Window((3, 3), (1, 1), (1, 1), (1, 1)))
                assert y[0, 0, 1, 1] == 27
        assert 0 < kept._nbytes() <= 1 << 16
    assert len(kept._kept) == 2


X, W = nd.zeros((2, 3, 8, 8)), nd.zeros((4, 3, 3, 3))
ERRORS = {
    "weight": (dict(weight=nd.zeros((4, 2, 3, 3))), r"data of shape \(2, 3, 8, 8\) takes weight \(4, 3, 3, 3\)"),
    "bias": (dict(no_bias=False), "no bias"),
    "bias shape": (dict(no_bias=False, bias=nd.zeros((3,))), r"bias has shape \(3,\), not \(4,\)"),
    "kernel": (dict(kernel=(3,)), r"data must have 3, NCW, but its shape is \(2, 3, 8, 8\)"),
    "no kernel": (dict(kernel=()), "kernel"),
    "too large": (dict(dilate=(4, 4)), "exceeds data of shape"),
    "stride": (dict(stride=(0, 1)), "stride must be 2 whole numbers >= 1"),
    "pad": (dict(pad=(1,)), "pad must be 2 whole numbers >= 0"),
    "groups": (dict(num_group=2), "num_group = 2"),
    "no channels": (dict(data=X[:, :0], weight=W[:, :0]), "0 channels and 4 filters"),
    "layout": (dict(layout="NHWC"), "layout is NCHW, not 'NHWC'"),
    "types": (dict(data=X.astype("float64")), "must have one type, not float64, float32"),
    "integers": (dict(data=X.astype("int32"), weight=W.astype("int32")), "only floats"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    changed, message = ERRORS[name]
    arguments = dict(data=X, weight=W, kernel=(3, 3), num_filter=4, no_bias=True) | changed
    with pytest.raises(MXNetError, match=f"^Convolution: .*{message}"):
        nd.Convolution(**arguments)


def test_deconvolution_errors() -> None:
    x, w = nd.zeros((2, 3, 4)), nd.zeros((3, 4, 3))
    for changed, message in (
        (dict(adj=(2,)), r"adj \(2,\) must be smaller than stride \(2,\)"),
        (dict(target_shape=(20,)), r"target_shape \(20,\) is too big"),
        (dict(pad=(6,)), "leaves nothing"),
    ):
        with pytest.raises(MXNetError, match=f"^Deconvolution: .*{message}"):
            nd.Deconvolution(x, w, kernel=(3,), stride=(2,), num_filter=4, **changed)
    assert nd.Deconvolution(x, w, kernel=(3,), stride=(2,), num_filter=4, target_shape=(8,)).shape == (2, 4, 8)
