"""Row-sparse gradients: checked, sorted, summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor

if TYPE_CHECKING:
    from optgen.execute.device import Device


@dataclass(frozen=True, eq=False)
class RowSparse:
    """A gradient of which only some rows are there; the others are zero.

    `indices`: integers of shape (k,), the row numbers. A row that comes several times is summed, in the order given, in
    float32 (float64 if that is the dtype). `values`: the rows, of shape (k, *shape[1:]) for a parameter of that shape,
    and of its dtype. Both are read when they are bound; after they changed, `rebind`.
    """

    indices: Any
    values: Any


def check(grad: RowSparse, param: Tensor, dtype: str, name: str, device: Device) -> tuple[Array, Tensor]:
    """The ascending row numbers (int64) of a gradient, and its rows in that order; errors call it `name`."""
    values = device.tensor(grad.values, f"{name}.values")
    indices = _numbers(grad.indices, f"{name}.indices", device)
    if not param.shape:
        raise ValueError(f"{name}: row-sparse, but its parameter is a single number, which has no rows")
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise TypeError(
            f"{name}.indices: expected integers in one dimension, not {indices.dtype} of shape {indices.shape}"
        )
    buffers.check(values, dtype, (len(indices), *param.shape[1:]), "one row of the parameter for each index")
    rows = param.shape[0]
    outside = np.flatnonzero(np.logical_or(indices < 0, indices >= rows))
    if outside.size:
        at = outside[0]
        raise ValueError(f"{name}.indices: {indices[at]} at position {at}, but the parameter has {rows} rows")
    index = np.array(indices, np.int64)  # a copy: the indices are not kept alive
    if np.all(index[1:] > index[:-1]):
        return index, values
    index, summed = _sum_rows(index, device.get(values), dtype)
    return index, device.tensor(device.put(summed), values.name)


def _numbers(obj: Any, name: str, device: Device) -> Array:
    """Row numbers, which the host looks at, wherever they are."""
    try:
        return device.get(device.tensor(obj, name))
    except ValueError:
        return buffers.tensor(obj, name).view()


def _sum_rows(index: Array, values: Array, dtype: str) -> tuple[Array, Array]:
    """Sorted, with one row for each index; those of one index are added in the order given."""
    distinct, places = np.unique(index, return_inverse=True)
    # -0 is what changes no number that is added to it, +0 among them.
    total = np.full((len(distinct), *values.shape[1:]), -0.0, np.float64 if dtype == "float64" else np.float32)
    with np.errstate(all="ignore"):
        np.add.at(total, places, values.astype(total.dtype, copy=False))
        return distinct, np.ascontiguousarray(total.astype(values.dtype))
