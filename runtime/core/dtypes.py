"""Element types: the names that are known, and conversion between them with one rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base import did_you_mean

_NUMPY = {name: np.dtype(name) for name in ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")}
_QUICK = {None: _NUMPY["float32"]} | {key: dtype for name, dtype in _NUMPY.items() for key in (name, dtype, dtype.type)}
"""The usual ways to say it: NumPy takes long to make sense of them."""


def element_type(dtype: Any = None) -> np.dtype:
    """The NumPy dtype of a name, a scalar type or a dtype; float32 for None.

    'bfloat16' is that of ml_dtypes, which is imported when it is first asked for. TypeError for what no array holds.
    """
    try:
        return _QUICK[dtype]
    except (KeyError, TypeError):  # TypeError: what cannot be a key
        return _read(dtype)


def _read(dtype: Any) -> np.dtype:
    """The same for whatever else NumPy understands."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is not None and found.name == "bfloat16":
        return found
    if found is None or found.name not in _NUMPY:
        raise TypeError(f"no array has elements of type {dtype!r}{did_you_mean(str(dtype), (*_NUMPY, 'bfloat16'))}")
    return _NUMPY[found.name]  # in the machine's byte order, whatever was given


@np.errstate(all="ignore")
def convert(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of `x` in `dtype`, rounded to nearest, ties to even; what is too large becomes infinite."""
    if dtype.name == "bfloat16" and x.dtype == np.float64:
        x = _to_odd(x)
    return x.astype(dtype)


def _to_odd(x: np.ndarray) -> np.ndarray:
    """float64 as float32, where what is not exact has its last bit set.

    Going from float64 to bfloat16 passes through float32. Rounding to nearest there can make a tie of what was none;
    rounding to odd (Boldo & Melquiond, "Emulation of a FMA and correctly rounded sums", 2008) cannot.
    """
    nearest = x.astype(np.float32)
    bits = nearest.view(np.int32)
    bits -= np.abs(nearest) > np.abs(x)  # towards zero: the next smaller magnitude
    bits |= nearest != x
    return nearest
