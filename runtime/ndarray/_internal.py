"""`nd._internal`: operators that users reach through syntax, under the names that code for MXNet calls them by."""

from __future__ import annotations

from typing import Any

from runtime.ndarray.elementwise import binary
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public
from runtime.ndarray.shape import slicing
from runtime.ndarray.shape.subscript import setitem


@public
def _slice_assign(lhs: NDArray, rhs: NDArray | float, begin: Any, end: Any, step: Any = None) -> NDArray:
    """A copy of `lhs` with `rhs` in the part that `slice` would take."""
    return slicing.slice_assign(lhs.copy(), rhs, begin, end, step)


@public
def _slice_assign_scalar(data: NDArray, scalar: float, begin: Any, end: Any, step: Any = None) -> NDArray:
    """A copy of `data` with a number in the part that `slice` would take."""
    return slicing.slice_assign(data.copy(), scalar, begin, end, step)


@public
def _scatter_set_nd(lhs: NDArray, rhs: NDArray, indices: NDArray, shape: Any = None) -> NDArray:
    """A copy of `lhs` with `rhs` at the places where `gather_nd` would take it from."""
    copy = lhs.copy()
    setitem(copy, tuple(indices), rhs)
    return copy


_crop_assign = _slice_assign
_crop_assign_scalar = _slice_assign_scalar
_split_v2 = public(slicing.split_v2)
_plus, _minus, _mul, _div = map(
    public, (binary.elemwise_add, binary.elemwise_sub, binary.elemwise_mul, binary.elemwise_div)
)
