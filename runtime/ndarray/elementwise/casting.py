"""Operators that change the type of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core.dtypes import convert, element_type
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator

__all__ = ["Cast", "amp_cast", "amp_multicast", "cast"]
METHODS = ("astype",)


@Operator
def _cast(x: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return convert(x, dtype)


@_cast.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, dtype: np.dtype) -> NDArray:
    return _cast(g, dtype=x._data.dtype)


def cast(data: NDArray, dtype: Any) -> NDArray:
    """A copy whose elements have type `dtype`."""
    return _cast(data, dtype=element_type(dtype))


Cast = cast


def astype(data: NDArray, dtype: Any, copy: bool = True) -> NDArray:
    """A copy whose elements have type `dtype`; with `copy=False`, the array itself if they have it already."""
    dtype = element_type(dtype)
    return data if not copy and data._data.dtype == dtype else _cast(data, dtype=dtype)


def amp_cast(data: NDArray, dtype: Any) -> NDArray:
    """A copy whose elements have type `dtype` if those of `data` are floats, else their own."""
    own = data._data.dtype
    return _cast(data, dtype=element_type(dtype) if _is_float(own) else own)


def amp_multicast(*data: NDArray, num_outputs: int, cast_narrow: bool = False) -> list[NDArray]:
    """Copies of the `num_outputs` arrays, the floats among them in the widest of their types (narrowest if asked)."""
    if num_outputs != len(data):
        raise MXNetError(f"amp_multicast: num_outputs={num_outputs}, but {len(data)} arrays")
    floats = [x._data.dtype for x in data if _is_float(x._data.dtype)]
    if not floats:
        return [x.copy() for x in data]
    dtype = (min if cast_narrow else max)(floats, key=lambda d: d.itemsize)
    return [amp_cast(x, dtype) for x in data]


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind not in "iub"  # bfloat16 has a kind of its own
