"""`nd._internal`: operators that users reach through syntax, under the names that code for MXNet calls them by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError, count, counts
from runtime.context import cpu
from runtime.ndarray import creation
from runtime.ndarray.elementwise import binary
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public
from runtime.ndarray.random import distributions
from runtime.ndarray.shape import slicing
from runtime.ndarray.shape.gather import gather_nd
from runtime.ndarray.shape.subscript import setitem


@public
def _slice_assign(lhs: NDArray, rhs: NDArray | float, begin: Any, end: Any, step: Any = None) -> NDArray:
    """A copy of `lhs` with `rhs` in the part that `slice` would take."""
    return slicing.slice_assign(lhs.copy(), rhs, begin, end, step)


@public
def _slice_assign_scalar(data: NDArray, scalar: float = 0, begin: Any = (), end: Any = (), step: Any = None) -> NDArray:
    """A copy of `data` with a number in the part that `slice` would take."""
    return slicing.slice_assign(data.copy(), scalar, begin, end, step)


@public
def _scatter_set_nd(lhs: NDArray, rhs: NDArray, indices: NDArray, shape: Any = None) -> NDArray:
    """A copy of `lhs` with `rhs` at the places where `gather_nd` would take it from."""
    copy = lhs.copy()
    setitem(copy, tuple(indices), rhs)
    return copy


@public
def _backward_gather_nd(data: NDArray, indices: NDArray, shape: Any) -> NDArray:
    """The gradient of `gather_nd`: zeros of `shape`, to which `data` is added at the places of `indices`."""
    source = creation.blank(counts("_backward_gather_nd: shape", shape), data.context, data.dtype)
    source.attach_grad()
    with autograd.record():
        taken = gather_nd(source, indices)
    return autograd.grad([taken], [source], [data])[0]


def _sample_unique_zipfian(range_max: int, shape: tuple[int, ...]) -> list[NDArray]:
    """Different classes below `range_max` in each row, (batch, n), and how many draws a row took, (batch,); int64.

    Class k is drawn with the probability log((k + 2)/(k + 1)) divided by log(range_max + 1).
    """
    batch, n = counts("_sample_unique_zipfian: shape", shape)
    if count("_sample_unique_zipfian: range_max", range_max) < n:
        raise MXNetError(f"_sample_unique_zipfian: there are no {n} different classes below {range_max}")
    found, tries = np.empty((batch, n), np.int64), np.zeros(batch, np.int64)
    whole = math.log(range_max + 1)
    for row in range(batch):
        kept: dict[int, None] = {}
        while len(kept) < n:
            drawn = np.exp(distributions.uniform(0, whole, n, "float64", cpu())._data)
            for k in ((drawn - 1).astype(np.int64) % range_max).tolist():
                kept[k] = None
                tries[row] += 1
                if len(kept) == n:
                    break
        found[row] = list(kept)
    return [NDArray(found, cpu()), NDArray(tries, cpu())]


_crop_assign = _slice_assign
_crop_assign_scalar = _slice_assign_scalar
_split_v2 = public(slicing.split_v2)
_plus, _minus, _mul, _div = map(
    public, (binary.elemwise_add, binary.elemwise_sub, binary.elemwise_mul, binary.elemwise_div)
)
