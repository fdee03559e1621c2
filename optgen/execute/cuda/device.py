"""GPUs as the place where a rule computes."""

from __future__ import annotations

from collections.abc import Sequence
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
from optgen.ir.nodes import Variant
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
        return OneGpu(driver.gpu(next(iter(found), 0)))


class OneGpu:
    """The memory of one of them."""

    def __init__(self, gpu: driver.Gpu) -> None:
        self.gpu = gpu

    def table(self, *args: Any) -> Table:
        return Table(self.gpu, *args)

    # ------------------------------------------------------------ arrays

    def tensor(self, obj: Any, name: str) -> Tensor:
        found = memory.tensor(obj, name)
        if found.gpu not in (None, self.gpu.ordinal):
            raise ValueError(f"{name}: on GPU {found.gpu}, and the parameters are on GPU {self.gpu.ordinal}")
        return found

    def full(self, shape: tuple[int, ...], dtype: str, value: float = 0.0) -> DeviceArray:
        array = DeviceArray(shape, dtype, self.gpu)
        pattern = np.array([value], numpy_dtype(dtype)).tobytes()
        if len(pattern) == 8 and pattern[:4] == pattern[4:]:
            pattern = pattern[:4]
        if len(pattern) == 8:
            array.set(np.full(shape, value))
        elif array.size:
            self.gpu.fill(array.address, pattern, array.nbytes // len(pattern))
        return array

    def put(self, array: Array) -> DeviceArray:
        found = DeviceArray(array.shape, array.dtype.name, self.gpu)
        found.set(array)
        return found

    def get(self, tensor: Tensor) -> Array:
        array = np.empty(tensor.shape, numpy_dtype(tensor.dtype))
        if tensor.size:
            self.gpu.download(array, tensor.address)
        return array

    def copy(self, tensor: Tensor, dtype: str) -> DeviceArray:
        if tensor.dtype == dtype:
            found = DeviceArray(tensor.shape, dtype, self.gpu)
            if tensor.size:
                self.gpu.copy(found.address, tensor.address, tensor.nbytes)
            return found
        with np.errstate(all="ignore"):
            return self.put(self.get(tensor).astype(numpy_dtype(dtype)))

    def set_rows(self, array: DeviceArray, old: Array, index: Array, rows: Tensor) -> None:
        """Clear the rows `old` of an array, and copy `rows` to those of `index`."""
        nbytes = array.nbytes // max(array.shape[0], 1)
        if not nbytes:
            return
        for k in old:
            self.gpu.fill(array.address + int(k) * nbytes, b"\0", nbytes)
        for place, k in enumerate(index):
            self.gpu.copy(array.address + int(k) * nbytes, rows.address + place * nbytes, nbytes)
