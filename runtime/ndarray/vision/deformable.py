"""Convolution and pooling that sample where other layers say: deformable networks (Dai et al., 2017; Zhu et al., 2019).

Gradients flow to data, offsets, modulation and weights; samples are interpolated between four pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from runtime.base import MXNetError, count, counts
from runtime.core.backend import device_scope, to_device_of
from runtime.ndarray.linalg.products import batch_dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.windows import floating
from runtime.ndarray.shape.broadcast import broadcast_to
from runtime.ndarray.shape.gather import take
from runtime.ndarray.shape.reshape import reshape, transpose
from runtime.ndarray.shape.slicing import stack
from runtime.ndarray.vision.grid_sample import neighbours
from runtime.ndarray.vision.interpolation import sources_of, weighted_sum
from runtime.ndarray.vision.regions import checked, regions_of, rounded

__all__: list[str] = []
CONTRIB = ("DeformableConvolution", "DeformablePSROIPooling", "ModulatedDeformableConvolution")

Around = Callable[[NDArray, int], tuple[list, list[NDArray]]]
"""The indices and weights of the two elements around each point, on an axis of some length."""
Lengths = Sequence[int]


def DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: Lengths = (),
    stride: Lengths = (),
    dilate: Lengths = (),
    pad: Lengths = (),
    num_filter: int = 0,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: str | None = None,
) -> NDArray:
    """Convolution of (batch, channels, height, width) whose window reads, for each output, shifted pixels.

    Parameters
    ----------
    offset: (batch, num_deformable_group*2*window, rows, columns): for each pixel of the window how far down, and how
        far to the right, what it reads is shifted. Each of the groups of channels has offsets of its own.
    weight: (num_filter, channels/num_group, height, width) of the window `kernel`, and `bias` (num_filter,).
    workspace, layout: do nothing.
    """
    window = _Window("DeformableConvolution", data, kernel, stride, dilate, pad, num_deformable_group)
    columns = window.sampled(data, offset, None, _within)
    return window.product(columns, weight, None if no_bias else bias, num_filter, num_group)


def ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: Lengths = (),
    stride: Lengths = (),
    dilate: Lengths = (),
    pad: Lengths = (),
    num_filter: int = 0,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: str | None = None,
) -> NDArray:
    """`DeformableConvolution` that multiplies what the window reads with `mask`.

    `mask` is (batch, num_deformable_group*window, rows, columns). `workspace`, `im2col_step` and `layout` do nothing.
    """
    window = _Window("ModulatedDeformableConvolution", data, kernel, stride, dilate, pad, num_deformable_group)
    columns = window.sampled(data, offset, mask, neighbours)
    return window.product(columns, weight, None if no_bias else bias, num_filter, num_group)


class _Window:
    """The window of a convolution over images of one shape."""

    def __init__(
        self, name: str, data: NDArray, kernel: Lengths, stride: Lengths, dilate: Lengths, pad: Lengths, groups: int
    ) -> None:
        floating(name, data)
        self.name, self.groups = name, count(f"{name}: num_deformable_group", groups)
        lengths = {"kernel": kernel, "stride": stride or (1, 1), "dilate": dilate or (1, 1), "pad": pad or (0, 0)}
        given = {key: counts(f"{name}: {key}", x, 0 if key == "pad" else 1) for key, x in lengths.items()}
        if data.ndim != 4 or any(len(x) != 2 for x in given.values()):
            raise MXNetError(
                f"{name}: data is (batch, channels, height, width), windows have two axes: {data.shape}, {given}"
            )
        if data.shape[1] % self.groups:
            raise MXNetError(f"{name}: {data.shape[1]} channels cannot be shared among {groups} deformable groups")
        self.kernel, self.stride, self.dilate, self.pad = given.values()
        self.rows, self.columns = (
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, d, p in zip(data.shape[2:], self.kernel, self.stride, self.dilate, self.pad, strict=True)
        )
        if min(self.rows, self.columns) < 1:
            raise MXNetError(f"{name}: a window {self.kernel} is larger than images of {data.shape[2:]}")

    def sampled(self, data: NDArray, offset: NDArray, mask: NDArray | None, around: Around) -> NDArray:
        """(batch, channels, window, rows*columns): what the window reads."""
        batch, channels, height, width = data.shape
        size, points = math.prod(self.kernel), self.rows * self.columns
        self._expect("offset", offset, (batch, self.groups * 2 * size, self.rows, self.columns))
        shifts = reshape(offset, (batch * self.groups, size, 2, points))
        at = shifts + _beside(data, self._places())
        at = reshape(transpose(at, axes=(0, 2, 1, 3)), (batch * self.groups, 2, size * points))
        groups = reshape(data, (batch * self.groups, channels // self.groups, height, width))
        scale = None
        if mask is not None:
            self._expect("mask", mask, (batch, self.groups * size, self.rows, self.columns))
            scale = reshape(mask, (batch * self.groups, size * points))
        found = interpolated(groups, np.arange(len(groups)), at[:, 0], at[:, 1], around, scale)
        return reshape(found, (batch, channels, size, points))

    def _places(self) -> np.ndarray:
        """(1, window, 2, rows*columns): the row and the column that each pixel of the window reads, without shifts."""
        numbers = zip(self.kernel, self.dilate, (self.rows, self.columns), self.stride, self.pad, strict=True)
        down, across = (np.add.outer(np.arange(k) * d, np.arange(n) * s - p) for k, d, n, s, p in numbers)
        shape = *self.kernel, self.rows, self.columns
        both = [np.broadcast_to(x, shape).reshape(-1, self.rows * self.columns)
                for x in (down[:, None, :, None], across[None, :, None, :])]  # fmt: skip
        return np.stack(both, 1)[None]

    def product(self, columns: NDArray, weight: NDArray, bias: NDArray | None, filters: int, groups: int) -> NDArray:
        """The sums over the window times weights: (batch, filters, rows, columns)."""
        batch, channels, size, points = columns.shape
        if channels % groups or filters % groups:
            raise MXNetError(
                f"{self.name}: {channels} channels and {filters} filters cannot be shared among {groups} groups"
            )
        self._expect("weight", weight, (filters, channels // groups, *self.kernel))
        apart = reshape(columns, (batch, groups, channels // groups * size, points))
        apart = reshape(transpose(apart, axes=(1, 2, 0, 3)), (groups, channels // groups * size, batch * points))
        found = batch_dot(reshape(weight, (groups, filters // groups, channels // groups * size)), apart)
        found = transpose(reshape(found, (filters, batch, points)), axes=(1, 0, 2))
        found = reshape(found, (batch, filters, self.rows, self.columns))
        if bias is None:
            return found
        self._expect("bias", bias, (filters,))
        return found + reshape(bias, (1, filters, 1, 1))

    def _expect(self, what: str, x: NDArray, shape: tuple[int, ...]) -> None:
        if x.shape != shape:
            raise MXNetError(f"{self.name}: {what} is {shape} here, not {x.shape}")


def interpolated(
    data: NDArray, images: np.ndarray, rows: NDArray, columns: NDArray, around: Around, scale: NDArray | None = None,
    channels: np.ndarray | None = None, sets: int = 1,
) -> NDArray:  # fmt: skip
    """(groups, channels, points): pixels of `data`, (batch, channels, height, width), at points between them.

    `rows` and `columns`, (groups, points), say where, and `images`, (groups,), in which image. `scale`, (groups,
    points), are factors. With `sets`, each channel of the result reads one of as many; `channels`, (points,), tells
    which.
    """
    groups, points = rows.shape
    height, width = data.shape[2:]
    with device_scope(data._ctx):
        down, above = around(rows, height)
        across, beside = around(columns, width)
        corners = [(i, j) for i in (0, 1) for j in (0, 1)]
        places = np.stack([down[i] * width + across[j] for i, j in corners], 2)
        if channels is not None:
            places = places + to_device_of(data._data, channels * (height * width))[:, None]
        sources = sources_of(images, np.full((groups, points), 4), places.ravel(), data.shape, sets)
    weights = stack(*(above[i] * beside[j] for i, j in corners), axis=2)
    if scale is not None:
        weights = weights * reshape(scale, (groups, points, 1))
    return weighted_sum(data, reshape(weights, (-1,)), sources=sources)


def _clamped(at: NDArray, n: int, inside: np.ndarray) -> tuple[list, list[NDArray]]:
    """The neighbours of points, of which those beyond the last elements are moved to these. Points that are not
    `inside` weigh nothing."""
    near = at.clip(0, n - 1)
    low = np.nan_to_num(np.floor(near._data))
    above = near - NDArray(low, at._ctx)
    kept = NDArray(inside.astype(low.dtype), at._ctx)
    first = np.clip(low.astype(np.int64), 0, n - 1)
    return [first, np.minimum(first + 1, n - 1)], [(1 - above) * kept, above * kept]


def _within(at: NDArray, n: int) -> tuple[list, list[NDArray]]:
    return _clamped(at, n, (at._data >= 0) & (at._data < n))


def _within_half(at: NDArray, n: int) -> tuple[list, list[NDArray]]:
    return _clamped(at, n, (at._data >= -0.5) & (at._data <= n - 0.5))


# ---------------------------------------------------------------- regions


def DeformablePSROIPooling(
    data: NDArray,
    rois: NDArray,
    trans: NDArray | None = None,
    spatial_scale: float = 1.0,
    output_dim: int = 0,
    group_size: int = 0,
    pooled_size: int = 0,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> NDArray:
    """(regions, output_dim, pooled_size, pooled_size): means over bins of each region, which may be shifted.

    Parameters
    ----------
    data: (batch, output_dim*group_size^2, height, width): a bin reads, of each set of group_size^2 channels, that of
        its place in the region.
    rois: (regions, 5): the number of the image, and corners x, y, x, y, which `spatial_scale` brings to the pixels of
        `data`.
    trans: (regions, 2*classes, part_size, part_size): shifts of bins to the right and down, in `trans_std` times the
        width and height of the region; output channels are shared among the classes. None with `no_trans`.
    part_size: by default `pooled_size`.
    sample_per_part: samples along each side of a bin.
    """
    name = "DeformablePSROIPooling"
    sides = (pooled_size, group_size, sample_per_part, part_size or pooled_size)
    bins, group, samples, part = counts(f"{name}: pooled_size, group_size, sample_per_part, part_size", sides)
    checked(name, data, rois, (bins, bins))
    images, corners = regions_of(name, rois, len(data))
    shifted = None if no_trans else trans
    classes = 1 if shifted is None else max(shifted.shape[1] // 2, 1)
    batch, channels, height, width = data.shape
    if channels != output_dim * group * group or output_dim % classes or (images < 0).any():
        raise MXNetError(
            f"{name}: data of {output_dim * group * group} channels, {output_dim} shared among {classes} classes, and "
            f"images from 0 are expected; data is {data.shape}"
        )
    if shifted is not None and shifted.shape != (len(images), 2 * classes, part, part):
        raise MXNetError(f"{name}: trans is {(len(images), 2 * classes, part, part)} here, not {shifted.shape}")
    # Groups are regions and classes; points are bins down and across, then samples down and across.
    start, size = (np.repeat(x, classes, axis=0) for x in _extents(corners, spatial_scale))
    shape = (bins, bins, samples, samples)
    at = [_beside(data, x) for x in _sample_points(start, size, shape)]
    if shifted is not None:
        shifts = _shifts(shifted, part, shape, classes)
        at = [
            x + shift * (_beside(data, size[:, i, None]) * trans_std)
            for i, (x, shift) in enumerate(zip(at, shifts, strict=True))
        ]
    place = np.minimum(np.arange(bins) * group // bins, group - 1)
    channel = np.broadcast_to((place[:, None] * group + place)[:, :, None, None], shape).ravel()
    parts = reshape(data, (batch * classes, channels // classes, height, width))
    part_of = np.repeat(images * classes, classes) + np.tile(np.arange(classes), len(images))
    share = _shares(at, (width, height), samples * samples)
    found = interpolated(parts, part_of, at[1], at[0], _within_half, share, channel, group * group)
    found = reshape(found, (len(start), output_dim // classes, bins * bins, samples * samples)).sum(axis=3)
    return reshape(found, (len(images), output_dim, bins, bins))


def _beside(data: NDArray, x: np.ndarray) -> NDArray:
    """x in the type of `data`, where it lives."""
    return NDArray(to_device_of(data._data, x.astype(data.dtype)), data._ctx)


def _extents(corners: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Where regions start, x and y, and how wide and high they are, at least a tenth of a pixel."""
    half, factor = np.float32(0.5), np.float32(scale)
    corners = rounded(corners)
    start = corners[:, :2] * factor - half
    return start, np.maximum((corners[:, 2:] + 1) * factor - half - start, np.float32(0.1))


def _shares(at: list[NDArray], lengths: tuple[int, int], samples: int) -> NDArray:
    """What each sample counts in its bin, of which those outside of the image count nothing: (groups, points)."""
    with device_scope(at[0]._ctx):
        across, down = ((x._data >= -0.5) & (x._data <= n - 0.5) for x, n in zip(at, lengths, strict=True))
        inside = (across & down).reshape(-1, samples)
        share = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1)
        return NDArray(share.reshape(across.shape).astype(at[0].dtype), at[0]._ctx)


def _sample_points(start: np.ndarray, size: np.ndarray, shape: tuple[int, ...]) -> list[np.ndarray]:
    """x and y of the points of all groups, (groups, points): samples begin at the edges of their bins."""
    bins, _, samples, _ = shape
    steps = (np.arange(bins)[:, None] + np.arange(samples) / samples) / bins
    both = []
    for axis, own in ((0, (-1, 1, bins, 1, samples)), (1, (-1, bins, 1, samples, 1))):
        along = start[:, axis, None, None] + steps * size[:, axis, None, None]
        both.append(np.broadcast_to(along.reshape(own), (len(start), *shape)).reshape(len(start), -1))
    return both


def _shifts(trans: NDArray, part: int, shape: tuple[int, ...], classes: int) -> list[NDArray]:
    """The shifts to the right, and down, of all points: (regions*classes, points)."""
    groups, bins = len(trans) * classes, shape[0]
    index = NDArray(to_device_of(trans._data, np.arange(bins) * part // bins), trans._ctx)
    taken = reshape(take(take(trans, index, axis=2), index, axis=3), (groups, 2, bins, bins, 1, 1))
    points = reshape(broadcast_to(taken, (groups, 2, *shape)), (groups, 2, -1))
    return [points[:, 0], points[:, 1]]
