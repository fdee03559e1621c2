"""Calls of the kernels of convolution and pooling by the operators that use them, of many sizes."""

from __future__ import annotations

import contextlib
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runtime import nd
from runtime.ndarray.nn import depthwise, gathered, grouped, pointwise, winograd
from runtime.ndarray.nn.windows import Window
from tests.ndarray.kernel_cases import differentiate, numbers

WINDOWS: tuple[tuple[tuple[int, ...], dict[str, Any]], ...] = (
    ((1, 1, 1), {"kernel": (1,)}),
    ((2, 3, 7), {"kernel": (3,), "stride": (2,), "pad": (2,)}),
    ((2, 2, 5, 6), {"kernel": (3, 2)}),
    ((1, 4, 7, 5), {"kernel": (3, 3), "stride": (2, 3), "pad": (1, 2), "num_group": 2}),
    ((2, 3, 8, 7), {"kernel": (3, 3), "dilate": (2, 1), "pad": (3, 3)}),
    ((2, 1, 2, 3), {"kernel": (2, 2), "pad": (4, 5), "stride": (3, 1)}),
    ((2, 2, 3, 4, 5), {"kernel": (2, 3, 2), "stride": (1, 2, 2), "pad": (1, 1, 0)}),
    ((1, 2, 4, 3, 3), {"kernel": (2, 1, 3), "dilate": (2, 1, 1), "pad": (2, 0, 2)}),
)
"""Shapes of images, and kernels over them."""


def convolutions(dtype: str) -> None:
    for shape, window in (*WINDOWS, ((1, 3, 400), {"kernel": (25,), "stride": (1,), "num_filter": 1})):
        window = {"num_filter": 4, **window}
        weight = numbers(dtype, window["num_filter"], shape[1] // window.get("num_group", 1), *window["kernel"])
        convolve = lambda x, w, *bias, o=window: nd.Convolution(x, w, *bias, **o, no_bias=not bias)  # noqa: E731
        differentiate(convolve, numbers(dtype, *shape), weight, numbers(dtype, window["num_filter"]))
        differentiate(convolve, numbers(dtype, *shape, special=True), weight)


def tiles_of_convolutions(dtype: str) -> None:
    """Images that are cut into tiles: of several rows, and of a part of a row."""
    for shape, kernel in (((1, 3, 31, 33), (9, 9)), ((1, 5, 700), (21,))):
        convolve = lambda x, w, k=kernel: nd.Convolution(x, w, kernel=k, num_filter=1, no_bias=True)  # noqa: E731
        differentiate(convolve, numbers(dtype, *shape), numbers(dtype, 1, shape[1], *kernel))


def depthwise_convolutions(dtype: str) -> None:
    """Channels that fill no vectors; several blocks and parts; tasks whose last images are fewer."""
    for n, channels, image, window in (
        (3, 2, (5, 6), Window((3, 3), (2, 1), (1, 1), (1, 1), 2)),
        (1, 17, (7,), Window((2,), (3,), (1,), (2,), 17)),
        (1, 2, (2, 3, 4), Window((2, 2, 5), (1, 1, 1), (1, 0, 2), (1, 1, 1), 2)),
        (1, 2, (30, 20), Window((1, 2), (1, 1), (0, 0), (1, 1), 2)),
    ):
        x, w = numbers(dtype, n, channels, *image, special=channels > 2), numbers(dtype, channels, 1, *window.kernel)
        y = depthwise.convolve(x, w, numbers(dtype, channels), window)
        depthwise.convolve_image(y, w, window, image)
        depthwise.weight_parts(y, x, window)


@contextlib.contextmanager
def convolving_with_relu(module: Any) -> Iterator[None]:
    """As plans call the kernel: the sixth argument says that the positive part is taken."""
    convolve = module.native.convolve

    def rectified(tasks: int, work: int, *arguments: Any, scratch: int) -> None:
        convolve(tasks, work, *arguments[:5], 1, *arguments[6:], scratch=scratch)

    with unittest.mock.patch.object(module.native, "convolve", rectified):
        yield


def gathered_convolutions(dtype: str) -> None:
    """Several images in a block, and several blocks of an image; runs of a row, of a pixel and of a part of one."""
    for n, channels, filters, image, window in (
        (3, 2, 5, (5, 6), Window((3, 2), (2, 1), (1, 1), (1, 1))),
        (2, 17, 3, (3, 4), Window((1, 2), (2, 1), (0, 1), (1, 2))),
        (1, 1, 2, (31, 20), Window((2, 1), (1, 1), (0, 0), (1, 1))),
        (2, 32, 32, (3,), Window((2,), (2,), (0,), (1,), 2)),
        (2, 128, 3, (2,), Window((2,), (1,), (1,), (1,))),  # without its padding
        (1, 2, 1, (3, 2, 4), Window((2, 1, 3), (1, 2, 2), (1, 0, 1), (1, 1, 1))),
    ):
        x, w = numbers(dtype, n, channels, *image), numbers(dtype, filters, channels // window.groups, *window.kernel)
        y = gathered.convolve(x, w, numbers(dtype, filters), window)
        gathered.convolve_image(y, w, window, image)
        gathered.convolve_weight(y, x, window)
        with convolving_with_relu(gathered):
            assert gathered.convolve(x, w, None, window).min() >= 0


def grouped_convolutions(dtype: str) -> None:
    """Several rows at a time of which the last are fewer, with a stride and without; planes; more than a chunk."""
    for n, channels, filters, image, window in (
        (2, 8, 12, (5, 6), Window((3, 2), (2, 1), (1, 1), (1, 1), 2)),
        (1, 4, 4, (3, 300), Window((2, 3), (1, 1), (0, 1), (1, 2), 1)),
        (1, 5, 4, (3, 4, 5), Window((2, 1, 3), (1, 3, 2), (1, 0, 1), (1, 1, 1), 1)),
        (1, 2, 1, (5, 7), Window((1, 2), (1, 3), (0, 2), (1, 1), 1)),
    ):
        x, w = numbers(dtype, n, channels, *image), numbers(dtype, filters, channels // window.groups, *window.kernel)
        y = grouped.convolve(x, w, numbers(dtype, filters), window)
        grouped.convolve_image(y, w, window, image)
        grouped.convolve_weight(y, x, window)


def pointwise_convolutions(dtype: str) -> None:
    """Blocks of pixels and sums of channels of which the last is smaller; panels that are not filled."""
    for n, channels, filters, image, groups in (
        (3, 70, 3, (7,), 1),
        (1, 6, 36, (2, 3), 2),
        (9, 2, 3, (500,), 1),
        (2, 3, 66, (5,), 1),
    ):
        window = Window(*((k,) * len(image) for k in (1, 1, 0, 1)), groups)
        x, w = numbers(dtype, n, channels, *image), numbers(dtype, filters, channels // groups, *window.kernel)
        y = pointwise.convolve(x, w, numbers(dtype, filters), window)
        pointwise.convolve_image(y, w, window)
        pointwise.weight_parts(y, x, window)
        pointwise.convolve_few(x, w, numbers(dtype, filters), window)
    for image, stride in (((5,), (2,)), ((4, 6), (1, 3)), ((3, 4, 5), (2, 2, 3))):
        window = Window(*((k,) * len(image) for k in (1,)), stride, *((k,) * len(image) for k in (0, 1)))
        y, _ = pointwise.picked(numbers(dtype, 2, 3, *image), window)
        pointwise.spread(y, window, image)


def winograd_convolutions(dtype: str) -> None:
    """Blocks of tile rows and of channels of which the last is smaller; images with an odd number of pixels."""
    for n, channels, filters, image, pad in ((2, 3, 2, (5, 6), (1, 0)), (1, 2, 3, (1, 35), (2, 1))):
        x, w = numbers(dtype, n, channels, *image, special=n > 1), numbers(dtype, filters, channels, 3, 3)
        y = winograd.convolve(x, w, numbers(dtype, filters), pad)
        winograd.convolve_image(y, w, pad)
        with convolving_with_relu(winograd):
            winograd.convolve(x, w, None, pad)


def matrices_of_windows(dtype: str) -> None:
    for shape, window in WINDOWS:
        window = {name: value for name, value in window.items() if name != "num_group"}
        differentiate(lambda x, o=window: nd.im2col(x, **o), numbers(dtype, *shape, special=True), twice=True)


POOLS: tuple[tuple[tuple[int, ...], dict[str, Any]], ...] = (
    ((1, 1, 1), {"kernel": (1,)}),
    ((2, 2, 9), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((2, 3, 4, 6), {"kernel": (2, 2), "stride": (2, 2)}),
    ((1, 2, 5, 7), {"kernel": (2, 2), "stride": (2, 2)}),
    ((1, 2, 5, 7), {"kernel": (3, 2), "stride": (1, 3), "pad": (2, 1)}),
    ((1, 2, 5, 6), {"kernel": (3, 4), "stride": (3, 5), "pad": (1, 3), "pooling_convention": "full"}),
    ((1, 2, 4, 3, 5), {"kernel": (2, 3, 3), "stride": (2, 1, 2), "pad": (1, 0, 1)}),
    ((1, 2, 6, 7), {"kernel": (5, 5), "stride": (1, 1), "pad": (2, 2)}),
    ((2, 1, 3, 3), {"global_pool": True}),
)


def poolings(dtype: str) -> None:
    for shape, window in POOLS:
        x = numbers(dtype, *shape, special=True)
        x.reshape(-1)[-3:] = x.reshape(-1)[-1]  # ties
        for kind in ("max", "avg", "sum"):
            differentiate(lambda x, k=kind, o=window: nd.Pooling(x, pool_type=k, **o), x, twice=True)
            differentiate(lambda x, k=kind, o=window: nd.Pooling(x, pool_type=k, **o), numbers(dtype, *shape))


CASES: dict[Callable[[str], None], Sequence[str]] = {
    convolutions: [f"convolution.{f}" for f in ("convolve", "convolve_image", "convolve_weight", "sum_parts")],
    tiles_of_convolutions: [f"convolution.{f}" for f in ("convolve", "convolve_image", "convolve_weight")],
    depthwise_convolutions: ["depthwise.convolve", "depthwise.convolve_weight"],
    gathered_convolutions: [
        *(f"gathered.{f}" for f in ("pack_filters", "pack_channels", "convolve", "convolve_weight", "sum_weight")),
    ],
    grouped_convolutions: [f"grouped.{f}" for f in ("convolve", "convolve_image", "convolve_weight")],
    pointwise_convolutions: [
        *(f"pointwise.{f}" for f in ("pick", "spread", "pack_channels", "multiply", "convolve_weight")),
        *(f"pointwise.{f}" for f in ("pack_pixels", "multiply_pixels")),
    ],
    winograd_convolutions: ["winograd.transform_weights", "winograd.convolve"],
    matrices_of_windows: ["convolution.im2col", "convolution.col2im"],
    poolings: [
        *(f"pooling.{f}" for f in ("pool_max", "pool_squares", "pool_sum")),
        *(f"pooling.{f}" for f in ("unpool_sum", "unpool_max", "unpool_squares", "gather_max")),
    ],
}
"""What calls kernels, and which."""
