"""GPUs as the place where a rule computes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen import pipeline
from optgen.backends.target import OLDEST
from optgen.execute.buffers import Array, Tensor, numpy_dtype
from optgen.execute.cuda import driver, memory
from optgen.execute.cuda.kernel import Kernel
from optgen.execute.cuda.memory import DeviceArray
from optgen.execute.cuda.step import BoundStep
from optgen.execute.cuda.table import Table
from optgen.ir import Variant
from optgen.model import Optimizer


class Cuda:
    """GPUs of NVIDIA."""

    name = "cuda"

    def __init__(self) -> None:
        if not driver.count():
            raise ValueError(
                f"target='cuda': there is no GPU of NVIDIA here, or no driver for it ({driver.LIBRARY}); "
                "target='cpu' computes here, and `optgen build --target cuda` writes PTX without either"
            )

    def kernel(self, optimizer: Optimizer, variant: Variant) -> Kernel:
        return Kernel(variant, pipeline.ptx(optimizer, variant, OLDEST))

    def step(self, *args: Any, **kwargs: Any) -> BoundStep:
        return BoundStep(*args, **kwargs)

    def param(self, obj: Any, name: str) -> Tensor:
        return memory.tensor(obj, name)

    def device(self, params: Sequence[Tensor]) -> OneGpu:
        found = {t.gpu: t.name for t in params if t.gpu is not None}
        if len(found) > 1:
            (one, name), (two, other), *_ = found.items()
            raise ValueError(f"{name} is on GPU {one} and {other} on GPU {two}; bind the parameters of each GPU apart")
        return OneGpu(driver.gpu(next(iter(found), 0)), stream_of(params[0].owner if params else None))


class OneGpu:
    """The memory of one of them, in the order of the caller's current stream.

    What is made here is there for every stream: its first use may be in another one.
    """

    def __init__(self, gpu: driver.Gpu, stream: Callable[[], int]) -> None:
        self.gpu, self.stream = gpu, stream

    def table(self, *args: Any) -> Table:
        return Table(self.gpu, self.stream, *args)

    # ------------------------------------------------------------ arrays

    def tensor(self, obj: Any, name: str) -> Tensor:
        found = memory.tensor(obj, name)
        if found.gpu not in (None, self.gpu.ordinal):
            raise ValueError(f"{name}: on GPU {found.gpu}, and the parameters are on GPU {self.gpu.ordinal}")
        return found

    def full(self, shape: tuple[int, ...], dtype: str, value: float = 0.0) -> DeviceArray:
        pattern = np.array(value, numpy_dtype(dtype)).tobytes()
        if pattern[:4] == pattern[4:]:
            pattern = pattern[:4]
        if len(pattern) == 8:
            return self.put(np.full(shape, value, dtype))
        array, stream = DeviceArray(shape, dtype, self.gpu), self.stream()
        if array.size:
            self.gpu.fill(array.address, pattern, array.nbytes // len(pattern), stream)
        self.gpu.synchronize(stream)
        return array

    def put(self, array: Array) -> DeviceArray:
        found = DeviceArray(array.shape, array.dtype.name, self.gpu)
        found.set(array, self.stream())
        return found

    def get(self, tensor: Tensor) -> Array:
        array = np.empty(tensor.shape, numpy_dtype(tensor.dtype))
        if tensor.size:
            self.gpu.download(array, tensor.address, self.stream())
        return array

    def copy(self, tensor: Tensor, dtype: str) -> DeviceArray:
        if tensor.dtype != dtype:
            with np.errstate(all="ignore"):
                return self.put(self.get(tensor).astype(numpy_dtype(dtype)))
        found, stream = DeviceArray(tensor.shape, dtype, self.gpu), self.stream()
        if tensor.size:
            self.gpu.copy(found.address, tensor.address, tensor.nbytes, stream)
        self.gpu.synchronize(stream)
        return found

    def set_rows(self, array: DeviceArray, old: Array, index: Array, rows: Tensor) -> None:
        """Clear the rows `old` of an array, and copy `rows` to those of `index`."""
        nbytes, stream = array.nbytes // max(array.shape[0], 1), self.stream()
        if not nbytes:
            return
        for k in old:
            self.gpu.fill(array.address + int(k) * nbytes, b"\0", nbytes, stream)
        for place, k in enumerate(index):
            self.gpu.copy(array.address + int(k) * nbytes, rows.address + place * nbytes, nbytes, stream)


def stream_of(owner: Any) -> Callable[[], int]:
    """What tells the current stream of the library that a tensor belongs to."""
    library = type(owner).__module__.partition(".")[0]
    if library == "torch" or hasattr(owner, "data_ptr"):
        torch = sys.modules["torch"]
        return lambda: int(torch.cuda.current_stream(owner.device).cuda_stream)
    if library == "cupy":
        cupy, number = sys.modules["cupy"], owner.device.id
        return lambda: int(cupy.cuda.get_current_stream(number).ptr)
    return lambda: 0
