"""The CUDA driver, called through ctypes as a library of the system.

Nothing but the driver has to be installed. The context of a GPU is its primary one, which PyTorch, CuPy and JAX use as
well. (PyCUDA cannot launch on a stream that it has not made: neither on the caller's current stream nor in a capture.)
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from optgen.cache_folder import debug_folder

Array = np.ndarray[Any, Any]

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76
"""CU_DEVICE_ATTRIBUTE_..."""
ORDINAL = 9
"""CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL"""
PORTABLE, NO_TIMING = 1, 2
"""CU_MEMHOSTALLOC_PORTABLE, CU_EVENT_DISABLE_TIMING"""
ERROR_LOG, ERROR_LOG_SIZE, LOG_BYTES = 5, 6, 8192
"""CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES"""
LINE_INFO = 13
"""CU_JIT_GENERATE_LINE_INFO"""
LEGACY = 1
"""CU_STREAM_LEGACY, another handle of the default stream, which is 0 here"""
RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED"""
NOT_INITIALIZED = 3
"""CUDA_ERROR_NOT_INITIALIZED, the status of every call in a process that was forked from one that uses CUDA"""


class CudaError(RuntimeError):
    """An error of the driver."""


@functools.cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return library if library.cuInit(0) == 0 else None


def count() -> int:
    """The number of GPUs; 0 without a driver."""
    library = _library()
    if library is None:
        return 0
    number = ctypes.c_int()
    return number.value if library.cuDeviceGetCount(ctypes.byref(number)) == 0 else 0


def call(name: str, *args: Any) -> None:
    """Call a function of the driver; CudaError with the driver's description if it fails."""
    library = _library()
    if library is None:
        raise CudaError(f"CUDA: no NVIDIA driver was found ({LIBRARY}), or it has no GPU; target='cuda' needs one")
    status = getattr(library, name)(*args)
    if status:
        words = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(words))
        hint = "; a process cannot use CUDA if it was forked from one that has: spawn it" * (status == NOT_INITIALIZED)
        raise CudaError(f"CUDA: {name}: {(words.value or b'unknown error').decode()} ({status}){hint}")


def release_with(owner: object, release: Callable[[int], None], handle: int) -> None:
    """Release a handle when `owner` is gone; not in a forked process, and not when this process ends."""
    process = os.getpid()

    def released() -> None:
        # After an error that ends a context, nothing can be released. The call that failed raises that error. Errors
        # of all the arrays that go afterwards would hide it.
        if os.getpid() == process:
            with suppress(CudaError):
                release(handle)

    weakref.finalize(owner, released).atexit = False


def owner(address: int) -> int:
    """The number of the GPU that memory belongs to; CudaError if it belongs to none."""
    ordinal = ctypes.c_int()
    call("cuPointerGetAttribute", ctypes.byref(ordinal), ORDINAL, ctypes.c_uint64(address))
    return ordinal.value


@functools.cache
def gpu(ordinal: int) -> Gpu:
    return Gpu(ordinal)


class Gpu:
    """One GPU, by its primary context. Streams are the driver's handles, as numbers; 0 is the default stream.

    Methods that take a stream return at once, unless they say otherwise; their work is done in the stream's order.
    """

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        device, context = ctypes.c_int(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(device), ordinal)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context = context
        self._functions: dict[tuple[bytes, tuple[str, ...]], dict[str, int]] = {}

        def attribute(which: int) -> int:
            value = ctypes.c_int()
            call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
            return value.value

        self.multiprocessors = attribute(MULTIPROCESSORS)
        self.capability = attribute(MAJOR), attribute(MINOR)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this GPU's context the calling thread's, for the `with` block."""
        found = ctypes.c_void_p()
        call("cuCtxGetCurrent", ctypes.byref(found))
        if found.value == self._context.value:
            yield
            return
        call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(found))

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> int:
        """The address of new memory, which `free` releases."""
        address = ctypes.c_uint64()
        with self.current(), _relaxed_capture():
            call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(nbytes, 1)))
        return address.value

    def free(self, address: int) -> None:
        with self.current(), _relaxed_capture():
            call("cuMemFree_v2", ctypes.c_uint64(address))

    def pinned(self, nbytes: int) -> int:
        """The address of new page-locked memory of the host, from which the GPU copies by itself; for `free_pinned`."""
        address = ctypes.c_void_p()
        with self.current(), _relaxed_capture():
            call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(max(nbytes, 1)), PORTABLE)
        assert address.value is not None
        return address.value

    def free_pinned(self, address: int) -> None:
        with self.current(), _relaxed_capture():
            call("cuMemFreeHost", ctypes.c_void_p(address))

    def upload(self, address: int, array: Array, stream: int = 0) -> None:
        """Copy a C-contiguous array to an address, in the stream's order; returns when it is there."""
        self.send(address, array, stream)
        self.synchronize(stream)

    def send(self, address: int, array: Array, stream: int) -> None:
        """Copy a C-contiguous array to an address; its memory must stay as it is until that is done."""
        size = ctypes.c_size_t(array.nbytes)
        with self.current():
            call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), _host(array), size, ctypes.c_void_p(stream))

    def download(self, array: Array, address: int, stream: int = 0) -> None:
        """Fill a C-contiguous array from an address, in the stream's order; returns when that is done."""
        size = ctypes.c_size_t(array.nbytes)
        with self.current():
            call("cuMemcpyDtoHAsync_v2", _host(array), ctypes.c_uint64(address), size, ctypes.c_void_p(stream))
            call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def copy(self, to: int, address: int, nbytes: int, stream: int = 0) -> None:
        ends = ctypes.c_uint64(to), ctypes.c_uint64(address)
        with self.current():
            call("cuMemcpyDtoDAsync_v2", *ends, ctypes.c_size_t(nbytes), ctypes.c_void_p(stream))

    def fill(self, address: int, pattern: bytes, times: int, stream: int = 0) -> None:
        """Write a pattern of 1, 2 or 4 bytes `times` times."""
        kind, type = {1: (8, ctypes.c_uint8), 2: (16, ctypes.c_uint16), 4: (32, ctypes.c_uint32)}[len(pattern)]
        value = type(int.from_bytes(pattern, sys.byteorder))
        with self.current():
            args = ctypes.c_uint64(address), value, ctypes.c_size_t(times), ctypes.c_void_p(stream)
            call(f"cuMemsetD{kind}Async", *args)

    def synchronize(self, stream: int = 0) -> None:
        """Wait until all that is in the stream is done."""
        with self.current():
            call("cuStreamSynchronize", ctypes.c_void_p(stream))

    # ------------------------------------------------------------ code

    def load(self, ptx: bytes, names: Sequence[str]) -> dict[str, int]:
        """Compile PTX with the driver; returns the handles of its functions, which stay valid until the process ends.

        The same PTX is loaded only once, as a module takes memory of the GPU.
        """
        key = (hashlib.sha256(ptx).digest(), tuple(names))
        if key not in self._functions:
            self._functions[key] = self._compiled(ptx, names)
        return self._functions[key]

    def _compiled(self, ptx: bytes, names: Sequence[str]) -> dict[str, int]:
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 3)(ERROR_LOG, ERROR_LOG_SIZE, LINE_INFO)
        values = (ctypes.c_void_p * 3)(ctypes.addressof(log), LOG_BYTES, 1)
        count = 2 if debug_folder() is None else 3
        found = {}
        with self.current():
            try:
                call("cuModuleLoadDataEx", ctypes.byref(module), ptx + b"\0", count, options, values)
            except CudaError as error:
                raise CudaError(f"{error}\n{log.value.decode(errors='replace')}".rstrip()) from None
            for name in names:
                function = ctypes.c_void_p()
                call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
                assert function.value is not None
                found[name] = function.value
        return found

    def resident(self, function: int, threads: int) -> int:
        """The number of blocks of `threads` threads that a multiprocessor holds at a time."""
        number = ctypes.c_int()
        with self.current():
            args = ctypes.byref(number), ctypes.c_void_p(function), threads, ctypes.c_size_t(0)
            call("cuOccupancyMaxActiveBlocksPerMultiprocessor", *args)
        return number.value

    def launch(self, function: int, blocks: int, threads: int, argument: int, stream: int) -> None:
        """Run a function whose only parameter is an address."""
        value = ctypes.c_uint64(argument)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(value))
        with self.current():
            call(
                "cuLaunchKernel",
                ctypes.c_void_p(function),
                *(blocks, 1, 1, threads, 1, 1, 0),
                ctypes.c_void_p(stream),
                arguments,
                None,
            )

    # ------------------------------------------------------------ time

    def event(self) -> int:
        event = ctypes.c_void_p()
        with self.current():
            call("cuEventCreate", ctypes.byref(event), NO_TIMING)
        assert event.value is not None
        return event.value

    def record(self, event: int, stream: int) -> None:
        with self.current():
            call("cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait(self, event: int) -> None:
        """Wait until all is done that was in the stream when the event was recorded."""
        with self.current():
            call("cuEventSynchronize", ctypes.c_void_p(event))

    def drop(self, event: int) -> None:
        with self.current(), _relaxed_capture():
            call("cuEventDestroy_v2", ctypes.c_void_p(event))

    def order(self, stream: int, after: int) -> None:
        """Have what will come into a stream wait for what is in another one now."""
        if (stream or LEGACY) == (after or LEGACY):
            return
        event = self.event()
        try:
            self.record(event, after)
            with self.current():
                call("cuStreamWaitEvent", ctypes.c_void_p(stream), ctypes.c_void_p(event), 0)
        finally:
            self.drop(event)  # the driver keeps it until it has happened

    def is_capturing(self, stream: int) -> bool:
        """Whether the stream is being captured: its work becomes part of a graph, and is not done now."""
        status = ctypes.c_int()
        with self.current():
            call("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
        return status.value != 0


@contextmanager
def _relaxed_capture() -> Iterator[None]:
    """Take and release memory and events in the `with` block without breaking a capture.

    A capture in PyTorch's mode, "global", forbids that in every thread. The garbage collector may free an array at any
    time, and a capturable step takes memory for the table that a graph sends.
    """
    mode = ctypes.c_int(RELAXED)
    call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


def _host(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
