"""The memory of tensors on a GPU: of those that a caller has, without a copy, and of those that a rule makes."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor, numpy_dtype
from optgen.execute.cuda import driver
from optgen.execute.cuda.interface import GpuInterface

KDL_CUDA = 2
"""kDLCUDA, DLPack's number of the device type"""
DLPACK_DEFAULT_STREAM = 1
"""DLPack's number of the default stream, in which steps on tensors with DLPack alone run. It must be passed: for a
consumer that names no stream, PyTorch does not wait for the streams that it works on."""

LINE_BYTES = 128
"""A line of a GPU's caches, which memory that is allocated begins with."""


class DeviceArray:
    """An array in a GPU's memory, in C order. CuPy, PyTorch, Numba and JAX take it as it is, by its
    `__cuda_array_interface__`. `get()` copies it to a NumPy array, `set(array)` from one. It begins `offset` bytes,
    modulo LINE_BYTES, past a line."""

    def __init__(self, shape: tuple[int, ...], dtype: str, gpu: GpuInterface, offset: int = 0) -> None:
        self.shape, self.dtype, self.gpu = tuple(shape), numpy_dtype(dtype), gpu
        skip = offset % LINE_BYTES
        memory = gpu.allocate(self.nbytes + skip if self.size else 0)
        self.address = memory + skip
        driver.release_with(self, gpu.free, memory)

    def __repr__(self) -> str:
        return f"<array of {self.dtype} of shape {self.shape} on GPU {self.gpu.ordinal}>"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "strides": None,
            "version": 3,
        }

    def get(self, stream: int = 0) -> Array:
        """A copy, made after what is in the stream now."""
        array = np.empty(self.shape, self.dtype)
        if self.size:
            self.gpu.download(array, self.address, stream)
        return array

    def set(self, array: Array, stream: int = 0) -> None:
        """Take these values, after what is in the stream now; ValueError for another shape or dtype."""
        if (array.shape, array.dtype) != (self.shape, self.dtype):
            raise ValueError(f"{array.dtype} of shape {array.shape} does not fit into {self.dtype} of {self.shape}")
        if self.size:
            self.gpu.upload(self.address, np.ascontiguousarray(array), stream)


def tensor(obj: Any, name: str) -> Tensor:
    """Find the device memory of `obj`; TypeError or ValueError naming the tensor where it cannot be used."""
    if isinstance(obj, DeviceArray):
        return Tensor(name, obj.address, obj.shape, obj.dtype.name, True, obj, obj.gpu.ordinal if obj.size else None)
    if buffers.is_like_pytorch(obj):
        return _from_torch(obj, name)
    if hasattr(obj, "__cuda_array_interface__"):
        return from_interface(obj, name, driver.owner)
    if hasattr(obj, "__dlpack_device__") and obj.__dlpack_device__()[0] == KDL_CUDA:
        return _from_dlpack(obj, name)
    if isinstance(obj, np.ndarray) or hasattr(obj, "__array_interface__") or hasattr(obj, "__dlpack__"):
        raise ValueError(f"{name}: in the memory of the CPU; this kernel runs on a GPU")
    kind = type(obj).__name__
    raise TypeError(f"{name}: expected a tensor of a GPU (CuPy, PyTorch, __cuda_array_interface__, DLPack), not {kind}")


def is_on_gpu(obj: Any) -> bool:
    """Whether an object is a tensor of a GPU, as `tensor` takes it."""
    if isinstance(obj, DeviceArray):
        return True
    if buffers.is_like_pytorch(obj):
        return str(obj.device).startswith("cuda")
    has_dlpack = hasattr(obj, "__dlpack_device__") and obj.__dlpack_device__()[0] == KDL_CUDA
    return has_dlpack or hasattr(obj, "__cuda_array_interface__")


def _from_torch(obj: Any, name: str) -> Tensor:
    device = str(obj.device)
    if not device.startswith("cuda"):
        raise ValueError(f"{name}: on device '{device}'; this kernel runs on a GPU")
    return buffers.from_pytorch_like(obj, name, int(device.partition(":")[2] or 0) if 0 not in obj.shape else None)


def from_interface(obj: Any, name: str, owner: Callable[[int], int]) -> Tensor:
    """The memory of an object with `__cuda_array_interface__`; `owner` tells the number of the GPU that an address
    belongs to. The tensor is used after the interface's stream, if it has one."""
    found = obj.__cuda_array_interface__
    dtype = getattr(obj, "dtype", None)  # a typestr has no code for bfloat16
    dtype = np.dtype(found["typestr"]) if dtype is None else np.dtype(dtype)
    shape = tuple(int(n) for n in found["shape"])
    if found.get("strides") is not None:
        buffers.check_order(name, shape, found["strides"], dtype.itemsize)
    address, readonly = found["data"]
    buffers.check_address(name, address, shape, obj)
    if not math.prod(shape):
        return Tensor(name, int(address or 0), shape, dtype.name, not readonly, obj)
    after = _stream(found.get("stream"), name)
    return Tensor(name, int(address), shape, dtype.name, not readonly, obj, owner(address), after)


def _stream(stream: Any, name: str) -> int | None:
    """The stream of an interface; TypeError or ValueError if it is none. 0 would be one of two default streams."""
    if stream is None:
        return None
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"{name}: the stream of its __cuda_array_interface__ is {stream!r}, and no number")
    if stream <= 0:
        raise ValueError(
            f"{name}: the stream of its __cuda_array_interface__ is {stream}; it is 1 for the default stream, 2 for "
            "that of the thread, or a handle of the driver"
        )
    return stream


# ---------------------------------------------------------------- DLPack


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h (version 0.x), which a capsule named "dltensor" points to."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def _from_dlpack(obj: Any, name: str) -> Tensor:
    """The memory of an object with DLPack. Its capsule is the owner, not consumed: it frees the memory when it goes."""
    try:
        capsule = obj.__dlpack__(stream=DLPACK_DEFAULT_STREAM)
        found = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name}: its DLPack export does not work: {error}") from error
    shape = tuple(found.shape[k] for k in range(found.ndim))
    if found.strides:
        buffers.check_order(name, shape, [found.strides[k] for k in range(found.ndim)], 1)
    dtype = f"{_CODES.get(found.code, 'unknown')}{found.bits}"
    buffers.check_address(name, found.data, shape, obj)
    gpu = found.device_id if math.prod(shape) else None
    return Tensor(name, (found.data or 0) + found.byte_offset, shape, dtype, True, (obj, capsule), gpu)
