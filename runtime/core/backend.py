"""NumPy or CuPy: what computes with an array is the library it is of.

NumPy's own functions dispatch on their arguments: `np.exp(x)` of a CuPy array is CuPy's. Here is what else operators
need to serve both: arrays out of nothing, what belongs to the CPU alone, and copies from one memory to another. CuPy is
imported when a GPU is first asked for; where it is not installed, or finds no GPU, there are only NumPy's arrays.
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
    """How many GPUs there are, and of none, what is missing."""
    try:
        cupy = importlib.import_module("cupy")
    except ModuleNotFoundError:
        return 0, "CuPy, which computes there, is not installed: pip install 'optgen[cuda]'"
    except Exception as error:  # libraries of CUDA that do not load: each version has another error for it
        return 0, f"CuPy, which computes there, cannot be imported: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CUDARuntimeError, whose class is where that of the driver is
        return 0, f"CUDA finds no driver and device: {error}"
    return count, "" if count else "CUDA finds a driver, but no device"


def array_module(*arrays: Any) -> ModuleType:
    """CuPy if one of the arrays is of a device, else NumPy."""
    for x in arrays:
        if type(x) is not np.ndarray and hasattr(x, "__cuda_array_interface__"):
            return _cupy()
    return np


def is_host(x: Any) -> bool:
    """Whether it is an array of NumPy: native kernels, BLAS and ctypes take no other."""
    return type(x) is np.ndarray


def is_array(x: Any) -> bool:
    """Whether it is an array of either library: not a number, nor one of NumPy's scalars."""
    return type(x) is np.ndarray or hasattr(x, "__cuda_array_interface__")


def as_contiguous(x: Any) -> Any:
    """What a function has computed as a C-contiguous array: NumPy gives scalars for arrays without axes, and some of
    CuPy's functions that work along an axis (`cumsum`, `argsort`) views of arrays in another order."""
    if not hasattr(x, "__cuda_array_interface__"):
        return np.asarray(x)
    if x.flags.c_contiguous:
        return x
    with x.device:
        return x.copy()


def to_host(x: Any) -> np.ndarray:
    """A NumPy array as it is; a copy of an array of a device, when all that leads to it is computed."""
    return x if type(x) is np.ndarray else x.get()


def to_device_of(x: Any, data: Any) -> Any:
    """`data`, a NumPy array or numbers, as an array where x is; no copy if it is there."""
    if type(x) is np.ndarray:
        return np.asarray(data)
    with x.device:
        return _cupy().asarray(data)


def xp_for(ctx: Any) -> ModuleType:
    """The library whose arrays live in a context: its functions are called inside `with on(ctx):`."""
    return np if ctx.on_cpu else _cupy()


def device_scope(ctx: Any) -> contextlib.AbstractContextManager:
    """The context's device is CUDA's current one inside: kernels run there, and new arrays live there."""
    if ctx.on_cpu:
        return _nowhere
    _used.add(ctx.device_id)
    return _cupy().cuda.Device(ctx.device_id)


def to_context(data: Any, ctx: Any) -> Any:
    """`data`, an array of whatever memory, as one of a context's; no copy if it is there."""
    if ctx.on_cpu:
        return to_host(data)
    with device_scope(ctx):
        return _cupy().asarray(data, order="C")


def synchronize(x: Any) -> None:
    """Return when the array's values are there: those of a device are computed while Python goes on."""
    if type(x) is not np.ndarray:
        with x.device:
            _cupy().cuda.get_current_stream().synchronize()


def synchronize_all() -> None:
    """Return when every device has computed what it was given."""
    for i in _used:
        _cupy().cuda.Device(i).synchronize()


def add_at(x: Any, key: Any, values: Any) -> None:
    """`x[key] += values`, where a place that is named several times gets every share."""
    if type(x) is np.ndarray:
        np.add.at(x, key, values)
    elif x.dtype == np.int64:  # devices add unsigned integers only: to the same bits
        _cupy().add.at(x.view(np.uint64), key, values.view(np.uint64))
    else:
        _cupy().add.at(x, key, values)


_nowhere = contextlib.nullcontext()
_used: set[int] = set()  # the devices that arrays have been on


@functools.cache
def _cupy() -> ModuleType:
    return importlib.import_module("cupy")
