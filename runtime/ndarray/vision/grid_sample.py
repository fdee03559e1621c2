"""Images sampled at the points of a grid, and the grids: spatial transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError, counts
from runtime.core.backend import device_scope, to_device_of
from runtime.ndarray.linalg.products import dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.convolution import floating
from runtime.ndarray.shape.reshape import reshape
from runtime.ndarray.shape.slicing import stack
from runtime.ndarray.vision.interpolation import sources_of, weighted_sum

__all__ = ["BilinearSampler", "GridGenerator", "SpatialTransformer"]


def GridGenerator(data: NDArray, transform_type: str, target_shape: Sequence[int] = (0, 0)) -> NDArray:
    """(batch, 2, height, width): for each point of an image, x and y of where to sample, from -1 to 1.

    'affine': `data`, (batch, 6), are rows of a matrix (2, 3) that takes (x, y, 1) of the target, which is
    `target_shape` large, to x and y. 'warp': `data`, (batch, 2, height, width), is how many pixels to go to the right
    and down. Both sides must be at least 2 long, so that -1 and 1 are two points.
    """
    if transform_type not in ("affine", "warp"):
        raise MXNetError(f"GridGenerator: transform_type is 'affine' or 'warp', not {transform_type!r}")
    floating("GridGenerator", data)
    affine = transform_type == "affine"
    if (data.ndim, data.shape[1]) != ((2, 6) if affine else (4, 2)):
        wanted = "(batch, 6)" if affine else "(batch, 2, height, width)"
        raise MXNetError(f"GridGenerator: for '{transform_type}' data is {wanted}, not {data.shape}")
    height, width = counts("GridGenerator: target_shape", target_shape, 0) if affine else data.shape[2:]
    if min(height, width) < 2:
        raise MXNetError(f"GridGenerator: the grid must be at least 2 by 2, not {height} by {width}")
    y, x = np.indices((height, width), data.dtype)
    scale = np.array([(width - 1) / 2, (height - 1) / 2]).astype(data.dtype)
    if affine:
        points = np.stack([x / scale[0] - 1, y / scale[1] - 1, np.ones_like(x)]).reshape(3, -1)
        at = dot(reshape(data, (-1, 3)), NDArray(to_device_of(data._data, points), data._ctx))
        return reshape(at, (len(data), 2, height, width))
    whole = (np.stack([x, y])[None], scale.reshape(1, 2, 1, 1))
    here, scale = (NDArray(to_device_of(data._data, a), data._ctx) for a in whole)
    return (data + here) / scale - 1


def BilinearSampler(data: NDArray, grid: NDArray, cudnn_off: bool | None = None) -> NDArray:
    """(batch, channels, rows, columns): `data` interpolated at the points of `grid`; it is 0 outside.

    Parameters
    ----------
    data: (batch, channels, height, width).
    grid: (batch, 2, rows, columns): x and y, where -1 and 1 are the centres of the first and the last pixel.
    cudnn_off: nothing.
    """
    if data.ndim != 4 or grid.ndim != 4 or grid.shape[:2] != (len(data), 2):
        raise MXNetError(
            "BilinearSampler: data is (batch, channels, height, width) and grid (batch, 2, rows, columns), not "
            f"{data.shape} and {grid.shape}"
        )
    floating("BilinearSampler", data)
    batch, channels, height, width = data.shape
    points = grid.shape[2] * grid.shape[3]
    at = reshape(grid, (batch, 2, points))
    corners = [(i, j) for i in (0, 1) for j in (0, 1)]
    with device_scope(data._ctx):
        columns, across = neighbours((at[:, 0] + 1) * ((width - 1) / 2), width)
        rows, down = neighbours((at[:, 1] + 1) * ((height - 1) / 2), height)
        places = np.stack([rows[i] * width + columns[j] for i, j in corners], 2)
        sources = sources_of(np.arange(batch), np.full((batch, points), 4), places.ravel(), data.shape)
    weights = stack(*(down[i] * across[j] for i, j in corners), axis=2)
    return reshape(weighted_sum(data, reshape(weights, (-1,)), sources=sources), (batch, channels, *grid.shape[2:]))


def neighbours(at: NDArray, n: int) -> tuple[list[np.ndarray], list[NDArray]]:
    """The indices and weights of the two elements around each point, on an axis of length n; 0 for those outside."""
    low = np.floor(at._data)
    above = at - NDArray(low, at._ctx)
    inside = (NDArray(((x >= 0) & (x <= n - 1)).astype(low.dtype), at._ctx) for x in (low, low + 1))
    weights = [weight * there for weight, there in zip((1 - above, above), inside, strict=True)]
    near = np.nan_to_num(np.clip(low.astype(np.float64), -1, n)).astype(np.int64)
    return [np.clip(near + i, 0, n - 1) for i in (0, 1)], weights


def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: Sequence[int] = (0, 0),
    transform_type: Any = None,
    sampler_type: Any = None,
    cudnn_off: bool | None = None,
) -> NDArray:
    """`data` sampled at the grid, `target_shape` large, of the affine maps `loc`, (batch, 6); see `GridGenerator`.

    `transform_type` is 'affine' and `sampler_type` 'bilinear'; both must be given. `cudnn_off` does nothing.
    """
    if transform_type != "affine" or sampler_type != "bilinear":
        raise MXNetError(
            "SpatialTransformer: transform_type must be given as 'affine' and sampler_type as 'bilinear', not "
            f"{transform_type!r} and {sampler_type!r}"
        )
    return BilinearSampler(data, GridGenerator(loc, "affine", target_shape))
