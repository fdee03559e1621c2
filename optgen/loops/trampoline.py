"""Calls of kernels that Python's interpreter makes directly: `trampoline.c` as the method `__call__` of their class.

ctypes takes 7 us to call a kernel with five arrays: Python code finds each address, writes it down, and sets BLAS's
threads. The native method reads NumPy's arrays where they are, in less than half of a microsecond. What it does not
know it leaves to the method in Python that does the same, so that results and errors are the same either way.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.loops import numpy_blas
from optgen.loops.language import ARRAY, INT, INTS, WORDS, LoopType

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
"""Those of `codes`, in order."""
_KINDS: dict[LoopType, int] = {INT: ord("i"), ARRAY: ord("a"), INTS: 0, WORDS: 1}
_FLAGS = 0x0002 | 0x0080
"""METH_KEYWORDS | METH_FASTCALL: C gets the address of the arguments, their number, and the names of the last ones."""
_FUNCTIONS = {
    "attribute": "PyObject_GetAttr",
    "call": "PyObject_Vectorcall",
    "from_int": "PyLong_FromLongLong",
    "to_int": "PyLong_AsLongLong",
    "length": "PyObject_Size",
    "item": "PyTuple_GetItem",
    "error": "PyErr_Occurred",
    "clear_error": "PyErr_Clear",
    "take": "Py_IncRef",
    "drop": "Py_DecRef",
}
_NAMES = ("scratch", "loaded", "in_python", "no_memory")
checking = ctypes.c_int64(0)
"""Not 0: calls are left to Python, which runs them in the checked mode."""


class _Python(ctypes.Structure):
    """`python` of trampoline.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in (*_FUNCTIONS, "none", *_NAMES, "int_type", "array_type")),
        ("dtypes", ctypes.c_void_p * 2),
        ("checking", ctypes.c_void_p),
        ("large", ctypes.c_int64),
        ("blas_threads", ctypes.c_void_p),
        ("set_blas_threads", ctypes.c_void_p),
    )


class _Array(ctypes.Structure):
    """`array` of trampoline.c."""

    _fields_ = (
        ("references", ctypes.c_int64),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("lengths", "strides", "base", "dtype")),
        ("flags", ctypes.c_int32),
    )


class _Entry(ctypes.Structure):
    """`entry` of trampoline.c."""

    _fields_ = (
        ("dtype", ctypes.c_void_p),
        ("task", ctypes.c_void_p),
        ("gemm", ctypes.c_int64),
        ("element_bytes", ctypes.c_int64),
        ("run", ctypes.c_void_p),
    )


class Loaded(ctypes.Structure):
    """`kernel` of trampoline.c: the code of one kernel that is loaded."""

    _fields_ = (("n", ctypes.c_int64), ("kinds", ctypes.c_void_p), ("codes", _Entry * len(DTYPES)))

    def __init__(self, types: Sequence[LoopType]) -> None:
        kinds = (ctypes.c_uint8 * len(types))(*(_KINDS[type] for type in types))
        super().__init__(len(types), ctypes.addressof(kinds))
        self._kept: list[object] = [kinds]

    def add(self, dtype: np.dtype[Any], address: int, gemm: int, run: Callable[[int, int], None]) -> None:
        """Have calls with arrays of `dtype` call the function at `address`, or `run` where there is much work.

        A kernel that calls GEMM is left out if BLAS's threads cannot be set from C.
        """
        if not gemm or _blas() is not None:
            i = DTYPES.index(dtype)
            self._kept.append(run)  # also if another thread adds the same code
            self.codes[i] = _Entry(id(DTYPES[i]), address, gemm, dtype.itemsize, id(run))


class _Method(ctypes.Structure):
    """PyMethodDef of Python."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def install(kernels: type, large: int) -> bool:
    """Give the class of kernels the native method `__call__`; whether this interpreter can have it.

    Calls with work of at least `large` run as Python runs them. The class has what fields of `python`
    in trampoline.c name: `loaded`, `in_python` and `no_memory`.
    """
    from optgen.objectcode import c_functions

    if not _is_known():
        return False
    symbols = c_functions.load(__file__, "optgen_loops_start", "optgen_loops_call")
    functions = [ctypes.cast(getattr(ctypes.pythonapi, f), ctypes.c_void_p).value for f in _FUNCTIONS.values()]
    objects = (None, *map(sys.intern, _NAMES), int, np.ndarray)
    dtypes = (ctypes.c_void_p * 2)(id(np.dtype(np.int64)), id(np.dtype(np.uint32)))
    blas = _blas() or (0, 0)
    python = _Python(*functions, *map(id, objects), dtypes, ctypes.addressof(checking), large, *blas)
    method = _Method(b"__call__", symbols["optgen_loops_call"], _FLAGS, None)
    _kept.append((python, method, objects))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbols["optgen_loops_start"])(ctypes.addressof(python))
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    type.__setattr__(kernels, "__call__", new(kernels, ctypes.addressof(method)))
    return True


_kept: list[object] = []
"""What native code reads until the process ends."""


def _is_known() -> bool:
    """Whether objects lie in memory as trampoline.c says: in CPython with a GIL, and in every NumPy so far."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != _Array.data.offset or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    x = np.zeros((2, 3), np.float32)
    found = _Array.from_address(id(x))
    return (found.type, found.data, found.rank, found.dtype, found.flags) == (
        id(np.ndarray),
        x.ctypes.data,
        x.ndim,
        id(x.dtype),
        x.flags.num,
    )


@functools.cache
def _blas() -> tuple[int, int] | None:
    return numpy_blas.thread_functions()
