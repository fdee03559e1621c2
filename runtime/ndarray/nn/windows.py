"""The windows of convolution and pooling over images with one to three spatial axes, and checks of their arguments."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.base import MXNetError, count, numeric_types
from runtime.core.kept import of_sizes
from runtime.ndarray.ndarray import NDArray

Shape = tuple[int, ...]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}

LIMIT = 1 << 62
"""All numbers of a window are below it, so that kernels can have them."""
MAX_EXTENT = 1 << 19
"""The largest extent of a kernel for which images are copied with all pixels between those that it meets."""
TILE_ELEMENTS = 1 << 16
"""Elements of the part of the matrix of windows that is used at a time: it fits into the L2 cache."""


class Window(NamedTuple):
    """The size of a kernel and its steps over an image, with one number per spatial axis."""

    kernel: Shape
    stride: Shape
    pad: Shape
    dilate: Shape
    groups: int = 1

    def outputs(self, image: Shape) -> Shape:
        """How many places the kernel has along each axis of an image of these lengths."""
        sizes = zip(image, self.kernel, self.stride, self.pad, self.dilate, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)

    @property
    def extent(self) -> int:
        """The pixels from the first to the last place of a kernel, those that it leaves out included."""
        return math.prod(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilate, strict=True))


class Geometry(NamedTuple):
    """The sizes of one convolution, as the kernels of `native.convolution` take them."""

    kernel_params: np.ndarray  # lengths and steps, as the kernels index them
    outputs: Shape
    pixels: int  # of the outputs of an image
    rows: int  # of the matrix of windows, in one group
    tile: int  # its columns in one tile
    tiles: int


@functools.lru_cache(maxsize=1024)
@of_sizes
def geometry(channels: int, image: Shape, filters: int, window: Window) -> Geometry:
    """The geometry for images with `channels` channels and spatial axes `image`, and `filters` filters."""
    outputs = window.outputs(image)
    lead = (1,) * (3 - len(image))
    rows = channels // window.groups * math.prod(window.kernel)
    columns = max(1, TILE_ELEMENTS // max(1, rows))
    across = min(outputs[-1], columns)
    down = min(math.prod(outputs[:-1]), max(1, columns // outputs[-1]))
    tiles = -(-math.prod(outputs[:-1]) // down) * -(-outputs[-1] // across)
    numbers = [channels, *lead, *image, filters, *lead, *outputs, *lead, *window.kernel, *lead, *window.stride]
    numbers += [*(0 for _ in lead), *window.pad, *lead, *window.dilate]
    numbers += [window.groups, math.prod(outputs), rows, down, across, tiles]
    return Geometry(np.array(numbers, np.int64), outputs, math.prod(outputs), rows, down * across, tiles)


# ---------------------------------------------------------------- arguments


def window_of(
    name: str,
    data: NDArray,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilate: Sequence[int],
    groups: int,
    layout: str | None,
) -> Window:
    """The window that the arguments of an operator describe; MXNetError where they do not fit `data`, (n, c, ...)."""
    axes = 1 if isinstance(kernel, numeric_types) else len(kernel)
    if axes not in LAYOUTS:
        raise MXNetError(f"{name}: kernel has 1 to 3 numbers, one for each spatial axis, not {kernel}")
    if data._data.ndim != axes + 2:
        raise MXNetError(
            f"{name}: with a kernel of {axes} axes data must have {axes + 2}, {LAYOUTS[axes]}, but its shape is "
            f"{data.shape}"
        )
    if layout not in (None, LAYOUTS[axes]):
        raise MXNetError(f"{name}: the layout is {LAYOUTS[axes]}, not '{layout}'; transpose the data")
    return Window(
        per_axis(name, "kernel", kernel, axes, None),
        per_axis(name, "stride", stride, axes, 1),
        per_axis(name, "pad", pad, axes, 0),
        per_axis(name, "dilate", dilate, axes, 1),
        groups if type(groups) is int and groups > 0 else count(f"{name}: num_group", groups),
    )


def per_axis(name: str, what: str, given: Sequence[int] | int | None, axes: int, default: int | None) -> Shape:
    """One number for each axis, at least 1 (`pad` and `adj`: 0) and below 2^62; `default` where none is given."""
    if given == () and default is not None:
        return (default,) * axes
    least = 0 if default == 0 else 1
    values = given if type(given) is tuple else (given,) if isinstance(given, numeric_types) else tuple(given or ())
    if not values and default is not None:
        return (default,) * axes
    if len(values) == axes and all([type(n) is int and least <= n < LIMIT for n in values]):
        return values
    try:
        whole = tuple(map(operator.index, values))
    except TypeError:
        whole = ()
    if len(whole) != axes or min(whole) < least or max(whole) >= LIMIT:
        raise MXNetError(
            f"{name}: {what} must be {axes} whole numbers >= {least}, one for each spatial axis, not {given}"
        )
    return whole


def check_places(name: str, window: Window, image: Shape) -> None:
    """MXNetError for a kernel that is larger than the padded image."""
    if min(window.outputs(image)) < 1:
        raise MXNetError(f"{name}: a kernel of {window.kernel} exceeds an image of {image} padded by {window.pad}")


def floating(name: str, data: NDArray) -> NDArray:
    """`data`, whose elements must be floats."""
    if data._data.dtype.kind in "iub":
        raise MXNetError(f"{name}: data of shape {data.shape} is {data._data.dtype}; only floats can be computed with")
    return data
