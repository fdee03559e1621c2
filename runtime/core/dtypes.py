"""Element types: their names, and conversion from one to another with a single rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base import did_you_mean
from runtime.core import optgen_bridge

_NUMPY = {name: np.dtype(name) for name in ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")}
_QUICK = {None: _NUMPY["float32"]} | {key: dtype for name, dtype in _NUMPY.items() for key in (name, dtype, dtype.type)}
"""The usual spellings of a type. `np.dtype(spelling)` takes several times as long."""


def element_type(dtype: Any = None) -> np.dtype:
    """The NumPy dtype of a name, a scalar type or a dtype; float32 for None.

    'bfloat16' is the type of ml_dtypes, which is imported on first use; MXNet's spelling of it, a dtype with a field of
    this name, is understood. An array stands for its own type. TypeError for types that no NDArray has.
    """
    try:
        return _QUICK[dtype]
    except (KeyError, TypeError):  # TypeError: what cannot be a key
        return _read(dtype)


def _read(dtype: Any) -> np.dtype:
    """`element_type` of whatever else NumPy understands."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    own = getattr(dtype, "dtype", None)
    if isinstance(own, (type, np.dtype)):
        return element_type(own)
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is not None and found.names == ("bfloat16",) and found.itemsize == 2:
        return _read("bfloat16")
    if found is not None and found.name == "bfloat16":
        return found
    if found is None or found.name not in _NUMPY:
        raise TypeError(f"no array has elements of type {dtype!r}{did_you_mean(str(dtype), (*_NUMPY, 'bfloat16'))}")
    return _NUMPY[found.name]  # in the machine's byte order, whatever was given


@np.errstate(all="ignore")
def convert(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of `x` in `dtype`, rounded to nearest, ties to even. Values that are too large become infinite.

    A large one of NumPy's begins with a cache line, as `optgen_bridge.copied` has it.
    """
    if dtype.name == "bfloat16" and x.dtype == np.float64:
        x = _to_odd(x)
    if type(x) is not np.ndarray or x.size * dtype.itemsize < optgen_bridge.MIN_ALIGNED_BYTES:
        return x.astype(dtype)
    copy = optgen_bridge.aligned(x.shape, dtype, None)
    copy[...] = x
    return copy


def _to_odd(x: np.ndarray) -> np.ndarray:
    """float64 rounded to odd as float32: values that float32 lacks get the neighbour whose last bit is 1.

    ml_dtypes converts float64 to bfloat16 by way of float32. Rounding to nearest on the way can make a tie for the
    second rounding. Rounding to odd (Boldo & Melquiond, "Emulation of a FMA and correctly rounded sums", 2008) cannot.
    """
    nearest = x.astype(np.float32)
    bits = nearest.view(np.int32)
    bits -= np.abs(nearest) > np.abs(x)  # towards zero: the next smaller magnitude
    bits |= nearest != x
    return nearest
