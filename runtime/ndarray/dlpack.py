"""Arrays that share memory with those of other libraries: DLPack, and NumPy."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.context import Context, cpu, current_context, gpu
from runtime.core import backend
from runtime.core.dtypes import element_type
from runtime.ndarray.creation import array
from runtime.ndarray.ndarray import NDArray

__all__ = ["from_dlpack", "from_numpy", "to_dlpack_for_read", "to_dlpack_for_write"]
METHODS = ("to_dlpack_for_read", "to_dlpack_for_write")


def to_dlpack_for_read(data: NDArray) -> Any:
    """The array as a DLPack capsule, to be read by whoever takes it. It shares memory with `data`."""
    return data.__dlpack__()


def to_dlpack_for_write(data: NDArray) -> Any:
    """The array as a DLPack capsule, to be read and written by whoever takes it; else as `to_dlpack_for_read`."""
    return data.__dlpack__()


class _Capsule:
    """An object with `__dlpack__`, as NumPy and CuPy take it, that gives a capsule."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        self._device = _device_of(capsule)

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


_CPU, _CUDA = 1, 2
"""Kinds of devices, as DLPack counts them."""
_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
"""Byte offset of the tensor in what a capsule of this name points to, behind version, owner, deleter and flags."""


def _device_of(capsule: Any) -> tuple[int, int]:
    """The kind and number of the device of a capsule's memory, which follow the address in DLPack's tensor."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    name = python.PyCapsule_GetName(ctypes.py_object(capsule))  # ValueError for what is no capsule
    if name not in _TENSOR:
        raise ValueError("the capsule is none of DLPack, or used up")
    pointer = python.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))
    return tuple((ctypes.c_int32 * 2).from_address(pointer + _TENSOR[name] + ctypes.sizeof(ctypes.c_void_p)))


def from_dlpack(dlpack: Any) -> NDArray:
    """An array over the memory of a DLPack capsule, or of an object that gives one; C-contiguous.

    It is in the context of the GPU whose memory it is. Memory of the CPU is in the current context, or, if that is a
    GPU's, in cpu(0). The capsule is used up. What has no flag for read-only memory, as capsules have none, can be
    written.
    """
    try:
        if hasattr(dlpack, "__dlpack_device__") and dlpack.__dlpack_device__()[0] == _CUDA:
            given = dlpack  # asked with the stream that is to wait for the values
        else:
            given = _Capsule(dlpack.__dlpack__() if hasattr(dlpack, "__dlpack__") else dlpack)
        kind, number = given.__dlpack_device__()
        ctx = gpu(number) if kind == _CUDA else _of_the_cpu()
        ctx.require()
        with backend.device_scope(ctx):
            shared = backend.xp_for(ctx).from_dlpack(given)
        dtype = element_type(shared.dtype)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(f"from_dlpack cannot take this {type(dlpack).__name__}: {error}") from None
    if not shared.flags.c_contiguous:
        raise ArgumentError(f"from_dlpack: the array, of shape {shared.shape}, is not C-contiguous")
    if not ctx.on_cpu:
        return NDArray(shared, ctx)
    if not shared.size:
        return NDArray(np.empty(shared.shape, dtype), ctx)
    memory = (ctypes.c_byte * shared.nbytes).from_address(shared.ctypes.data)  # NumPy's own array cannot be written
    memory.owner = shared
    return NDArray(np.frombuffer(memory, dtype).reshape(shared.shape), ctx)


def _of_the_cpu() -> Context:
    """The context of shared CPU memory: the current one if that is of the CPU, else cpu(0)."""
    ctx = current_context()
    return ctx if ctx.on_cpu else cpu()


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray) -> NDArray:
    """An array of the type and values of a NumPy array.

    With `zero_copy` it shares memory with `ndarray`, which must be C-contiguous, and from then on can only be written
    through the result (not at all, if its memory is read-only), which is in the current context, or, if that is a
    GPU's, in cpu(0). `array_cls` is the class of the result.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy needs a NumPy array, not {type(ndarray).__name__}; see nd.array")
    try:
        dtype = element_type(ndarray.dtype)
    except TypeError as error:
        raise ArgumentError(f"from_numpy: {error}") from None
    if not zero_copy:
        return array_cls(array(ndarray, dtype=dtype)._data, current_context())
    if not ndarray.flags.c_contiguous or ndarray.dtype != dtype:
        raise ArgumentError(
            "from_numpy shares memory with C-contiguous arrays only; pass zero_copy=False, or nd.array it"
        )
    if not ndarray.flags.writeable:
        with contextlib.suppress(ValueError):  # memory that nobody may write is shared as it is
            ndarray.flags.writeable = True
    shared = ndarray.view(np.ndarray)
    ndarray.flags.writeable = False
    return array_cls(shared, _of_the_cpu())
