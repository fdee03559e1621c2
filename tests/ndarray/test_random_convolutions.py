"""Convolutions of all kinds and sizes, in float64, are those of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.ndarray.nn import convolution
from runtime.ndarray.nn.windows import Window

CHANNELS = (1, 1, 2, 3, 4, 5, 8, 9, 16, 17, 24, 33, 64, 65, 130)  # of a group
LENGTHS = {1: (1, 3, 17, 100, 700), 2: (1, 4, 7, 8, 14, 19, 30, 45), 3: (1, 2, 5, 8, 12)}


def random_convolution(draw: np.random.Generator) -> tuple[int, int, int, tuple[int, ...], Window] | None:
    """Images, channels, filters, image and window; None if the kernel does not fit or the test would take long."""
    axes, groups = int(draw.choice([1, 2, 2, 3])), int(draw.choice([1, 1, 2, 3, 8, 17]))
    channels, filters = (groups * int(draw.choice(CHANNELS if groups < 17 else (1, 2))) for _ in range(2))
    kernel, stride, pad, dilate = (
        tuple(int(k) for k in draw.choice(values, axes))
        for values in ((1, 1, 2, 3, 3, 4, 7), (1, 1, 2, 3), (0, 0, 1, 2, 5), (1, 1, 1, 2, 3))
    )
    image = tuple(int(k) for k in draw.choice(LENGTHS[axes], axes) + draw.integers(0, 3, axes))
    window, n = Window(kernel, stride, pad, dilate, groups), int(draw.choice([1, 2, 5, 9]))
    outputs = window.outputs(image)
    products = n * np.prod(outputs) * filters * channels // groups * np.prod(kernel)
    return (n, channels, filters, image, window) if min(outputs) > 0 and products < 3e7 else None


@pytest.mark.stress
@pytest.mark.cpu_only("kernels of the CPU")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("least", [1, convolution.MIN_PRODUCTS])
def test_any_convolution_is_that_of_pytorch(seed: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(convolution, "MIN_PRODUCTS", least)
    draw = np.random.default_rng(seed)
    for _ in range(400):
        found = random_convolution(draw)
        if found is None:
            continue
        n, channels, filters, image, window = found
        x = draw.normal(size=(n, channels, *image))
        w = draw.normal(size=(filters, channels // window.groups, *window.kernel))
        y = convolution._convolve.forward(x, w, window=window)
        g = draw.normal(size=y.shape)
        mine = [
            y,
            convolution._convolve_image.forward(g, w, window=window, image=image),
            convolution._convolve_weight.forward(g, x, window=window),
        ]
        x_, w_ = (torch.tensor(v, requires_grad=True) for v in (x, w))
        convolve = getattr(torch.nn.functional, f"conv{len(image)}d")
        y_ = convolve(x_, w_, None, window.stride, window.pad, window.dilate, window.groups)
        y_.backward(torch.tensor(g))
        for one, other in zip(mine, (y_.detach(), x_.grad, w_.grad), strict=True):
            atol = 1e-12 * max(1, abs(other.numpy()).max())
            np.testing.assert_allclose(one, other.numpy(), rtol=0, atol=atol, err_msg=str(found))
