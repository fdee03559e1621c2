"""GPUs as the place where a rule computes."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from optgen import pipeline
from optgen.backends import target
from optgen.backends.gpu.nvidia import OLDEST
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor, numpy_dtype
from optgen.execute.cuda import driver, memory
from optgen.execute.cuda.capturable import CapturableRunner, CapturableTable
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.cuda.kernel import GpuKernel
from optgen.execute.cuda.memory import DeviceArray
from optgen.execute.cuda.runner import GpuRunner
from optgen.execute.cuda.stages import GpuStages, NoHalves
from optgen.execute.cuda.table import GpuTable
from optgen.execute.kernel import BufferTensors
from optgen.execute.piece import AnyPiece, Exchange
from optgen.execute.stages.staged_kernel import StagedKernel
from optgen.execute.stages.staged_runner import StagedRunner
from optgen.execute.stages.staged_table import StagedTable
from optgen.ir import Variant
from optgen.model import Optimizer
from optgen.stages.plan import KernelStage


class Cuda:
    """The GPUs of NVIDIA: a platform, whose devices are `GpuDevice`."""

    name = "cuda"

    def __init__(self) -> None:
        if not driver.count():
            raise ValueError(
                f"target='cuda': there is no GPU of NVIDIA here, or no driver for it ({driver.LIBRARY}); "
                "target='cpu' computes here, and `optgen build --target cuda` makes libraries without either"
            )

    def check_dtypes(self, dtypes: Collection[str]) -> None:
        """Every GPU has all of them."""

    def kernel(self, optimizer: Optimizer, variant: Variant, *, apart: bool = False) -> GpuKernel | StagedKernel:
        if not variant.evaluate and (apart or optimizer.is_staged(variant.flags)):
            return self._staged(optimizer, variant, apart=apart)
        if variant.boxes:
            raise ValueError(
                f"{optimizer.name} reduces over boxes of a tensor, or draws for one that is cut between columns; that "
                "is done on the CPU only (target='cpu')"
            )
        make_prologue = functools.partial(pipeline.code, pipeline.PrologueBackend(OLDEST), optimizer, variant)
        return GpuKernel(variant, pipeline.code(_backend(), optimizer, variant), make_prologue)

    def _staged(self, optimizer: Optimizer, variant: Variant, *, apart: bool) -> StagedKernel:
        if variant.matmul == "deterministic":
            raise ValueError(
                "matmul='deterministic': on GPUs products are those of PyTorch or CuPy, in an order of their own; use "
                "target='cpu'"
            )

        def load(section: KernelStage, number: int) -> GpuKernel:
            return GpuKernel(variant, pipeline.code(_backend(), optimizer, variant, section, number))

        return StagedKernel(optimizer, variant, load, folds=False, apart=apart)

    def param(self, obj: Any, name: str) -> Tensor:
        return memory.tensor(obj, name)

    def device(self, params: Sequence[Tensor], *, capturable: bool = False, stream: Any = None) -> GpuDevice:
        found = {t.gpu: t.name for t in params if t.gpu is not None}
        if len(found) > 1:
            (one, name), (two, other), *_ = found.items()
            raise ValueError(f"{name} is on GPU {one} and {other} on GPU {two}; bind the parameters of each GPU apart")
        gpu, owner = driver.gpu(next(iter(found), 0)), params[0].owner if params else None
        current = stream_of(owner) if stream is None else given_stream(stream)
        device = (CapturableDevice if capturable else GpuDevice)(gpu, current)
        device.wait_for(params)
        return device


def _backend() -> pipeline.GpuBackend:
    """PTX that runs on every GPU, beside this CPU."""
    return pipeline.GpuBackend(OLDEST, target.host())


class GpuDevice:
    """One GPU, whose memory is read and written in the order of the caller's current stream.

    A new array can be used in any stream: it is complete when it is returned.
    """

    is_capturable = False
    table_class: type[GpuTable] = GpuTable

    def __init__(self, gpu: GpuInterface, stream: Callable[[], Any]) -> None:
        self.gpu, self.stream = gpu, stream

    # ------------------------------------------------------------ its memory

    def tensor(self, obj: Any, name: str) -> Tensor:
        found = memory.tensor(obj, name)
        if found.gpu not in (None, self.gpu.ordinal):
            raise ValueError(f"{name}: on GPU {found.gpu}, and the parameters are on GPU {self.gpu.ordinal}")
        self.wait_for([found])
        return found

    def wait_for(self, tensors: Iterable[Tensor]) -> None:
        """Have what will come into the stream wait for those that tensors come from."""
        for after in sorted({t.after for t in tensors if t.after is not None}):
            self.gpu.order(self.stream(), after)

    def is_here(self, obj: Any) -> bool:
        """Whether an object is a tensor of a GPU."""
        return memory.is_on_gpu(obj)

    def host_full(self, shape: tuple[int, ...], dtype: str, value: float) -> Any:
        return buffers.aligned(shape, dtype, value)

    def host_tensor(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def host_copy(self, obj: Any, name: str) -> Any:
        return self.get(self.tensor(obj, name)) if self.is_here(obj) else obj

    def scalar(self, obj: Any, name: str) -> Tensor | None:
        return None

    def new(self, shape: tuple[int, ...], dtype: str, offset: int = 0) -> Tensor:
        """The memory of a new array, which is its `owner`. It begins `offset` bytes past a line."""
        return memory.tensor(DeviceArray(shape, dtype, self.gpu, offset), "a new array")

    def full(self, shape: tuple[int, ...], dtype: str, value: float = 0.0, beside: Tensor | None = None) -> Any:
        offset = 0 if beside is None else buffers.offset_beside(beside, dtype)
        pattern = np.array(value, numpy_dtype(dtype)).tobytes()
        if pattern[:4] == pattern[4:]:
            pattern = pattern[:4]
        if len(pattern) == 8:
            return self._put(np.full(shape, value, dtype), offset)
        found, stream = self.new(shape, dtype, offset), self.stream()
        if found.size:
            self.gpu.fill(found.address, pattern, found.nbytes // len(pattern), stream)
        self.gpu.synchronize(stream)
        return found.owner

    def put(self, array: Array) -> Any:
        return self._put(array, 0)

    def _put(self, array: Array, offset: int) -> Any:
        found = self.new(array.shape, array.dtype.name, offset)
        if found.size:
            self.gpu.upload(found.address, np.ascontiguousarray(array), self.stream())
        return found.owner

    def get(self, tensor: Tensor) -> Array:
        array = np.empty(tensor.shape, numpy_dtype(tensor.dtype))
        if tensor.size:
            self.gpu.download(array, tensor.address, self.stream())
        return array

    def copy(self, tensor: Tensor, dtype: str) -> Any:
        offset = buffers.offset_beside(tensor, dtype)
        if tensor.dtype != dtype:
            with np.errstate(all="ignore"):
                return self._put(self.get(tensor).astype(numpy_dtype(dtype)), offset)
        found, stream = self.new(tensor.shape, dtype, offset), self.stream()
        if tensor.size:
            self.gpu.copy(found.address, tensor.address, tensor.nbytes, stream)
        self.gpu.synchronize(stream)
        return found.owner

    def set_rows(self, array: Any, old: Array, index: Array, rows: Tensor) -> None:
        into, stream = self.tensor(array, "a dense gradient"), self.stream()
        nbytes = into.nbytes // max(into.shape[0], 1)
        if not nbytes:
            return
        for k in old:
            self.gpu.fill(into.address + int(k) * nbytes, b"\0", nbytes, stream)
        for place, k in enumerate(index):
            self.gpu.copy(into.address + int(k) * nbytes, rows.address + place * nbytes, nbytes, stream)

    # ------------------------------------------------------------ its steps

    def table(
        self,
        kernel: GpuKernel | StagedKernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        tensors: BufferTensors,
        ids: Sequence[int],
        pieces: Sequence[AnyPiece | None],
    ) -> GpuTable | StagedTable:
        if isinstance(kernel, StagedKernel):
            if self.is_capturable:
                raise ValueError(
                    f"capturable: {kernel.optimizer.name} has products of matrices, which no graph can have; leave it "
                    "out"
                )
            return StagedTable(kernel, members, params, tensors, ids, pieces)
        return self.table_class(self.gpu, self.stream, kernel, members, params, tensors, ids, pieces)

    def runner(
        self, tables: Sequence[GpuTable | StagedTable], counts: Tensor, exchange: Exchange | None
    ) -> GpuRunner | CapturableRunner | StagedRunner:
        staged = [table for table in tables if isinstance(table, StagedTable)]
        others = [table for table in tables if isinstance(table, GpuTable)]
        rest = GpuRunner(self.gpu, self.stream, others, counts, exchange)
        if not staged:
            return rest
        stages = GpuStages(self.gpu, self.stream, staged[0].owner)
        return StagedRunner(staged, stages, rest, others, counts, NoHalves(self.gpu, self.stream))


class CapturableDevice(GpuDevice):
    """A GPU on which steps are capturable: counts and states of kind host are in its memory as well."""

    is_capturable = True
    table_class = CapturableTable

    def __init__(self, gpu: GpuInterface, stream: Callable[[], Any]) -> None:
        super().__init__(gpu, stream)
        self._captured: list[CapturableTable] = []  # they stay as long as the step, as graphs have their addresses

    def host_full(self, shape: tuple[int, ...], dtype: str, value: float) -> Any:
        return self.full(shape, dtype, value)

    def host_tensor(self, obj: Any, name: str) -> Tensor:
        return self.tensor(obj, name)

    def scalar(self, obj: Any, name: str) -> Tensor | None:
        return self.tensor(obj, name) if self.is_here(obj) else None

    def runner(self, tables: Sequence[Any], counts: Tensor, exchange: Exchange | None) -> CapturableRunner:
        if exchange is not None:
            raise ValueError("exchange: partial results go through the host, so such a step is not capturable")
        return CapturableRunner(self.gpu, self.stream, tables, counts, self._captured)


def stream_of(owner: Any) -> Callable[[], int]:
    """A function that returns the current stream of the library that a tensor belongs to: PyTorch's, CuPy's, else 0."""
    library = type(owner).__module__.partition(".")[0]
    if library == "torch" or hasattr(owner, "data_ptr"):
        torch = sys.modules["torch"]
        return lambda: int(torch.cuda.current_stream(owner.device).cuda_stream)
    if library == "cupy":
        cupy, number = sys.modules["cupy"], owner.device.id
        return lambda: int(cupy.cuda.get_current_stream(number).ptr)
    return lambda: 0


_HANDLES = ("cuda_stream", "ptr", "handle")
"""The attributes by which PyTorch, CuPy, and PyCUDA and Numba have the driver's handle of a stream."""


def given_stream(stream: Any) -> Callable[[], int]:
    """A function that returns the driver's handle of a stream that the caller gave; TypeError or ValueError if it is
    none. The stream is kept alive."""
    handle = _handle(stream)

    def current(kept: Any = stream) -> int:
        return handle

    return current


def _handle(stream: Any) -> int:
    found = stream
    if hasattr(stream, "__cuda_stream__"):
        _, found = stream.__cuda_stream__()
    else:
        found = next((getattr(stream, name) for name in _HANDLES if hasattr(stream, name)), stream)
    found = getattr(found, "value", found)  # Numba's is of ctypes
    if found is None:
        return 0
    if isinstance(found, bool) or not hasattr(found, "__index__"):
        raise TypeError(
            "stream: expected the handle of a stream as a number, or an object with __cuda_stream__, "
            f"{', '.join(_HANDLES)}, not {type(stream).__name__}"
        )
    number = operator.index(found)
    if number < 0:
        raise ValueError(f"stream: {number} is the handle of no stream")
    return number
