"""The memory of a caller's tensor: its address, shape and dtype, or an error that names the tensor.

A tensor is an object with `__array_interface__` (NumPy), with `data_ptr/shape/stride/dtype/device` (PyTorch, which is
not imported here), or with DLPack. Nothing is ever copied: a step writes into the caller's memory or not at all.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, cast

import numpy as np

from optgen.ir import COMPUTE

Array = np.ndarray[Any, Any]

READ_ONLY_NAMES = ("grads", "inputs")
"""The beginnings of the names of tensors that a step only reads."""
_TO_READ = "pass a C-contiguous copy"
_TO_WRITE = "a step updates memory in place, so pass a C-contiguous tensor and copy the result back yourself"
_WRITABLE = 0x200
"""PyBUF_WRITE"""
_memory = ctypes.pythonapi.PyMemoryView_FromMemory
"""Takes an address, a size in bytes, and a flag. (An array of ctypes would need a type for each size, which is garbage
in a cycle of references.)"""
_memory.restype = ctypes.py_object
_memory.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; bfloat16 is that of ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(name)


@functools.lru_cache(maxsize=64)
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, kept, as NumPy spells it out anew each time."""
    return dtype.name


@functools.lru_cache(maxsize=64)
def _spelt(x: Any) -> str:
    """How PyTorch spells a dtype, a device or a layout, without its own name; kept, as it is spelt anew each time."""
    return str(x).removeprefix("torch.")


class Tensor(NamedTuple):
    """A dense tensor in C order. `name` is what errors call it. `owner` keeps the memory alive. `gpu` is the number of
    its GPU, None for the CPU. `after` is the number of the stream, as `__cuda_array_interface__` has it, whose work
    must be done before the memory is used; None if there is none."""

    name: str
    address: int
    shape: tuple[int, ...]
    dtype: str
    writable: bool
    owner: Any
    gpu: int | None = None
    after: int | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * numpy_dtype(self.dtype).itemsize

    def view(self) -> Array:
        """Its memory as an array, which does not keep the memory alive."""
        return np.ndarray(self.shape, numpy_dtype(self.dtype), _memory(self.address, self.nbytes, _WRITABLE))


def float64_view(address: int, shape: tuple[int, ...]) -> Array:
    """Memory of native code as an array of float64, which does not keep the memory alive."""
    return np.ndarray(shape, np.float64, _memory(address, math.prod(shape) * 8, _WRITABLE))


def int64_view(address: int, shape: tuple[int, ...]) -> Array:
    """Memory at an address as an array of int64, which does not keep the memory alive."""
    return np.ndarray(shape, np.int64, _memory(address, math.prod(shape) * 8, _WRITABLE))


def as_list(objects: Iterable[Any], what: str, n: int | None = None) -> list[Any]:
    """The objects of any iterable, such as `net.parameters()`; of length n, if that is given.

    Errors call it `what`: TypeError for sets and mappings, which have no order of their own, and for text and tensors,
    which are iterable as well; ValueError for another length.
    """
    unfit = isinstance(objects, str | bytes | Mapping | Set) or hasattr(objects, "dtype")
    if unfit or not isinstance(objects, Iterable):
        raise TypeError(f"{what}: expected a list of tensors, not {type(objects).__name__}")
    found = list(objects)
    if n is not None and len(found) != n:
        raise ValueError(f"{what}: {len(found)} tensors for {n} parameters")
    return found


def tensor(obj: Any, name: str) -> Tensor:
    """Find the memory of `obj`; TypeError or ValueError naming the tensor where it cannot be used."""
    if isinstance(obj, np.ndarray):
        return _from_array(obj, name, obj)
    if is_like_pytorch(obj):
        return _from_torch(obj, name)
    if hasattr(obj, "__cuda_array_interface__"):
        raise ValueError(f"{name}: on a CUDA device; this kernel runs on the CPU")
    # A NumPy scalar has the interface as well, but cannot change: an array of it would be a copy.
    if hasattr(obj, "__array_interface__") and not isinstance(obj, np.generic):
        return _from_interface(obj, name)
    if hasattr(obj, "__dlpack__"):
        try:
            return _from_array(np.from_dlpack(obj), name, obj)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{name}: its DLPack export does not work: {error}") from error
    kind = type(obj).__name__
    raise TypeError(f"{name}: expected a tensor (NumPy, PyTorch, DLPack or __array_interface__), not {kind}")


def _from_interface(obj: Any, name: str) -> Tensor:
    try:
        array = np.asarray(obj)
        address = obj.__array_interface__["data"][0]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(f"{name}: its __array_interface__ does not work: {error}") from error
    if array.ctypes.data != address:
        raise TypeError(f"{name}: its __array_interface__ gives a copy, which a step would update in vain")
    return _from_array(array, name, obj)


def _from_array(array: Any, name: str, owner: Any) -> Tensor:
    if not array.dtype.isnative:
        raise TypeError(f"{name}: its bytes are in the other order ({array.dtype.str}); convert it first")
    shape, flags, address = array.shape, array.flags, address_of(array)
    if not flags.c_contiguous:
        check_order(name, shape, array.strides, array.itemsize)
    check_address(name, address, shape, owner)
    alive = array if owner is array else (owner, array)
    return Tensor(name, address, shape, _name(array.dtype), flags.writeable, alive)


def address_of(array: Array) -> int:
    """Where an array begins."""
    try:
        # This takes a third of the time of array.ctypes.data.
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, array)))
    except (BufferError, TypeError, ValueError):  # read-only, without elements, not contiguous, of no C type
        return array.ctypes.data


def _from_torch(obj: Any, name: str) -> Tensor:
    device = _spelt(obj.device)
    if not device.startswith("cpu"):
        raise ValueError(f"{name}: on device '{device}'; this kernel runs on the CPU")
    return from_pytorch_like(obj, name)


def is_like_pytorch(obj: Any) -> bool:
    """Whether an object has the interface of a PyTorch tensor. (A parameter of PyTorch may have no shape yet.)"""
    kind: Any = type(obj)  # which is hashable, whatever mypy knows of it
    return _class_is_like_pytorch(kind) or _has_interface(obj)


@functools.lru_cache(maxsize=64)
def _class_is_like_pytorch(kind: type[Any]) -> bool:
    return _has_interface(kind)


def _has_interface(x: Any) -> bool:
    return hasattr(x, "data_ptr") and hasattr(x, "stride") and hasattr(x, "dtype") and hasattr(x, "device")


def from_pytorch_like(obj: Any, name: str, gpu: int | None = None) -> Tensor:
    """The memory of an object with the interface of a PyTorch tensor, on the CPU or a GPU."""
    layout = _spelt(getattr(obj, "layout", "strided"))
    if layout != "strided":
        hint = "; of its coalesce(), pass RowSparse(x.indices()[0], x.values())" if layout == "sparse_coo" else ""
        raise TypeError(f"{name}: its layout is torch.{layout}; only dense tensors are supported{hint}")
    try:
        shape, address = tuple(map(int, obj.shape)), obj.data_ptr()
        is_contiguous = hasattr(obj, "is_contiguous") and obj.is_contiguous()
        strides = () if is_contiguous else tuple(map(int, obj.stride()))
    except (RuntimeError, ValueError) as error:  # a wrapper (`torch.func`), nested, not initialized
        raise TypeError(f"{name}: a {type(obj).__name__} that has no memory of its own: {error}") from error
    if not is_contiguous:
        check_order(name, shape, strides, 1)
    check_address(name, address, shape, obj)
    if hasattr(obj, "untyped_storage") and 0 not in shape:
        _check_storage(name, obj, math.prod(shape))
    return Tensor(name, address, shape, _spelt(obj.dtype), True, obj, gpu)


def _check_storage(name: str, obj: Any, size: int) -> None:
    """ValueError if a tensor of PyTorch has less memory than elements, or the negative of its values there."""
    needed, there = (obj.storage_offset() + size) * obj.element_size(), obj.untyped_storage().nbytes()
    if there < needed:
        raise ValueError(f"{name}: its storage was made smaller (resize_): {there} bytes, and its shape needs {needed}")
    if obj.is_neg():
        raise ValueError(f"{name}: its memory holds the negative of its values; pass its resolve_neg()")


def check_address(name: str, address: int, shape: Sequence[int], obj: Any) -> None:
    """TypeError if an object has elements and no memory."""
    if address or 0 in shape:
        return
    hint = "pass its to_local()" if hasattr(obj, "to_local") else "it was freed, or stands for tensors elsewhere"
    raise TypeError(f"{name}: a {type(obj).__name__} without memory (its address is 0); {hint}")


def check_order(name: str, shape: Sequence[int], strides: Sequence[int], unit: int) -> None:
    """ValueError unless strides are those of C order, with neighbours `unit` apart.

    The stride of an axis of length 1 means nothing.
    """
    if 0 in shape:
        return
    expected = unit
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            raise ValueError(
                f"{name}: not contiguous (shape {tuple(shape)}, strides {tuple(strides)}); "
                f"{_TO_READ if name.startswith(READ_ONLY_NAMES) else _TO_WRITE}"
            )
        expected *= n


def check(t: Tensor, dtype: str, shape: tuple[int, ...], of: str) -> None:
    """TypeError or ValueError unless `t` has this dtype, and this shape; errors say that `of` has the shape."""
    check_dtype(t, dtype)
    if t.shape != shape:
        raise ValueError(f"{t.name}: shape {t.shape}, but {of} has {shape}")


def check_dtype(t: Tensor, dtype: str) -> None:
    """TypeError unless `t` has this dtype; ValueError if a GPU cannot read it, as it is not aligned to its elements."""
    if t.dtype != dtype:
        hint = f"; optgen.load(..., dtype={t.dtype!r}) makes one for it" if _is_parameter(t) else ""
        raise TypeError(f"{t.name}: dtype {t.dtype}, but the kernel takes {dtype}{hint}")
    if t.gpu is not None and t.address % numpy_dtype(dtype).itemsize:  # CPUs read it
        raise ValueError(f"{t.name}: not aligned to its elements; copy it")


def _is_parameter(t: Tensor) -> bool:
    return t.name.startswith("params") and t.dtype in COMPUTE


def check_writable(t: Tensor) -> None:
    if not t.writable:
        raise ValueError(f"{t.name}: read-only, but a step writes to it")


CACHE_LINE_BYTES, PAGE_BYTES = 64, 4096
MIN_PAGED_BYTES = 16 * PAGE_BYTES
"""Smaller arrays are placed in cache lines only: placed in pages, they would be mostly gaps."""


def aligned(shape: tuple[int, ...], dtype: str, value: float | None = 0.0, offset: int = 0) -> Array:
    """A new array, filled with `value` (None: anything), that begins `offset` bytes past a cache line, or if it is
    large past a page.

    `offset` is a multiple of the dtype's size. Large are arrays of MIN_PAGED_BYTES and more. A kernel over arrays with
    different offsets can take twice the time: no shift of its loop keeps all accesses within lines, and a load waits
    for an earlier store to the same place of another page. Zeros take no time until they are touched. NumPy asks for
    huge pages for arrays of 4 MiB and more.
    """
    size, element = math.prod(shape), numpy_dtype(dtype)
    unit = CACHE_LINE_BYTES if size * element.itemsize < MIN_PAGED_BYTES else PAGE_BYTES
    raw = (np.empty if value is None else np.zeros)(size + unit // element.itemsize, element)
    skip = (offset - raw.ctypes.data) % unit // element.itemsize
    array = raw[skip : skip + size].reshape(shape)
    if value is not None and (value != 0.0 or math.copysign(1.0, value) < 0):
        array.fill(value)
    return array


def offset_beside(t: Tensor, dtype: str) -> int:
    """The `offset` of an array of a dtype whose elements lie in lines and pages as those of `t` do.

    Both then begin the same number of elements past a page. Where `t` is not aligned to its elements, that number is
    rounded down.
    """
    elements = t.address % PAGE_BYTES // numpy_dtype(t.dtype).itemsize
    return elements * numpy_dtype(dtype).itemsize % PAGE_BYTES
