"""A GPU that is none: its memory is this process's, its launches run the PTX interpreter. For `target="cuda"` in tests.

with emulated():
    step = optgen.load("adam", target="cuda").bind([on_gpu(array)], ...)

Where CuPy is the stand-in beside this, its arrays are in the memory of these GPUs.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

import numpy as np

from optgen.execute.cuda import driver
from tests.cuda.ptx import Memory, Module

ALIGNMENT = 256
"""Of what the driver allocates, in bytes."""
_modules: dict[bytes, Module] = {}
_functions: list[tuple[Module, str]] = []
"""By their handles. They stay, as kernels that were loaded do, when other GPUs are emulated."""


class Gpu:
    """`optgen.execute.cuda.driver.Gpu`, with everything done when it is asked for. Of its blocks few are resident, so
    that every launch goes around its loop."""

    multiprocessors, capability = 1, (7, 5)

    def __init__(self, ordinal: int = 0, resident: int = 4) -> None:
        self.ordinal, self._resident = ordinal, resident
        self._memory = Memory()
        self._shared: set[tuple[int, int]] = set()  # what of the memory is the stand-in's
        self.launches: deque[tuple[str, int]] = deque(maxlen=64)  # the last
        self.sent = 0  # how many tables, and other arrays
        self._arrays: dict[int, np.ndarray] = {}
        self.orders: list[tuple[int, int]] = []  # a stream, and what it waits for
        self.capturing = False
        self._captured: list[Callable[[], None]] = []

    # ------------------------------------------------------------ memory

    @property
    def memory(self) -> Memory:
        """What there is now, arrays of the stand-in for CuPy among it."""
        found = {(address, nbytes) for address, (nbytes, device) in _stand_in().items() if device == self.ordinal}
        for address, _ in self._shared - found:
            self._memory.remove(address)
        for address, nbytes in found - self._shared:
            self._memory.add(address, nbytes)
        self._shared = found
        return self._memory

    def allocate(self, nbytes: int) -> int:
        raw = np.full(nbytes + ALIGNMENT, 0xCD, np.uint8)  # what is not written must not matter
        skip = -raw.ctypes.data % ALIGNMENT
        array = raw[skip : skip + max(nbytes, 1)]
        self._arrays[array.ctypes.data] = raw
        self.memory.add(array.ctypes.data, max(nbytes, 1))
        return int(array.ctypes.data)

    def free(self, address: int) -> None:
        self.memory.remove(address)
        del self._arrays[address]

    def holds(self, address: int) -> bool:
        arrays = self._arrays.copy()  # the collector of garbage may free some meanwhile
        own = ((start, raw.__array_interface__["data"][0] + len(raw) - start) for start, raw in arrays.items())
        others = ((start, nbytes) for start, (nbytes, device) in _stand_in().items() if device == self.ordinal)
        return any(start <= address < start + nbytes for start, nbytes in (*own, *others))

    def pinned(self, nbytes: int) -> int:
        array = np.zeros(nbytes, np.uint8)
        self._arrays[array.ctypes.data] = array
        return int(array.ctypes.data)

    def free_pinned(self, address: int) -> None:
        del self._arrays[address]

    def upload(self, address: int, array: np.ndarray, stream: int = 0) -> None:
        assert not self.capturing, "it waits for the GPU, which ends a capture"
        self.send(address, array, stream)

    def send(self, address: int, array: np.ndarray, stream: int = 0) -> None:
        assert array.flags.c_contiguous
        source, nbytes = array.ctypes.data, array.nbytes
        if self.capturing:
            assert source in self._arrays, "a graph reads what it sends when it is replayed, so that must be pinned"
            self._captured.append(lambda: self.send(address, self._arrays[source][:nbytes], stream))
            return
        self.sent += 1
        ctypes.memmove(address, source, nbytes)

    def download(self, array: np.ndarray, address: int, stream: int = 0) -> None:
        assert not self.capturing
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, to: int, address: int, nbytes: int, stream: int = 0) -> None:
        ctypes.memmove(to, address, nbytes)

    def fill(self, address: int, pattern: bytes, times: int, stream: int = 0) -> None:
        ctypes.memmove(address, pattern * times, len(pattern) * times)

    def synchronize(self, stream: int = 0) -> None:
        pass

    # ------------------------------------------------------------ code

    def load(self, ptx: bytes, names: Sequence[str]) -> dict[str, int]:
        module = _modules.setdefault(ptx, Module(ptx.decode()) if ptx not in _modules else _modules[ptx])
        found = {}
        for name in names:
            _functions.append((module, name))
            found[name] = len(_functions)
        return found

    def resident(self, function: int, threads: int) -> int:
        return self._resident

    def launch(self, function: int, blocks: int, threads: int, argument: int, stream: int) -> None:
        if self.capturing:
            self._captured.append(lambda: self.launch(function, blocks, threads, argument, stream))
            return
        module, name = _functions[function - 1]
        self.launches.append((name, blocks))
        module.launch(name, blocks, threads, [argument], self.memory)

    # ------------------------------------------------------------ time

    def event(self) -> int:
        return 1

    def record(self, event: int, stream: int) -> None:
        pass

    wait = drop = lambda self, event: None

    def order(self, stream: int, after: int) -> None:
        if (stream or 1) != after:
            self.orders.append((stream, after))

    def is_capturing(self, stream: int) -> bool:
        return self.capturing

    def captured(self, launch: Callable[[], None]) -> Callable[[], None]:
        """What replays a graph of what `launch` launches and sends."""
        self.capturing, self._captured = True, []
        try:
            launch()
        finally:
            self.capturing = False
        graph = self._captured

        def replay() -> None:
            for node in graph:
                node()

        return replay


def _stand_in() -> dict[int, tuple[int, int]]:
    """The size and the device of all memory of the stand-in for CuPy, by address."""
    pool = getattr(getattr(sys.modules.get("cupy"), "cuda", None), "pool", None)
    return dict(getattr(pool, "blocks", {}))


@contextmanager
def emulated(count: int = 1) -> Iterator[list[Gpu]]:
    """The driver has so many GPUs, for as long as the block runs."""
    gpus = [Gpu(k) for k in range(count)]

    def owner(address: int) -> int:
        for gpu in gpus:
            if gpu.holds(address):
                return gpu.ordinal
        raise driver.CudaError("CUDA: cuPointerGetAttribute: invalid argument (1)")

    with (
        mock.patch.object(driver, "count", lambda: count),
        mock.patch.object(driver, "gpu", gpus.__getitem__),
        mock.patch.object(driver, "owner", owner),
    ):
        yield gpus


class GpuArray:
    """An array on an emulated GPU, `offset` bytes behind an address that a driver would give; nothing but the interface
    that libraries share, where it is computed in `stream`."""

    def __init__(self, array: np.ndarray, gpu: Gpu, offset: int = 0, stream: object = None) -> None:
        self.stream = stream
        self.shape, self.dtype, self._gpu = array.shape, array.dtype, gpu
        self._base = gpu.allocate(array.nbytes + offset)
        self._address = self._base + offset
        if array.size:
            gpu.upload(self._address, np.ascontiguousarray(array))

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": None,
            "stream": self.stream,
            "version": 3,
        }

    def get(self) -> np.ndarray:
        array = np.empty(self.shape, self.dtype)
        self._gpu.download(array, self._address)
        return array
