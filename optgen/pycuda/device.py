"""Kernels of a folder as what a rule is compiled for, on the GPU of a context of PyCUDA."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from optgen.emit.reading import BuiltKernels
from optgen.execute.buffers import Tensor, numpy_dtype
from optgen.execute.cuda import memory
from optgen.execute.cuda.device import GpuDevice
from optgen.execute.cuda.kernel import GpuKernel
from optgen.ir import Variant
from optgen.model import Optimizer
from optgen.pycuda.gpu import PyCudaGpu
from optgen.pycuda.library import cuda, gpuarray


class BuiltPlatform:
    """A platform whose kernels were built before; ValueError if they are for newer GPUs than this one."""

    name = "pycuda"

    def __init__(self, built: BuiltKernels, gpu: PyCudaGpu) -> None:
        self._built, self._gpu = built, gpu
        major, minor = gpu.capability
        if int(built.arch.removeprefix("sm_")) > 10 * major + minor:
            raise ValueError(
                f"{built.folder}: its PTX is for {built.arch} and later GPUs, and this one is sm_{major}{minor}; build "
                f"with --arch sm_{major}{minor}"
            )

    def check_dtypes(self, dtypes: Collection[str]) -> None:
        """Which variants were built is told where one is missing."""

    def kernel(self, optimizer: Optimizer, variant: Variant, *, apart: bool = False) -> GpuKernel:
        if apart:
            raise ValueError(
                f"{optimizer.name}: parameters of several variants share values, which is kernels that no build has; "
                "optgen.load(..., target='cuda') has them"
            )
        if not variant.evaluate and optimizer.is_staged(variant.flags):
            raise ValueError(
                f"{optimizer.name}: products of matrices are calls between kernels, which no build has; "
                "optgen.load(..., target='cuda') has them"
            )
        return GpuKernel(variant, self._built.kernel(variant))

    def param(self, obj: Any, name: str) -> Tensor:
        self._gpu.check_current()
        return tensor(self._gpu, obj, name)

    def device(self, params: Sequence[Tensor], *, capturable: bool = False, stream: Any = None) -> PyCudaDevice:
        if capturable:
            raise ValueError("capturable: PyCUDA captures no graphs; leave it out")
        found = PyCudaDevice(self._gpu, stream)
        found.wait_for(params)
        return found


class PyCudaDevice(GpuDevice):
    """The GPU of a context. New arrays are GPUArrays."""

    def __init__(self, gpu: PyCudaGpu, stream: Any) -> None:
        super().__init__(gpu, gpu.stream(stream))
        self._pycuda = gpu

    def tensor(self, obj: Any, name: str) -> Tensor:
        found = tensor(self._pycuda, obj, name)
        self.wait_for([found])
        return found

    def new(self, shape: tuple[int, ...], dtype: str, offset: int = 0) -> Tensor:
        skip, nbytes = offset % memory.LINE_BYTES, math.prod(shape) * numpy_dtype(dtype).itemsize
        base = cuda.mem_alloc(max(nbytes, 1) + skip)
        address = int(base) + skip
        array = gpuarray.GPUArray(shape, numpy_dtype(dtype), base=base, gpudata=address)
        return Tensor("a new array", address, shape, dtype, True, array, self.gpu.ordinal if nbytes else None)


def tensor(gpu: PyCudaGpu, obj: Any, name: str) -> Tensor:
    """The memory of a GPUArray, or of what else has `__cuda_array_interface__`; TypeError or ValueError naming the
    tensor if it has none, or none in the context of `gpu`."""
    if isinstance(obj, np.ndarray):
        raise ValueError(f"{name}: in the memory of the CPU; pycuda.gpuarray.to_gpu makes a GPUArray of it")
    if not hasattr(obj, "__cuda_array_interface__"):
        raise TypeError(f"{name}: expected a GPUArray of PyCUDA, not {type(obj).__name__}")
    found = memory.from_interface(obj, name, lambda address: gpu.ordinal)
    if found.size:
        gpu.check_memory(found)
    return found
