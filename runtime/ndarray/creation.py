"""Arrays out of nothing, or out of what is no array yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.context import Context, current_context
from runtime.dtypes import convert, element_type
from runtime.ndarray.ndarray import NDArray

__all__ = ["arange", "array", "empty", "full", "ones", "zeros"]

Shape = int | tuple[int, ...]


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with the values of `source_array`: an NDArray, a NumPy array, or numbers in nested sequences.

    `dtype` is by default that of an NDArray, and float32 for everything else, NumPy arrays of other types included.
    """
    if isinstance(source_array, NDArray):
        if source_array.stype != "default":
            return _sparse().array(source_array, ctx, dtype)
        dtype = source_array.dtype if dtype is None else dtype
        ctx = source_array.context if ctx is None else ctx
        source_array = source_array._data
    dtype = element_type(dtype)
    exact = np.dtype(np.float64) if dtype.itemsize == 2 else dtype  # numbers straight to bfloat16 round twice
    try:
        data = np.array(source_array, exact, order="C", ndmin=1)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cannot make an array of {type(source_array).__name__}: {error}") from None
    return place(data if exact is dtype else convert(data, dtype), ctx)


def empty(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with arbitrary values."""
    return place(np.empty(shape, element_type(dtype)), ctx)


def zeros(shape: Shape, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array of `shape` with zeros, stored as `stype`: 'default' (also None) or 'row_sparse'."""
    if stype not in (None, "default"):
        return _sparse().zeros(stype, shape, ctx, dtype)
    return place(np.zeros(shape, element_type(dtype)), ctx)


def ones(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with ones."""
    return place(np.ones(shape, element_type(dtype)), ctx)


def full(shape: Shape, val: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with `val` everywhere."""
    return place(np.full(shape, val, element_type(dtype)), ctx)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """`start, start + step, ...` below `stop` (0 to `start` if only that is given), each `repeat` times."""
    start, stop = (0, start) if stop is None else (start, stop)
    return place(convert(np.repeat(np.arange(start, stop, step), repeat), element_type(dtype)), ctx)


def place(data: np.ndarray, ctx: Context | None) -> NDArray:
    """An NDArray over `data`, C-contiguous, in `ctx` (None: the current context)."""
    ctx = current_context() if ctx is None else ctx
    ctx.require()
    return NDArray(data, ctx)


def _sparse() -> Any:
    from runtime.ndarray import sparse  # made of what is above

    return sparse
