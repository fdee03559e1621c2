"""A stand-in for CuPy where there is none: its arrays live in host memory, and are as strict as CuPy's.

What CuPy has is in `api.txt`, which `survey.py` wrote; here is nothing else. Refused are, as by CuPy: NumPy arrays
among an operator's arguments, silent conversion to NumPy, arrays of a device that is not the current one, types that
devices do not have, and arguments that CuPy's functions lack. Results that NumPy gives as scalars have no axes here.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

import numpy as np

from . import _api, _functions, cuda
from ._array import ndarray
from ._functions import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    asnumpy,
    copyto,
    from_dlpack,
    get_array_module,
    may_share_memory,
    ndim,
    repeat,
    shape,
    shares_memory,
    take,
    ufunc,
    zeros_like,
)

__version__ = "14.2.0"

# ---------------------------------------------------------------- functions

UFUNCS = {name: ufunc(name, types) for name, types in _api.UFUNCS.items() if hasattr(np, name)}
globals().update(UFUNCS)
for _name in _api.SIGNATURES["function"]:
    if _name not in globals() and callable(getattr(np, _name, None)):
        globals()[_name] = _functions.function("function", _name, getattr(np, _name))
ndarray.take = take
for _name in ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "dtype", "newaxis", "inf", "nan", "pi", "e", "iinfo", "finfo"):  # fmt: skip
    globals()[_name] = getattr(np, _name)

from . import lib, linalg, random  # noqa: E402  made of what is above

# ---------------------------------------------------------------- what Python has symbols for


def _operator(name: str, reflected: bool = False) -> object:
    function = UFUNCS[name]

    def call(self: ndarray, other: object) -> object:
        if hasattr(other, "__array_ufunc__") or not hasattr(other, "__array_priority__"):
            return function(other, self) if reflected else function(self, other)
        return NotImplemented

    return call


def _in_place(name: str) -> object:
    return lambda self, other: UFUNCS[name](self, other, out=self)


_SYMBOLS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
for _symbol, _name in _SYMBOLS.items():
    setattr(ndarray, f"__{_symbol}__", _operator(_name))
    setattr(ndarray, f"__r{_symbol}__", _operator(_name, reflected=True))
    setattr(ndarray, f"__i{_symbol}__", _in_place(_name))
for _symbol, _name in {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    setattr(ndarray, f"__{_symbol}__", _operator(_name))
ndarray.__matmul__ = lambda self, other: globals()["matmul"](self, other)
ndarray.__neg__ = lambda self: UFUNCS["negative"](self)
ndarray.__pos__ = lambda self: UFUNCS["positive"](self)
ndarray.__invert__ = lambda self: UFUNCS["invert"](self)
ndarray.__abs__ = lambda self: UFUNCS["absolute"](self)


def get_default_memory_pool() -> cuda.MemoryPool:
    return cuda.pool


def get_default_pinned_memory_pool() -> cuda.MemoryPool:
    return cuda.pool
