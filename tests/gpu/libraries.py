"""The libraries that tensors of a GPU come from, each with the same few functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
SLEEP = 400_000_000
"""Cycles of a kernel that only waits: a fifth of a second at 2 GHz."""


class Library(Protocol):
    """What a test needs of one."""

    def put(self, array: Array, offset: int = 0) -> Any:
        """A copy on the GPU, which begins `offset` elements behind an address that an allocator gives."""

    def get(self, x: Any) -> Array:
        """The elements of what `put` or a rule has made."""

    def synchronize(self) -> None:
        """Return when the GPU is done."""

    def stream(self) -> Any:
        """A context manager: a new stream, which waits for no other, is the current one. It yields what says whether
        all in it is done."""

    def sleep(self) -> None:
        """Have the current stream wait for a fifth of a second."""

    def fill(self, x: Any, value: float) -> None:
        """Have a kernel in the current stream put one number everywhere."""

    def captured(self, launch: Callable[[], None]) -> Callable[[], None]:
        """What replays a graph of what `launch` puts into the current stream."""


class Torch:
    """PyTorch."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")

    def put(self, array: Array, offset: int = 0) -> Any:
        host = self._host(array)
        base = self.torch.empty(array.size + offset, dtype=host.dtype, device="cuda")
        x = base[offset:].view(array.shape)
        x.copy_(host)
        return x

    def get(self, x: Any) -> Array:
        if not isinstance(x, self.torch.Tensor):
            return x.get()
        if x.dtype == self.torch.bfloat16:
            return x.view(self.torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
        return x.cpu().numpy()

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()

    @contextmanager
    def stream(self) -> Iterator[Callable[[], bool]]:
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            yield stream.query

    def sleep(self) -> None:
        self.torch.cuda._sleep(SLEEP)

    def fill(self, x: Any, value: float) -> None:
        x.fill_(value)

    def captured(self, launch: Callable[[], None]) -> Callable[[], None]:
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            launch()
        return graph.replay

    def _host(self, array: Array) -> Any:
        if array.dtype == ml_dtypes.bfloat16:
            return self.torch.from_numpy(array.view(np.int16).copy()).view(self.torch.bfloat16)
        return self.torch.from_numpy(array.copy())


class Cupy:
    """CuPy."""

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")
        code = 'extern "C" __global__ void wait(long long n) { long long t = clock64(); while (clock64() - t < n) {} }'
        self._wait = self.cupy.RawKernel(code, "wait")

    def put(self, array: Array, offset: int = 0) -> Any:
        base = self.cupy.empty(array.size + offset, array.dtype)
        x = base[offset:].reshape(array.shape)
        if array.size:
            x.set(array)
        return x

    def get(self, x: Any) -> Array:
        return x.get()

    def synchronize(self) -> None:
        self.cupy.cuda.Device().synchronize()

    @contextmanager
    def stream(self) -> Iterator[Callable[[], bool]]:
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            yield lambda: bool(stream.done)

    def sleep(self) -> None:
        self._wait((1,), (1,), (np.int64(SLEEP),))

    def fill(self, x: Any, value: float) -> None:
        x.fill(value)

    def captured(self, launch: Callable[[], None]) -> Callable[[], None]:
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            launch()
            graph = stream.end_capture()
        return graph.launch  # in the stream that is current then


LIBRARIES: dict[str, Callable[[], Library]] = {"torch": Torch, "cupy": Cupy}
