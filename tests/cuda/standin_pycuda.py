"""As much of PyCUDA as optgen and its examples use, over the memory of this process; PTX runs in the interpreter.

Signatures and errors are those of PyCUDA 2026.1; `test_compiled_pycuda.py` runs the same code with PyCUDA itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import optgen
from tests.cuda.emulation import Gpu
from tests.cuda.ptx import Module


class Error(Exception):
    """pycuda.driver.Error"""


class LogicError(Error):
    """pycuda.driver.LogicError"""


class Device:
    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal

    @staticmethod
    def count() -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.ordinal == self.ordinal

    def compute_capability(self) -> tuple[int, int]:
        return 7, 5

    def get_attribute(self, attribute: str) -> int:
        return {"MULTIPROCESSOR_COUNT": 1, "MAX_THREADS_PER_MULTIPROCESSOR": 1024}.get(attribute, 65536)


class Context:
    """A context, which has memory of its own. `stack` are those that were pushed."""

    stack: list[Context] = []  # noqa: RUF012
    waits = 0

    def __init__(self, gpu: Gpu | None = None) -> None:
        self.gpu = gpu or Gpu()
        self.sizes: dict[int, int] = {}

    @staticmethod
    def get_current() -> Context | None:
        return Context.stack[-1] if Context.stack else None

    @staticmethod
    def get_device() -> Device:
        return Device()

    @staticmethod
    def synchronize() -> None:
        _current().waits += 1

    def push(self) -> None:
        Context.stack.append(self)

    @staticmethod
    def pop() -> None:
        Context.stack.pop()


def _current() -> Context:
    found = Context.get_current()
    if found is None:
        raise LogicError("invalid device context")
    return found


class DeviceAllocation:
    def __init__(self, context: Context, nbytes: int) -> None:
        self._context, self._address = context, context.gpu.allocate(nbytes)
        context.sizes[self._address] = nbytes

    def __int__(self) -> int:
        return self._address

    __index__ = __int__

    def free(self) -> None:
        if self._context.sizes.pop(self._address, None) is not None:
            self._context.gpu.free(self._address)

    __del__ = free


def mem_alloc(nbytes: int) -> DeviceAllocation:
    assert nbytes > 0
    return DeviceAllocation(_current(), nbytes)


def mem_get_address_range(address: int) -> tuple[int, int]:
    for begin, size in _current().sizes.items():
        if begin <= address < begin + size:
            return begin, size
    raise LogicError("cuMemGetAddressRange failed: named symbol not found")


class Stream:
    """A stream of the context that is current when it is made."""

    def __init__(self, flags: int = 0) -> None:
        self._context = _current()
        self.handle = id(self)
        self.work: list[str] = []

    def used(self, what: str) -> None:
        if self._context is not _current():
            raise LogicError(f"{what} failed: invalid resource handle")
        self.work.append(what)

    def synchronize(self) -> None:
        self.used("cuStreamSynchronize")


def _use(stream: Stream | None, what: str) -> Gpu:
    if stream is not None:
        assert isinstance(stream, Stream), "PyCUDA takes no other stream"
        stream.used(what)
    return _current().gpu


class Event:
    def __init__(self, flags: int = 0) -> None:
        self._recorded = False

    def record(self, stream: Stream | None = None) -> Event:
        _use(stream, "cuEventRecord")
        self._recorded = True
        return self

    def synchronize(self) -> Event:
        assert self._recorded
        return self


class Function:
    def __init__(self, module: Module, name: str) -> None:
        self._module, self._name = module, name
        self._format: str | None = None

    def prepare(self, arg_types: Sequence[Any]) -> Function:
        self._format = "".join(arg_types)
        return self

    def get_attribute(self, attribute: str) -> int:
        assert attribute == "NUM_REGS"
        return 64

    def prepared_async_call(
        self, grid: tuple[int, int], block: tuple[int, int, int], stream: Stream | None, *args: int
    ) -> None:
        assert self._format == "P" and len(args) == 1 and grid[1] == block[1] == block[2] == 1
        gpu = _use(stream, "cuLaunchKernel")
        gpu.launches.append((self._name, grid[0]))
        self._module.launch(self._name, grid[0], block[0], [int(x) for x in args], gpu.memory)


class LoadedModule:
    def __init__(self, buffer: bytes) -> None:
        _current()
        text, zero, rest = buffer.partition(b"\0")
        assert zero and not rest, "the driver reads up to a zero"
        self._module = Module(text.decode())

    def get_function(self, name: str) -> Function:
        return Function(self._module, name)


def memcpy_htod_async(dest: int, src: Any, stream: Stream | None = None) -> None:
    _use(stream, "cuMemcpyHtoDAsync").send(int(dest), np.frombuffer(src, np.uint8))


def memcpy_dtoh_async(dest: Any, src: int, stream: Stream | None = None) -> None:
    _use(stream, "cuMemcpyDtoHAsync").download(np.frombuffer(dest, np.uint8), int(src))


def memcpy_dtod_async(dest: int, src: int, size: int, stream: Stream | None = None) -> None:
    _use(stream, "cuMemcpyDtoDAsync").copy(int(dest), int(src), size)


def _memset(nbytes: int) -> Any:
    def memset(dest: int, data: int, size: int, stream: Stream | None = None) -> None:
        _use(stream, "cuMemsetAsync").fill(int(dest), data.to_bytes(nbytes, sys.byteorder), size)

    return memset


def _contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides = [itemsize]
    for n in shape[:0:-1]:
        strides.insert(0, strides[0] * n)
    return tuple(strides[: len(shape)])


class GPUArray:
    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        allocator: Any = mem_alloc,
        base: Any = None,
        gpudata: Any = None,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.shape, self.dtype, self.base = shape, np.dtype(dtype), base
        self.size = int(np.prod(shape))
        self.strides = _contiguous(shape, self.dtype.itemsize) if strides is None else strides
        self.nbytes = self.size * self.dtype.itemsize
        self.gpudata = allocator(self.nbytes) if gpudata is None and self.size else gpudata

    @property
    def ptr(self) -> int:
        return int(self.gpudata)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        address = 0 if self.gpudata is None else int(self.gpudata)
        found = {"shape": self.shape, "strides": self.strides, "data": (address, False)}
        return found | {"typestr": self.dtype.str, "stream": None, "version": 3}

    def get(self) -> np.ndarray:
        array = np.empty(self.shape, self.dtype)
        if self.size:
            _current().gpu.download(array, self.ptr)
        return array

    def set(self, array: np.ndarray) -> None:
        assert array.shape == self.shape and array.dtype == self.dtype
        if self.size:
            _current().gpu.upload(self.ptr, np.ascontiguousarray(array))


def to_gpu(array: np.ndarray) -> GPUArray:
    found = GPUArray(array.shape, array.dtype)
    found.set(array)
    return found


def _names(*names: str) -> Any:
    return SimpleNamespace(**{name: name for name in names})


DRIVER = {
    "Error": Error,
    "LogicError": LogicError,
    "Device": Device,
    "Context": Context,
    "Stream": Stream,
    "Event": Event,
    "event_flags": SimpleNamespace(DISABLE_TIMING=2),
    "device_attribute": _names(
        "MULTIPROCESSOR_COUNT", "MAX_THREADS_PER_MULTIPROCESSOR", "MAX_REGISTERS_PER_MULTIPROCESSOR"
    ),
    "function_attribute": _names("NUM_REGS"),
    "mem_alloc": mem_alloc,
    "mem_get_address_range": mem_get_address_range,
    "pagelocked_empty": lambda shape, dtype, order="C", mem_flags=0: np.zeros(shape, dtype),
    "module_from_buffer": LoadedModule,
    "memcpy_htod_async": memcpy_htod_async,
    "memcpy_dtoh_async": memcpy_dtoh_async,
    "memcpy_dtod_async": memcpy_dtod_async,
    "memset_d8_async": _memset(1),
    "memset_d16_async": _memset(2),
    "memset_d32_async": _memset(4),
}


@contextmanager
def installed(gpu: Gpu | None = None) -> Iterator[Context]:
    """Have `import pycuda` find the stand-in, with a current context over `gpu`; `optgen.pycuda` is imported with it.
    Afterwards nothing of it is left."""
    with pytest.MonkeyPatch.context() as patch:
        context = Context(gpu)
        patch.setattr(Context, "stack", [context])
        forget_users()
        package = ModuleType("pycuda")
        patch.setitem(sys.modules, "pycuda", package)
        parts = {"driver": DRIVER, "gpuarray": {"GPUArray": GPUArray, "to_gpu": to_gpu}, "autoprimaryctx": {}}
        for name, contents in parts.items():
            module = ModuleType(f"pycuda.{name}")
            vars(module).update(contents)
            setattr(package, name, module)
            patch.setitem(sys.modules, f"pycuda.{name}", module)
        yield context
        forget_users()


def forget_users() -> None:
    """Have what imports PyCUDA be imported anew."""
    for name in [name for name in sys.modules if name.split(".")[:2] == ["optgen", "pycuda"]]:
        del sys.modules[name]
    vars(optgen).pop("pycuda", None)
