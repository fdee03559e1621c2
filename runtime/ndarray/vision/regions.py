"""Regions of interest, boxes in images, brought to one size. `rois` get no gradient, as in MXNet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError, counts
from runtime.core.backend import to_device_of, to_host
from runtime.native import regions as native
from runtime.ndarray.creation import arange
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.windows import floating
from runtime.ndarray.shape.reshape import reshape
from runtime.ndarray.shape.slicing import concat
from runtime.ndarray.two_gradients import widen_half
from runtime.ndarray.vision.interpolation import sources_of, weighted_sum

__all__ = ["ROIPooling"]
CONTRIB = ("PSROIPooling", "ROIAlign", "RROIAlign", "mrcnn_mask_target")

MAX_SOURCES = 1 << 24
"""The most sources of one region. More are refused: its corners must be wrong."""


def ROIAlign(
    data: NDArray,
    rois: NDArray,
    pooled_size: Sequence[int],
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> NDArray:
    """(regions, channels, height, width): means over `pooled_size` bins of each region, of interpolated samples.

    Parameters
    ----------
    data: (batch, channels, height, width).
    rois: (regions, 5): the number of the image, and the corners x, y, x, y, which `spatial_scale` brings to the pixels
        of `data`. Where the number is negative, the result is 0.
    sample_ratio: samples along each side of a bin; by default one for each pixel that it is long, rounded up.
    position_sensitive: each bin reads channels of its own: channel c of bin p is number c*bins + p of `data`.
    aligned: pixels have their centres at halves. Else regions are at least one pixel wide and high.
    """
    rows, columns = checked("ROIAlign", data, rois, pooled_size)
    bins = rows * columns
    _, channels, height, width = data.shape
    if position_sensitive and channels % bins:
        raise MXNetError(f"ROIAlign: {channels} channels of data cannot be shared among {rows} by {columns} bins")
    images, corners = regions_of("ROIAlign", rois, len(data))
    corners = corners * corners.dtype.type(spatial_scale) - (0.5 if aligned else 0)
    sizes = corners[:, 2:] - corners[:, :2]
    if aligned and (sizes <= 0).any():
        raise MXNetError("ROIAlign: with aligned=True, every region must be wider and higher than 0")
    sizes = sizes if aligned else np.maximum(sizes, 1)
    counts = np.zeros((len(images), bins), np.int64)
    places, weights = [np.empty(0, np.int64)], [np.empty(0, data.dtype)]
    offset = np.arange(bins).reshape(rows, columns, 1, 1) * (height * width if position_sensitive else 0)
    inside = np.flatnonzero(images >= 0)
    for alike in [inside] if sample_ratio > 0 else inside[:, None]:  # regions of as many samples
        w, h = sizes[alike].T
        samples = [sample_ratio if sample_ratio > 0 else int(np.ceil(n[0] / k)) for n, k in ((h, rows), (w, columns))]
        sources = 4 * samples[0] * samples[1]
        if sources * bins > MAX_SOURCES:
            raise MXNetError(
                f"ROIAlign: region {alike[0]} of rois is {w[0]:g} by {h[0]:g} pixels large, too many to sample"
            )
        counts[alike] = sources
        row, row_weight = _samples(corners[alike, 1], h / rows, rows, samples[0], height)
        column, column_weight = _samples(corners[alike, 0], w / columns, columns, samples[1], width)
        places.append((row[:, :, None, :, None] * width + column[:, None, :, None] + offset).ravel())
        weights.append((row_weight[:, :, None, :, None] * column_weight[:, None, :, None]).astype(data.dtype).ravel())
    sets = bins if position_sensitive else 1
    y = _summed(data, images, counts, places, weights, sets)
    return reshape(y, (len(images), channels // sets, rows, columns))


def _samples(start: np.ndarray, size: np.ndarray, bins: int, samples: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights, (regions, bins, 2 samples), along an axis of length n: the two elements around each sample.
    Bins of a region have a size, and the first one a start.

    What lies more than a pixel outside counts nothing, and what lies less than that outside is moved to the edge.
    """
    start, size = start[:, None, None], size[:, None, None]
    at = start + np.arange(bins)[:, None] * size + (np.arange(samples) + 0.5) * size / samples
    weight = ((at >= -1) & (at <= n)) / samples
    at = np.clip(at, 0, n - 1)
    low = at.astype(np.int64)
    above = (at - low) * weight
    return np.concatenate([low, np.minimum(low + 1, n - 1)], 2), np.concatenate([weight - above, above], 2)


def ROIPooling(data: NDArray, rois: NDArray, pooled_size: Sequence[int], spatial_scale: float) -> NDArray:
    """(regions, channels, height, width): the largest elements of `pooled_size` bins of each region; 0 if empty.

    Parameters
    ----------
    data: (batch, channels, height, width).
    rois: (regions, 5): the number of the image, and the corner pixels x, y, x, y, both within the region, which
        `spatial_scale` brings to the pixels of `data`, rounded.
    """
    rows, columns = checked("ROIPooling", data, rois, pooled_size)
    images, corners = regions_of("ROIPooling", rois, len(data))
    if (images < 0).any():
        raise MXNetError("ROIPooling: the number of an image in rois must not be negative")
    _, channels, height, width = data.shape
    corners = corners * corners.dtype.type(spatial_scale)
    limit = 2.0**31  # far beyond any image
    corners = np.clip(rounded(corners), -limit, limit).astype(np.int64)
    sizes = np.maximum(corners[:, 2:] - corners[:, :2] + 1, 1)
    tops, bottoms = _bins(corners[:, 1], sizes[:, 1], rows, height, data.dtype)
    lefts, rights = _bins(corners[:, 0], sizes[:, 0], columns, width, data.dtype)
    plane = height * width
    x = to_host(data._data)  # there the largest are looked for
    x = widen_half(x) if plane < 1 << 24 else x.astype(np.float64)  # places are numbers of its type
    found = np.empty((len(images), channels, rows, columns), x.dtype)
    g = np.array([len(images), channels, 0, channels * plane, plane, rows, columns, width], np.int64)
    native.largest(len(images) * channels, 2 * found.size, x, found, images, tops, bottoms, lefts, rights, g)
    one_channel = (len(data) * channels, 1, height, width)
    channel = images[:, None] * channels + np.arange(channels)
    places = found.reshape(-1, rows * columns)
    sources = sources_of(channel.ravel(), places >= 0, places[places >= 0], one_channel)
    ones = NDArray(to_device_of(data._data, np.ones(len(sources.places), data.dtype)), data._ctx)
    y = weighted_sum(reshape(data, one_channel), ones, sources=sources)
    return reshape(y, found.shape)


def PSROIPooling(
    data: NDArray, rois: NDArray, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0
) -> NDArray:
    """(regions, output_dim, pooled_size, pooled_size): means of bins of each region; 0 if empty (R-FCN).

    Parameters
    ----------
    data: (batch, output_dim*group_size^2, height, width): a bin reads, of each set of group_size^2 channels, that of
        its place in the region.
    rois: (regions, 5): the number of the image, and the corner pixels x, y, x, y, both within the region, which
        `spatial_scale` brings to the pixels of `data`.
    group_size: by default `pooled_size`.
    """
    bins, _ = checked("PSROIPooling", data, rois, (pooled_size, pooled_size))
    images, corners = regions_of("PSROIPooling", rois, len(data))
    (group,) = counts("PSROIPooling: group_size", group_size or pooled_size)
    sets = group * group
    _, channels, height, width = data.shape
    if channels != output_dim * sets or (images < 0).any():
        raise MXNetError(
            f"PSROIPooling: data of {output_dim * sets} channels and images from 0 are expected, not {channels} and "
            f"{images.min(initial=0)}"
        )
    scale = corners.dtype.type(spatial_scale)
    corners = rounded(corners)
    start, end = corners[:, :2] * scale, (corners[:, 2:] + 1) * scale
    each = np.maximum(end - start, corners.dtype.type(0.1)) / bins
    edges = start[:, None] + np.arange(bins + 1, dtype=corners.dtype)[:, None] * each[:, None]
    limits = np.array([width, height])
    low = np.clip(np.floor(edges[:, :-1]), 0, limits).astype(np.int64)
    high = np.clip(np.ceil(edges[:, 1:]), 0, limits).astype(np.int64)
    place = np.minimum(np.arange(bins) * group // bins, group - 1)
    counted = np.zeros((len(images), bins * bins), np.int64)
    places, weights = [np.empty(0, np.int64)], [np.empty(0, data.dtype)]
    for n, i, j in np.ndindex(len(images), bins, bins):
        (left, right), (top, bottom) = ((low[n, at, axis], high[n, at, axis]) for axis, at in ((0, j), (1, i)))
        found = np.add.outer(np.arange(top, bottom) * width, np.arange(left, right)).ravel()
        counted[n, i * bins + j] = len(found)
        places.append(found + (place[i] * group + place[j]) * height * width)
        weights.append(np.full(len(found), 1 / max(len(found), 1), data.dtype))
    y = _summed(data, images, counted, places, weights, sets)
    return reshape(y, (len(images), output_dim, bins, bins))


def RROIAlign(
    data: NDArray, rois: NDArray, pooled_size: Sequence[int], spatial_scale: float, sampling_ratio: int = -1
) -> NDArray:
    """(regions, channels, height, width): means over `pooled_size` bins of turned regions, of interpolated samples.

    Parameters
    ----------
    data: (batch, channels, height, width).
    rois: (regions, 6): the number of the image, the centre x, y, width and height, which `spatial_scale` brings to the
        pixels of `data`, and the angle in degrees by which the region is turned.
    sampling_ratio: samples along each side of a bin; by default one for each pixel that it is long, rounded up.
    """
    rows, columns = checked("RROIAlign", data, rois, pooled_size, 6)
    images, boxes = regions_of("RROIAlign", rois, len(data))
    _, channels, height, width = data.shape
    counted = np.zeros((len(images), rows * columns), np.int64)
    places, weights = [np.empty(0, np.int64)], [np.empty(0, data.dtype)]
    for n, (x, y, w, h, angle) in enumerate(boxes):
        x, y, w, h = (k * boxes.dtype.type(spatial_scale) for k in (x, y, w, h))
        w, h = max(w, 1), max(h, 1)
        samples = [sampling_ratio if sampling_ratio > 0 else int(np.ceil(a / k)) for a, k in ((h, rows), (w, columns))]
        if 4 * samples[0] * samples[1] * rows * columns > MAX_SOURCES:
            raise MXNetError(f"RROIAlign: region {n} of rois is {w:g} by {h:g} pixels large, too many to sample")
        cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        # Bins down and across, then samples down and across.
        steps = (
            ((np.arange(k)[:, None] + (np.arange(s) + 0.5) / s) * (a / k) - a / 2)
            for a, k, s in ((h, rows, samples[0]), (w, columns, samples[1]))
        )
        down, across = (
            z.reshape(shape) for z, shape in zip(steps, ((rows, 1, -1, 1), (1, columns, 1, -1)), strict=True)
        )
        found, weight = _between(down * cos - across * sin + y, across * cos + down * sin + x, height, width)
        counted[n] = 4 * samples[0] * samples[1]
        places.append(found.ravel())
        weights.append((weight / (samples[0] * samples[1])).astype(data.dtype).ravel())
    return reshape(_summed(data, images, counted, places, weights, 1), (len(images), channels, rows, columns))


def _between(y: np.ndarray, x: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights of the four pixels around each point, on a new last axis.

    What lies more than a pixel outside counts nothing, and what lies less than that outside is moved to the edge.
    """
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    pairs = []
    for at, n in ((y, height), (x, width)):
        at = np.clip(at, 0, n - 1)
        low = at.astype(np.int64)
        pairs.append(((low, np.minimum(low + 1, n - 1)), (1 - (at - low), at - low)))
    (rows, above), (columns, beside) = pairs
    corners = [(i, j) for i in (0, 1) for j in (0, 1)]
    places = np.stack([rows[i] * width + columns[j] for i, j in corners], -1)
    return places, np.stack([above[i] * beside[j] * inside for i, j in corners], -1)


def _summed(
    data: NDArray,
    images: np.ndarray,
    counted: np.ndarray,
    places: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    sets: int,
) -> NDArray:
    """(regions, channels/sets, points): `weighted_sum` of sources that are listed region by region."""
    sources = sources_of(np.maximum(images, 0), counted, np.concatenate(places), data.shape, sets)
    factors = NDArray(to_device_of(data._data, np.concatenate(weights)), data._ctx)
    return weighted_sum(data, factors, sources=sources)


def _bins(start: np.ndarray, size: np.ndarray, bins: int, n: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """(regions, bins): where they start, and end, along an axis of length n. Neighbours may share an element."""
    each = (size.astype(dtype) / dtype(bins))[:, None]
    i = np.arange(bins + 1, dtype=dtype)
    low, high = np.floor(i[:-1] * each), np.ceil(i[1:] * each)
    ends = (np.clip(x.astype(np.int64) + start[:, None], 0, n) for x in (low, high))
    return tuple(np.ascontiguousarray(x) for x in ends)


def rounded(x: np.ndarray) -> np.ndarray:
    """The nearest whole numbers; of two the one farther from 0."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def checked(name: str, data: NDArray, rois: NDArray, pooled_size: Sequence[int], numbers: int = 5) -> tuple[int, int]:
    """The bins' rows and columns. `numbers` is how many describe a region."""
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != numbers:
        raise MXNetError(
            f"{name}: data is (batch, channels, height, width) and rois (regions, {numbers}), not {data.shape} and "
            f"{rois.shape}"
        )
    floating(name, data)
    bins = counts(f"{name}: pooled_size", pooled_size)
    if len(bins) != 2:
        raise MXNetError(f"{name}: pooled_size is a height and a width, not {pooled_size}")
    return bins


def regions_of(name: str, rois: NDArray, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the images, and corners."""
    values = widen_half(to_host(floating(name, rois)._data))
    if not np.isfinite(values).all():
        raise MXNetError(f"{name}: rois has values that are not finite")
    if (values[:, 0] >= batch).any():
        raise MXNetError(f"{name}: rois names image {values[:, 0].max():g}, but data has {batch}")
    return values[:, 0].astype(np.int64), values[:, 1:]


def mrcnn_mask_target(
    rois: NDArray,
    gt_masks: NDArray,
    matches: NDArray,
    cls_targets: NDArray,
    num_rois: int,
    num_classes: int,
    mask_size: Sequence[int] = (14, 14),
    sample_ratio: int = 2,
    aligned: bool = False,
) -> list[NDArray]:
    """The parts of masks that regions have, and which class they count for; both (batch, N, classes, height, width).

    Parameters
    ----------
    rois: (batch, N, 4), corners x, y, x, y; N is `num_rois`.
    gt_masks: (batch, masks, height, width), the masks of whole images.
    matches: (batch, N), the number of the mask of each region.
    cls_targets: (batch, N), its class. Weights of the result are 1 for this class, and 0 for others.
    mask_size: the height and the width of the result.
    sample_ratio, aligned: as for `ROIAlign`.
    """
    batch, masks, *plane = gt_masks.shape
    size = counts("mrcnn_mask_target: mask_size", mask_size)
    for name, x, shape in (("rois", rois, (batch, num_rois, 4)), ("matches", matches, (batch, num_rois))):
        if x.shape != shape:
            raise MXNetError(f"mrcnn_mask_target: {name} must have shape {shape}, not {x.shape}")
    number = matches.astype(rois.dtype) + (arange(batch, ctx=rois.context, dtype=rois.dtype) * masks).reshape((-1, 1))
    corners = concat(number.reshape((-1, 1)), reshape(rois, (-1, 4)), dim=1)
    sampled = ROIAlign(
        reshape(gt_masks, (-1, 1, *plane)).detach(), corners.detach(), size, 1.0, sample_ratio, aligned=aligned
    )
    shape = (batch, num_rois, num_classes, *size)
    sampled = reshape(sampled, (batch, num_rois, 1, *size)).broadcast_to(shape)
    classes = arange(num_classes, ctx=rois.context, dtype=rois.dtype).reshape((1, 1, -1))
    weights = cls_targets.astype(rois.dtype).reshape((batch, num_rois, 1)) == classes
    return [sampled, reshape(weights, (batch, num_rois, num_classes, 1, 1)).broadcast_to(shape)]
