"""Constants of convolutions: what of them is computed, or packed, at a time.

Those that choose between algorithms are none of these: which one computes a convolution decides its bits.
"""

from __future__ import annotations

import numpy as np

from optgen.tune.case import Case
from runtime import ndarray as nd


def columns_per_task() -> list[Case]:
    """Convolutions with many filters, of few pixels and of many."""
    return [_convolution(1, 64, 14, 1024, 5), _convolution(1, 32, 28, 512, 5)]


def filters_packed() -> list[Case]:
    """Gradients of images, for which the weights are packed, with small images and many weights."""
    return [_image_gradient(2, 256, 8, 512, 5), _image_gradient(4, 128, 14, 128, 5)]


def winograd_elements() -> list[Case]:
    """Kernels of 3 by 3, with large images and few channels, and the other way round."""
    return [_convolution(4, 32, 56, 32, 3), _convolution(2, 128, 28, 128, 3)]


def winograd_filters() -> list[Case]:
    """Kernels of 3 by 3, with many filters."""
    return [_convolution(2, 64, 28, 256, 3), _convolution(8, 128, 14, 256, 3)]


def grouped_elements() -> list[Case]:
    """Convolutions with few channels in each group."""
    return [_convolution(4, 128, size, 128, 3, groups=32) for size in (14, 56)]


def _convolution(n: int, channels: int, size: int, filters: int, kernel: int, *, groups: int = 1) -> Case:
    """n square images of this size."""
    x, w = _arrays((n, channels, size, size), (filters, channels // groups, kernel, kernel))
    how = {"kernel": (kernel, kernel), "pad": (kernel // 2,) * 2, "num_filter": filters, "num_group": groups}
    return Case(lambda: nd.Convolution(x, w, no_bias=True, **how))


def _image_gradient(n: int, channels: int, size: int, filters: int, kernel: int) -> Case:
    """What is computed for the gradient of n square images of this size."""
    y, w = _arrays((n, filters, size, size), (filters, channels, kernel, kernel))
    how = {"kernel": (kernel, kernel), "pad": (kernel // 2,) * 2, "num_filter": channels}
    return Case(lambda: nd.Deconvolution(y, w, no_bias=True, **how))


def _arrays(*shapes: tuple[int, ...]) -> list[nd.NDArray]:
    rng = np.random.default_rng(0)
    return [nd.array(rng.normal(size=shape).astype(np.float32)) for shape in shapes]
