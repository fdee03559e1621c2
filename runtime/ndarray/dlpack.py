"""Arrays that share memory with those of other libraries: DLPack, and NumPy."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.dtypes import element_type
from runtime.ndarray.creation import array, place
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
    """A capsule as an object that gives it: what NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU


def from_dlpack(dlpack: Any) -> NDArray:
    """An array over the memory of a DLPack capsule, or of an object that gives one; C-contiguous, on the CPU.

    The capsule is used up. What has no flag for read-only memory, as capsules have none, can be written.
    """
    capsule = dlpack.__dlpack__() if hasattr(dlpack, "__dlpack__") else dlpack
    try:
        shared = np.from_dlpack(_Capsule(capsule))
        dtype = element_type(shared.dtype)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(f"from_dlpack cannot take this {type(dlpack).__name__}: {error}") from None
    if not shared.flags.c_contiguous:
        raise ArgumentError(f"from_dlpack: the array, of shape {shared.shape}, is not C-contiguous")
    if not shared.size:
        return place(np.empty(shared.shape, dtype), None)
    memory = (ctypes.c_byte * shared.nbytes).from_address(shared.ctypes.data)  # NumPy's own array cannot be written
    memory.owner = shared
    return place(np.frombuffer(memory, dtype).reshape(shared.shape), None)


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray) -> NDArray:
    """An array of the type and values of a NumPy array.

    With `zero_copy` it shares memory with `ndarray`, which must be C-contiguous, and from then on can only be written
    through the result (not at all, if its memory is read-only). `array_cls` is the class of the result.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy needs a NumPy array, not {type(ndarray).__name__}; see nd.array")
    try:
        dtype = element_type(ndarray.dtype)
    except TypeError as error:
        raise ArgumentError(f"from_numpy: {error}") from None
    if not zero_copy:
        return array_cls(array(ndarray, dtype=dtype)._data, place(ndarray, None)._ctx)
    if not ndarray.flags.c_contiguous or ndarray.dtype != dtype:
        raise ArgumentError(
            "from_numpy shares memory with C-contiguous arrays only; pass zero_copy=False, or nd.array it"
        )
    if not ndarray.flags.writeable:
        with contextlib.suppress(ValueError):  # memory that nobody may write is shared as it is
            ndarray.flags.writeable = True
    shared = ndarray.view(np.ndarray)
    ndarray.flags.writeable = False
    return array_cls(shared, place(shared, None)._ctx)
