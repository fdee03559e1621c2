"""Where tensors are, read in one native pass (`dlpack.c`) through the C functions of DLPack that their class has."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.objectcode import c_functions

VERSION = 1
"""The major version of DLPack: within it, structures keep their fields."""
_TENSOR_WORDS, _AXIS_WORDS = 3, 2
"""The numbers that are recorded of a tensor without its axes, and of each axis."""
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class _ExchangeAPI(ctypes.Structure):
    """DLPackExchangeAPI of dlpack.h."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        *((name, ctypes.c_void_p) for name in ("previous", "allocate", "export_managed", "wrap", "export", "stream")),
    )


class _Reader(ctypes.Structure):
    """`reader` of dlpack.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("export", "item", "length", "clear_error", "none")),
        ("n", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("geometry", "geometry_end", "addresses", "storages")),
        ("storages_n", ctypes.c_int64),
        ("sizes", ctypes.c_void_p),
    )


@functools.cache
def _functions() -> tuple[Callable[[int, list[Any]], int], ...]:
    """`optgen_dlpack_record` and `optgen_dlpack_read`, which are called with the GIL."""
    names = ("optgen_dlpack_record", "optgen_dlpack_read")
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.py_object)
    found = c_functions.load(__file__, *names)
    return tuple(kind(found[name]) for name in names)


def find_export(tensors: Sequence[Any]) -> int | None:
    """The address of the C function that exports these tensors; None where they have none, or several."""
    found = {id(x): x for x in (getattr(type(t), "__dlpack_c_exchange_api__", None) for t in tensors)}
    if len(found) != 1:
        return None
    (capsule,) = found.values()
    try:
        api = _ExchangeAPI.from_address(_pointer(capsule, b"dlpack_exchange_api"))
    except (TypeError, ValueError):  # None, a capsule of another name
        return None
    export: int | None = api.export
    return export if api.major == VERSION else None


class NativeReader:
    """As `PythonReader`, for tensors that the C function at `export` exports; ValueError if it does not."""

    def __init__(self, export: int, tensors: list[Any], storages: list[Any]) -> None:
        self.addresses = np.zeros(len(tensors), np.uint64)
        self._storages = storages
        ranks = [0 if x is None else len(x.shape) for x in tensors]
        self._geometry = np.zeros(_TENSOR_WORDS * len(tensors) + _AXIS_WORDS * sum(ranks), np.int64)
        self._sizes = np.zeros(len(storages), np.int64)
        self._memory = _Reader(
            export,
            *(_address_of(f) for f in ("PyList_GetItem", "PyObject_Size", "PyErr_Clear")),
            id(None),
            len(tensors),
            self._geometry.ctypes.data,
            self._geometry.ctypes.data + self._geometry.nbytes,
            self.addresses.ctypes.data,
            id(storages),
            len(storages),
            self._sizes.ctypes.data,
        )
        record, self._read = _functions()
        self._address = ctypes.addressof(self._memory)
        if record(self._address, tensors) >= 0:
            raise ValueError("DLPack does not export these tensors")

    def read(self, tensors: list[Any]) -> bool:
        return self._read(self._address, tensors) < 0


def _address_of(name: str) -> int | None:
    """The address of a function of Python's C interface."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
