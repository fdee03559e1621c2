"""A GPU by way of PyCUDA: its memory, its pinned memory of the host, modules, launches and events."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.execute.buffers import Array, Tensor
from optgen.execute.cuda import driver
from optgen.pycuda.library import cuda


class PyCudaGpu:
    """The GPU of the context that is PyCUDA's current one now; `GpuInterface` says what its methods do.

    A stream is a `pycuda.driver.Stream`, or None, which is the default stream. An event is one of PyCUDA, and a
    function too. `capability` is the compute capability, as (7, 5). RuntimeError if no context is current.
    """

    def __init__(self) -> None:
        self._context = cuda.Context.get_current()
        if self._context is None:
            raise RuntimeError(
                "no context of PyCUDA is current in this thread: import pycuda.autoprimaryctx, or push() one"
            )
        device, attributes = cuda.Context.get_device(), cuda.device_attribute
        self.ordinal: int = next(k for k in range(cuda.Device.count()) if cuda.Device(k) == device)
        self.capability: tuple[int, int] = device.compute_capability()
        self.multiprocessors: int = device.get_attribute(attributes.MULTIPROCESSOR_COUNT)
        self._threads: int = device.get_attribute(attributes.MAX_THREADS_PER_MULTIPROCESSOR)
        self._registers: int = device.get_attribute(attributes.MAX_REGISTERS_PER_MULTIPROCESSOR)
        self._held: dict[int, Any] = {}  # what was allocated, by its address
        self._functions: dict[bytes, dict[str, Any]] = {}

    def check_current(self) -> None:
        """RuntimeError unless the context is the current one of the calling thread."""
        if cuda.Context.get_current() != self._context:
            raise RuntimeError(
                "another context of PyCUDA is current in this thread than when the kernels were loaded, or none: "
                "push() that one, or load them again here"
            )

    def check_memory(self, t: Tensor) -> None:
        """ValueError unless the memory of a tensor is that of this context."""
        try:
            begin, size = cuda.mem_get_address_range(t.address)
        except cuda.Error:
            begin = size = 0
        if not begin <= t.address <= t.address + t.nbytes <= begin + size:
            raise ValueError(
                f"{t.name}: its {t.nbytes} bytes at {t.address:#x} are not in memory of the current context; it was "
                "freed, or belongs to another context"
            )

    def stream(self, given: Any) -> Callable[[], Any]:
        """A function that returns a caller's stream; TypeError if it is none, ValueError if it is of another context.
        It raises RuntimeError where another context is current."""
        if given is not None and not isinstance(given, cuda.Stream):
            raise TypeError(f"stream: expected a pycuda.driver.Stream, or None, not {type(given).__name__}")
        self.check_current()
        try:
            self.synchronize(given)
        except cuda.Error as error:
            raise ValueError(f"stream: it cannot be used in the current context: {error}") from None

        def current() -> Any:
            self.check_current()
            return given

        return current

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> int:
        memory = cuda.mem_alloc(max(nbytes, 1))
        self._held[int(memory)] = memory
        return int(memory)

    def pinned(self, nbytes: int) -> int:
        array = cuda.pagelocked_empty(max(nbytes, 1), np.uint8)
        address: int = array.ctypes.data
        self._held[address] = array
        return address

    def free(self, address: int) -> None:
        del self._held[address]

    free_pinned = free

    def upload(self, address: int, array: Array, stream: Any) -> None:
        self.send(address, array, stream)
        self.synchronize(stream)

    def send(self, address: int, array: Array, stream: Any) -> None:
        cuda.memcpy_htod_async(address, _bytes(array), stream)

    def download(self, array: Array, address: int, stream: Any) -> None:
        cuda.memcpy_dtoh_async(_bytes(array), address, stream)
        self.synchronize(stream)

    def copy(self, to: int, address: int, nbytes: int, stream: Any) -> None:
        cuda.memcpy_dtod_async(to, address, nbytes, stream)

    def fill(self, address: int, pattern: bytes, times: int, stream: Any) -> None:
        fills = {1: cuda.memset_d8_async, 2: cuda.memset_d16_async, 4: cuda.memset_d32_async}
        fills[len(pattern)](address, int.from_bytes(pattern, sys.byteorder), times, stream)

    # ------------------------------------------------------------ code

    def load(self, ptx: bytes, names: Sequence[str]) -> dict[str, Any]:
        key = hashlib.sha256(ptx).digest()
        if key not in self._functions:
            module = cuda.module_from_buffer(ptx + b"\0")  # the driver reads it up to the zero
            self._functions[key] = {name: module.get_function(name).prepare("P") for name in names}
        return self._functions[key]

    def resident(self, function: Any, threads: int) -> int:
        """By registers and threads; kernels have no shared memory that would be less."""
        registers = function.get_attribute(cuda.function_attribute.NUM_REGS)
        return int(min(self._threads, self._registers // max(registers, 1)) // threads)

    def launch(self, function: Any, blocks: int, threads: int, argument: int, stream: Any) -> None:
        function.prepared_async_call((blocks, 1), (threads, 1, 1), stream, argument)

    def is_capturing(self, stream: Any) -> bool:
        """False: PyCUDA has no captures."""
        return False

    # ------------------------------------------------------------ time

    def synchronize(self, stream: Any) -> None:
        event = self.event()
        self.record(event, stream)
        self.wait(event)

    def event(self) -> Any:
        return cuda.Event(cuda.event_flags.DISABLE_TIMING)

    def record(self, event: Any, stream: Any) -> None:
        event.record(stream)

    def wait(self, event: Any) -> None:
        event.synchronize()

    def drop(self, event: Any) -> None:
        """PyCUDA releases it when nothing refers to it."""

    def order(self, stream: Any, after: int) -> None:
        """Wait for all streams, as PyCUDA takes no handles of others; its own wait for the default stream anyway."""
        if after != driver.LEGACY:
            cuda.Context.synchronize()


def _bytes(array: Array) -> Array:
    """The bytes of a C-contiguous array, as the protocol of buffers does not know every dtype."""
    assert array.flags.c_contiguous
    return array.reshape(-1).view(np.uint8)
