"""Functions that make arrays: of a shape, or of numbers, NumPy arrays and other data."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import ArgumentError, MXNetError, count
from runtime.context import Context, current_context
from runtime.core import backend, optgen_bridge
from runtime.core.dtypes import convert, element_type
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.shape.reshape import axis_of
from runtime.util import is_np_shape

__all__ = ["arange", "array", "empty", "eye", "full", "linspace", "onehot_encode", "ones", "zeros"]
CONTRIB = ("arange_like",)

Shape = int | tuple[int, ...]

SPARSE_MAKERS: dict[str, Callable[..., NDArray]] = {}
"""`array` and `zeros` of `nd.sparse`, which enters them here: sparse arrays are made of dense ones."""


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with the values of `source_array`: an NDArray, a NumPy array, a number, or numbers in nested sequences.
    Numbers may be written as strings.

    `dtype` is by default that of an NDArray, and float32 for everything else, NumPy arrays of other types included.
    """
    if getattr(source_array, "stype", "default") != "default" or hasattr(source_array, "tocsr"):
        return SPARSE_MAKERS["array"](source_array, ctx, dtype)
    if isinstance(source_array, NDArray):
        return _copied(source_array, _checked(source_array.context if ctx is None else ctx), dtype)
    wanted = element_type(dtype)
    try:
        data = source_array if type(source_array) is np.ndarray else np.array(source_array, order="C")
        if data.dtype.kind in "SU":
            data = data.astype(np.float64 if wanted.kind not in "iu" else wanted)
        if data.dtype.kind not in "biufVO":  # V: bfloat16; O: integers of more than 64 bits
            raise TypeError(f"{data.dtype} is no type of numbers")
        if data.dtype != wanted:
            data = convert(np.asarray(data, order="C"), wanted)
        elif data is source_array:
            data = optgen_bridge.copied(data)
        return place(data, ctx)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"cannot make an array of {type(source_array).__name__}: {error}") from None


def _copied(x: NDArray, ctx: Context, dtype: Any) -> NDArray:
    copied = x.detach().as_in_context(ctx, always_copy=True)
    wanted = copied._data.dtype if dtype is None else element_type(dtype)
    if wanted == copied._data.dtype:
        return copied
    with backend.device_scope(ctx):
        return NDArray(convert(copied._data, wanted), ctx)


def empty(shape: Shape, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array of `shape` with arbitrary values, stored as `stype`; see `zeros`."""
    if stype not in (None, "default"):
        return SPARSE_MAKERS["zeros"](stype, shape, ctx, dtype)
    return _made("empty", shape, ctx, dtype)


def zeros(shape: Shape, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array of `shape` with zeros, stored as `stype`: 'default' (also None) or one of the ways of `nd.sparse`.

    A length of 0, and the shape (), are unknown, and errors, unless `np_shape` is on; `empty` takes them always.
    """
    if stype not in (None, "default"):
        return SPARSE_MAKERS["zeros"](stype, shape, ctx, dtype)
    return blank(_known("zeros", shape), ctx, dtype)


def ones(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with ones; see `zeros`."""
    return _constant(_made("ones", _known("ones", shape), ctx, dtype))


def blank(shape: Shape, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of zeros of any shape."""
    return _constant(_made("zeros", shape, ctx, dtype))


def _known(name: str, shape: Shape) -> Shape:
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    if (0 in lengths or not lengths) and not is_np_shape():
        raise MXNetError(
            f"{name}: lengths of 0 and the shape () are unknown ones; inside np_shape() {shape} is a shape"
        )
    return shape


def full(shape: Shape, val: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of `shape` with `val` everywhere."""
    filled = _made("empty", shape, ctx, dtype, "full")
    with backend.device_scope(filled._ctx):
        filled._data.fill(val)
    return _constant(filled)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """`start, start + step, ...` below `stop` (0 to `start` if only that is given), each `repeat` times.

    Integers are as many as floats would be, from `start` in steps of `step`, both without their fractions, as in NumPy.
    `infer_range` has no effect: it is for symbols, whose shape may be unknown.
    """
    repeat = count("arange: repeat", repeat)
    start, stop = (0, start) if stop is None else (start, stop)
    if not step or (stop - start) * step < 0:
        raise ArgumentError(f"arange from {start} to {stop} in steps of {step}, each {repeat} times, has no elements")
    numbers = np.arange(start, stop, step)
    if np.issubdtype(element_type(dtype), np.integer):
        numbers = int(start) + int(step) * np.arange(len(numbers))
    numbers = np.repeat(numbers, repeat) if repeat > 1 else numbers
    return _constant(place(convert(numbers, element_type(dtype)), ctx))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = None
) -> NDArray:
    """`num` numbers at equal distances from `start` to `stop`, or with `endpoint=False` to before it."""
    numbers = np.linspace(start, stop, count("linspace: num", num, 0), endpoint)
    return _constant(place(convert(numbers, element_type(dtype)), ctx))


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A matrix of `N` rows and `M` columns (0: as many) with ones on a diagonal, `k` above the main one, else zeros."""
    N, M, k = count("eye: N", N, 0), count("eye: M", M, 0), count("eye: k", k, None)
    return _constant(place(np.eye(N, M or None, k, element_type(dtype)), ctx))


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write to row i of the matrix `out`, (n, m), 1 in column `indices[i]` and 0 elsewhere; returns `out`."""
    if out.ndim != 2 or indices.shape != out.shape[:1]:
        raise ArgumentError(
            f"onehot_encode: indices of shape {indices.shape} and out of {out.shape}, not (n,) and (n, m)"
        )
    out[:] = indices.asnumpy().astype(np.int64)[:, None] == np.arange(out.shape[1])
    return out


def arange_like(
    data: NDArray,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | None = None,
    axis: int | None = None,
) -> NDArray:
    """`start, start + step, ...`, each `repeat` times, as many as `axis` of `data` is long; or in its shape (None)."""
    shape = data.shape if axis is None else (data.shape[axis_of("arange_like", data.shape, axis)],)
    repeat = count("arange_like: repeat", repeat)
    numbers = start + step * (np.arange(math.prod(shape)) // repeat)
    return _constant(place(convert(numbers.reshape(shape), data._data.dtype), data._ctx if ctx is None else ctx))


def place(data: np.ndarray, ctx: Context | None) -> NDArray:
    """An NDArray over `data`, C-contiguous; over a copy if `ctx` (None: the current context) is a GPU's."""
    ctx = _checked(ctx)
    return NDArray(backend.to_context(data, ctx), ctx)


def _constant(made: NDArray) -> NDArray:
    """`made`, which a traced function would make the same way each time."""
    if autograd.mode.trace is not None:
        autograd.mode.trace.constants.append((made._data, made._data.copy()))
    return made


def _checked(ctx: Context | None) -> Context:
    """`ctx`, or the current context for None; an error unless arrays can live there."""
    ctx = current_context() if ctx is None else ctx
    if not isinstance(ctx, Context):
        raise ArgumentError(f"ctx is a Context, such as mx.cpu(), not {ctx!r}")
    ctx.require()
    return ctx


def _made(make: str, shape: Shape, ctx: Context | None, dtype: Any, name: str | None = None) -> NDArray:
    """The array that the function `make` of NumPy or CuPy returns in `ctx`. `name` is for errors, `make` by default."""
    dtype = element_type(dtype)
    ctx = _checked(ctx)
    try:
        if ctx.on_cpu:
            return NDArray(_in_host_memory(make, shape, dtype), ctx)
        with backend.device_scope(ctx):
            return NDArray(getattr(backend.xp_for(ctx), make)(shape, dtype), ctx)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name or make}: {shape!r} is no shape of an array: {error}") from None


def _in_host_memory(make: str, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """What a function of NumPy makes; larger arrays, as of weights and gradients, begin with a cache line."""
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if all(type(n) is int and n >= 0 for n in lengths):
        nbytes = math.prod(lengths) * dtype.itemsize
        if optgen_bridge.MIN_ALIGNED_BYTES <= nbytes < sys.maxsize:
            return optgen_bridge.aligned(lengths, dtype, {"empty": None, "zeros": 0.0, "ones": 1.0}[make])
    return getattr(np, make)(shape, dtype)
