"""Arrays out of nothing, or out of what is no array yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.context import Context, current_context
from runtime.nd.ndarray import NDArray

Shape = int | tuple[int, ...]


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with the values of `source_array`: an NDArray, a NumPy array, or numbers in nested sequences.

    `dtype` is by default that of an NDArray, and float32 for everything else, NumPy arrays of other types included.
    """
    if isinstance(source_array, NDArray):
        dtype = source_array.dtype if dtype is None else dtype
        ctx = source_array.context if ctx is None else ctx
        source_array = source_array._data
    try:
        data = np.array(source_array, dtype=np.float32 if dtype is None else dtype, order="C", ndmin=1)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cannot make an array of {type(source_array).__name__}: {error}") from None
    return place(data, ctx)


def empty(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with arbitrary values."""
    return place(np.empty(shape, dtype or np.float32), ctx)


def zeros(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with zeros."""
    return place(np.zeros(shape, dtype or np.float32), ctx)


def ones(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with ones."""
    return place(np.ones(shape, dtype or np.float32), ctx)


def full(shape: Shape, val: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with `val` everywhere."""
    return place(np.full(shape, val, dtype or np.float32), ctx)


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
    return place(np.repeat(np.arange(start, stop, step, dtype=dtype or np.float32), repeat), ctx)


def place(data: np.ndarray, ctx: Context | None) -> NDArray:
    """An NDArray over `data`, C-contiguous, in `ctx` (None: the current context)."""
    ctx = current_context() if ctx is None else ctx
    ctx.require()
    return NDArray(data, ctx)
