"""NumPy on the CPU, CuPy on a GPU: what operators need to compute with arrays of either.

NumPy's functions dispatch on their arguments: `np.exp(x)` of a CuPy array calls CuPy's. This module has the rest: the
array module of a context, copies between memories, tests for what only NumPy arrays can do. CuPy is imported when a GPU
is first asked for. Where CuPy is not installed, or finds no GPU, all arrays are NumPy's.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from types import ModuleType
from typing import Any

import numpy as np


@functools.cache
def devices() -> tuple[int, str]:
    """The number of GPUs, and, where that is 0, what is missing: a sentence for an error."""
    try:
        cupy = importlib.import_module("cupy")
    except ModuleNotFoundError:
        from optgen import extras

        return 0, f"CuPy, which computes there, is not installed: {extras.install('cuda')}"
    except Exception as error:  # CUDA libraries that do not load; the class depends on CuPy's version
        return 0, f"CuPy, which computes there, cannot be imported: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CUDARuntimeError, a class of the module that may have failed to load
        return 0, f"CUDA finds no driver and device: {error}"
    return count, "" if count else "CUDA finds a driver, but no device"


def array_module(*arrays: Any) -> ModuleType:
    """The array module, NumPy or CuPy, that the arrays belong to: CuPy if one of them is on a GPU."""
    for x in arrays:
        if type(x) is not np.ndarray and hasattr(x, "__cuda_array_interface__"):
            return _cupy()
    return np


def is_host(x: Any) -> bool:
    """Whether x is a NumPy array. Native kernels, BLAS and ctypes take no other."""
    return type(x) is np.ndarray


def is_array(x: Any) -> bool:
    """Whether x is an array of NumPy or CuPy: not a number, and not a NumPy scalar."""
    return type(x) is np.ndarray or hasattr(x, "__cuda_array_interface__")


def as_contiguous(x: Any) -> Any:
    """The result of a function of NumPy or CuPy as a C-contiguous array.

    NumPy returns scalars in place of arrays without axes. Some functions of CuPy that work along an axis (`cumsum`,
    `argsort`) return views of arrays in another order.
    """
    if not hasattr(x, "__cuda_array_interface__"):
        return np.asarray(x)
    if x.flags.c_contiguous:
        return x
    with x.device:
        return x.copy()


def to_host(x: Any) -> np.ndarray:
    """x itself if it is a NumPy array, else a copy on the CPU, once the GPU has computed x."""
    return x if type(x) is np.ndarray else x.get()


def to_device_of(x: Any, data: Any) -> Any:
    """`data`, a NumPy array or numbers, as an array on the device of x; not copied if it is there."""
    if type(x) is np.ndarray:
        return np.asarray(data)
    with x.device:
        return _cupy().asarray(data)


def xp_for(ctx: Any) -> ModuleType:
    """The array module, NumPy or CuPy, of a context. Call its functions inside `with device_scope(ctx):`."""
    return np if ctx.on_cpu else _cupy()


def device_scope(ctx: Any) -> contextlib.AbstractContextManager:
    """A `with` block in which the context's GPU is CUDA's current device: kernels run there, new arrays live there."""
    if ctx.on_cpu:
        return _nowhere
    _used.add(ctx.device_id)
    return _cupy().cuda.Device(ctx.device_id)


def to_context(data: Any, ctx: Any) -> Any:
    """`data`, an array on any device, as an array in a context; not copied if it is there."""
    if ctx.on_cpu:
        return to_host(data)
    with device_scope(ctx):
        return _cupy().asarray(data, order="C")


def synchronize(x: Any) -> None:
    """Wait until x is computed. A GPU computes while Python goes on."""
    if type(x) is not np.ndarray:
        with x.device:
            _cupy().cuda.get_current_stream().synchronize()


def synchronize_all() -> None:
    """Wait until every GPU that was used has computed all it was given."""
    for i in _used:
        _cupy().cuda.Device(i).synchronize()


def add_at(x: Any, key: Any, values: Any) -> None:
    """`x[key] += values`, where an element that `key` names several times gets all of its values."""
    if type(x) is np.ndarray:
        np.add.at(x, key, values)
    elif x.dtype == np.int64:  # CUDA's atomic addition has unsigned integers only; the bits are the same
        _cupy().add.at(x.view(np.uint64), key, values.view(np.uint64))
    else:
        _cupy().add.at(x, key, values)


_nowhere = contextlib.nullcontext()
_used: set[int] = set()  # the numbers of the GPUs that a `device_scope` has made current


@functools.cache
def _cupy() -> ModuleType:
    return importlib.import_module("cupy")
