"""Images made larger or smaller; the expected numbers are MXNet 1.9.1's."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import nd
from runtime.base import MXNetError
from tests.ndarray import gradients


def image(height: int, width: int) -> nd.NDArray:
    return nd.arange(height * width).reshape((1, 1, height, width))


def test_adaptive_average() -> None:
    pool = nd.contrib.AdaptiveAvgPooling2D
    assert pool(image(5, 3), output_size=(3, 2))[0, 0].asnumpy().tolist() == [[2, 3], [6.5, 7.5], [11, 12]]
    assert pool(image(5, 3), output_size=2)[0, 0].asnumpy().tolist() == [[3.5, 4.5], [9.5, 10.5]]
    assert pool(image(5, 3)).asnumpy().tolist() == [[[[7]]]]


def test_bilinear_resize() -> None:
    resize = nd.contrib.BilinearResize2D
    corners = [[0, 2], [1.5, 3.5], [3, 5], [4.5, 6.5], [6, 8]]
    edges = [[0.25, 1.75], [1.45, 2.95], [3.25, 4.75], [5.05, 6.55], [6.25, 7.75]]
    odd = [[0, 2], [1.2, 3.2], [2.4, 4.4], [3.6, 5.6], [4.8, 6.8], [6, 8]]
    for expected, arguments in (
        (corners, dict(height=5, width=2)),
        (edges, dict(height=5, width=2, align_corners=False)),
        (odd, dict(scale_height=2.5, scale_width=0.5, mode="odd_scale")),
        (np.arange(7)[:, None], dict(scale_height=2.5, scale_width=0.5)),
        (corners, dict(like=nd.zeros((1, 1, 5, 2)), mode="like")),
    ):
        np.testing.assert_allclose(resize(image(3, 3), **arguments)[0, 0].asnumpy(), expected, rtol=1e-6)
    sizes = {"to_even_down": (2, 4), "to_even_up": (4, 4), "to_odd_down": (3, 3), "to_odd_up": (3, 5)}
    assert {mode: resize(image(3, 4), mode=mode).shape[2:] for mode in sizes} == sizes


def test_places_are_rounded_as_by_mxnet() -> None:
    """Values of MXNet 1.9.1. In float64 the places differ by 1e-5 of a pixel."""
    x = nd.array(np.arange(300) ** 2 % 1009).reshape((1, 1, 300, 1))
    for corners, expected in (
        (True, [507.4831237792969, 384.097900390625, 407.72479248046875, 430.3263244628906]),
        (False, [566.3538818359375, 272.4951477050781, 275.4942626953125, 609.0]),
    ):
        found = nd.contrib.BilinearResize2D(x, height=1000, width=1, align_corners=corners).asnumpy().ravel()
        np.testing.assert_allclose(found[[700, 800, 901, 998]], expected, rtol=3e-7)
        one = nd.contrib.BilinearResize2D(x + 5, height=1, width=1, align_corners=corners)
        assert one.asscalar() == 5


def test_upsampling() -> None:
    twice = np.repeat(np.repeat(np.arange(4.0).reshape(2, 2), 2, 0), 2, 1)
    x, other = image(2, 2), nd.full((1, 1, 1, 1), 10)
    assert (nd.UpSampling(x, scale=2, sample_type="nearest")[0, 0].asnumpy() == twice).all()
    both = nd.UpSampling(x, other, scale=2, sample_type="nearest", num_args=2)
    assert both.shape == (1, 2, 4, 4) and (both[0, 0].asnumpy() == twice).all() and (both[0, 1].asnumpy() == 10).all()
    added = nd.UpSampling(x, other, scale=2, sample_type="nearest", num_args=2, multi_input_mode="sum")
    assert (added[0, 0].asnumpy() == twice + 10).all()
    linear = nd.UpSampling(x, nd.ones((1, 1, 4, 4)), scale=2, sample_type="bilinear", num_filter=1, num_args=2)
    assert linear[0, 0].asnumpy().tolist() == [[0, 1, 1, 1], [2, 6, 6, 4], [2, 6, 6, 4], [2, 5, 5, 3]]


IMAGE = np.random.default_rng(0).normal(size=(1, 2, 3, 4))
GRADIENTS = {
    "UpSampling": gradients.Case(lambda x: nd.UpSampling(x, scale=2, sample_type="nearest") ** 2, (IMAGE,), atol=1e-6),
}
CONTRIB = {
    "AdaptiveAvgPooling2D": lambda x: nd.contrib.AdaptiveAvgPooling2D(x, (2, 3)) ** 2,
    "BilinearResize2D": lambda x: nd.contrib.BilinearResize2D(x, height=4, width=3) ** 2,
}


@pytest.mark.parametrize("name", CONTRIB)
def test_gradients(name: str) -> None:
    gradients.check(CONTRIB[name], IMAGE, order=2, rtol=1e-5, atol=1e-6)


def test_errors() -> None:
    x = image(2, 2)
    for call, message in (
        (lambda: nd.UpSampling(x, scale=0, sample_type="nearest"), "UpSampling: scale must be at least 1"),
        (lambda: nd.UpSampling(x, scale=2, sample_type="bilinear"), "'bilinear' got 1 arrays"),
        (lambda: nd.UpSampling(x, image(3, 3), scale=2, sample_type="nearest"), "3 by 3 cannot be brought to 4 by 4"),
        (lambda: nd.contrib.AdaptiveAvgPooling2D(x[0], 2), r"its shape is \(1, 2, 2\)"),
        (lambda: nd.contrib.AdaptiveAvgPooling2D(nd.empty((1, 1, 0, 2))), r"with pixels, but .* \(1, 1, 0, 2\)"),
        (lambda: nd.UpSampling(nd.empty((1, 1, 2, 0)), scale=2, sample_type="nearest"), "with pixels"),
        (lambda: nd.contrib.BilinearResize2D(x, mode="bigger"), "unknown mode 'bigger'"),
        (lambda: nd.contrib.BilinearResize2D(x, height=0, width=2), "height and width must be at least 1"),
        (lambda: nd.contrib.BilinearResize2D(x, mode="like"), "an array `like`"),
    ):
        with pytest.raises(MXNetError, match=message):
            call()
