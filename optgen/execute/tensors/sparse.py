"""Row-sparse gradients: checked, sorted, summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.protocols import Device


@dataclass(frozen=True, eq=False)
class RowSparse:
    """A gradient that holds some rows; the others are zero.

    `indices` are the row numbers, integers of shape (k,). `values` are the rows, of shape (k, *shape[1:]) for a
    parameter of that shape, and of its dtype. Rows of one number are summed in the order given, in float32 (float64 if
    that is the dtype). Both arrays are read when they are bound; after they changed, `rebind`.
    """

    indices: Any
    values: Any


def check(grad: RowSparse, param: Tensor, dtype: str, name: str, device: Device) -> tuple[Array, Tensor]:
    """The ascending row numbers (int64) of a gradient, and its rows in that order; errors call it `name`."""
    values = device.tensor(grad.values, f"{name}.values")
    indices = _row_numbers(grad.indices, f"{name}.indices", device)
    if not param.shape:
        raise ValueError(f"{name}: row-sparse, but its parameter is a single number, which has no rows")
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise TypeError(
            f"{name}.indices: expected integers in one dimension, not {indices.dtype} of shape {indices.shape}"
        )
    buffers.check(values, dtype, (len(indices), *param.shape[1:]), "one row of the parameter for each index")
    index = np.array(indices, np.int64)  # a copy: the indices are not kept alive
    ascending = bool((indices[1:] > indices[:-1]).all())
    if len(indices):
        least, most = (indices[0], indices[-1]) if ascending else (indices.min(), indices.max())
        _check_range(indices, int(least), int(most), param.shape[0], name)
    if ascending:
        return index, values
    index, summed = _sum_rows(index, device.get(values), dtype)
    return index, device.tensor(device.put(summed), values.name)


def _check_range(indices: Array, least: int, most: int, rows: int, name: str) -> None:
    """ValueError that names the first number which is no row of the parameter, if the least or the greatest is none."""
    if least < 0 or most >= rows:
        at = np.flatnonzero((indices < 0) | (indices >= rows))[0]
        raise ValueError(f"{name}.indices: {indices[at]} at position {at}, but the parameter has {rows} rows")


def _row_numbers(obj: Any, name: str, device: Device) -> Array:
    """The row numbers as an array of the host, from the device or from the memory of the CPU."""
    try:
        return device.get(device.tensor(obj, name))
    except ValueError:
        return buffers.tensor(obj, name).view()


def _sum_rows(index: Array, values: Array, dtype: str) -> tuple[Array, Array]:
    """The distinct row numbers, ascending, and their rows; rows of one number are added in the order given."""
    distinct, places = np.unique(index, return_inverse=True)
    # The sums start at -0, which leaves every number that is added to it as it is, -0 too.
    total = np.full((len(distinct), *values.shape[1:]), -0.0, np.float64 if dtype == "float64" else np.float32)
    with np.errstate(all="ignore"):
        np.add.at(total, places, values.astype(total.dtype, copy=False))
        return distinct, np.ascontiguousarray(total.astype(values.dtype))
