"""Convolution and pooling in functions of arrays, which GPUs use, beside the compiled loops of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from runtime.ndarray.nn import convolution, gpu_windows, pooling
from runtime.ndarray.nn.pooling import Pool
from runtime.ndarray.nn.windows import Window

RANDOM = np.random.default_rng(0)


def numbers(draw: st.DrawFn, axes: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(axes))


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Window]:
    axes, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    window = Window(*(numbers(draw, axes, low, high) for low, high in ((1, 3), (1, 3), (0, 2), (1, 2))), groups)
    image = numbers(draw, axes, 1, 7)
    assume(min(window.outputs(image)) >= 1)
    images, channels, filters = numbers(draw, 3, 0, 3)
    x = RANDOM.normal(size=(images, groups * (channels or 1), *image))
    return x, RANDOM.normal(size=(groups * (filters or 1), channels or 1, *window.kernel)), window


@settings(deadline=None)
@given(convolutions(), st.sampled_from([1, 300, 1 << 28]))
def test_convolution(case, columns: int) -> None:
    x, w, window = case
    image, whole = x.shape[2:], window._replace(groups=1)
    bias = RANDOM.normal(size=len(w))
    y = convolution._convolve.forward(x, w, bias, window=window)
    matrix = convolution._im2col.forward(x, window=whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_windows, "MAX_COLUMN_ELEMENTS", columns)  # into how many parts batches are cut
        pairs = [
            (gpu_windows.convolve(x, w, bias, window), y),
            (
                gpu_windows.convolve_image(y, w, window, image),
                convolution._convolve_image.forward(y, w, window=window, image=image),
            ),
            (gpu_windows.convolve_weight(y, x, window), convolution._convolve_weight.forward(y, x, window=window)),
            (gpu_windows.im2col(x, whole), matrix),
            (
                gpu_windows.col2im(matrix, whole, x.shape[1:]),
                convolution._col2im.forward(matrix, window=whole, image=x.shape[1:]),
            ),
        ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, strict=True)


@st.composite
def pools(draw: st.DrawFn) -> tuple[np.ndarray, Pool]:
    axes = draw(st.integers(1, 3))
    kernel, stride, plane, outputs = (numbers(draw, axes, 1, high) for high in (3, 4, 7, 4))
    pad = tuple(draw(st.integers(0, k - 1)) for k in kernel)
    x = RANDOM.integers(-3, 4, size=(draw(st.integers(0, 2)), 2, *plane))  # many elements are equal
    return x.astype(np.float64), Pool(kernel, stride, pad, outputs, draw(st.integers(0, 2)))


@settings(deadline=None)
@given(pools())
def test_pooling(case) -> None:
    """Also of windows that lie outside of the plane."""
    x, pool = case
    plane = x.shape[2:]
    window, outputs, scale = pool.window, pool.outputs, pooling._geometry(plane, pool, x.dtype).scale
    y = RANDOM.normal(size=(*x.shape[:2], *outputs))
    pairs = [
        (gpu_windows.pool_max(x, window, outputs), pooling._pool_max.forward(x, pool=pool)),
        (gpu_windows.unpool_max(y, x, window), pooling._unpool_max.forward(y, x, pool=pool)),
        (gpu_windows.gather_max(x, x, window, outputs), pooling._gather_max.forward(x, x, pool=pool)),
        (gpu_windows.pool_sum(x, scale, window, outputs), pooling._pool_sum.forward(x, pool=pool)),
        (gpu_windows.unpool_sum(y, scale, window, plane), pooling.unpool_sum.forward(y, pool=pool, plane=plane)),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, strict=True)
