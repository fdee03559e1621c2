"""The CPU as the place where a rule computes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen import pipeline
from optgen.backends import target
from optgen.compiled import NativeKernel
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.cpu.runner import CpuRunner
from optgen.execute.cpu.table import CpuTable
from optgen.execute.kernel import BufferTensors
from optgen.execute.piece import AnyPiece, Exchange
from optgen.ir import Variant
from optgen.ir.storage import STORAGES
from optgen.model import Optimizer
from optgen.threads.sharing import OWN, Sharing
from optgen.threads.sharing import of as sharing_of

if TYPE_CHECKING:
    from optgen.execute.stages.staged_kernel import StagedKernel
    from optgen.execute.stages.staged_runner import StagedRunner
    from optgen.execute.stages.staged_table import StagedTable
    from optgen.stages.plan import KernelStage

# The modules of stages are imported for specs that have stages: the first step of the others comes sooner.


def _native(
    optimizer: Optimizer, variant: Variant, section: KernelStage | None = None, number: int = 0
) -> NativeKernel:
    """Object code for this machine, as `pipeline.code`."""
    return pipeline.code(pipeline.CpuBackend(target.host()), optimizer, variant, section, number)


class Cpu:
    """This process's memory: a platform, and its devices, which differ in whose threads share the work of a step.
    `compile` makes the object code of a variant."""

    name = "cpu"

    def __init__(self, compile: Callable[[Optimizer, Variant], NativeKernel] = _native, sharing: Sharing = OWN) -> None:
        self._compile, self._sharing = compile, sharing

    # ------------------------------------------------------------ the platform

    def check_dtypes(self, dtypes: Collection[str]) -> None:
        if not any(STORAGES[x].is_half for x in dtypes):
            return
        host = target.host()
        if host.triple.startswith("x86_64") and "f16c" not in host.required():
            raise ValueError(
                "float16 needs a CPU with the F16C instructions, which this one does not have; use bfloat16"
            )

    def kernel(self, optimizer: Optimizer, variant: Variant, *, apart: bool = False) -> CpuKernel | StagedKernel:
        if not variant.evaluate and (apart or optimizer.is_staged(variant.flags)):
            from optgen.execute.stages.staged_kernel import StagedKernel

            def load(section: KernelStage, number: int) -> CpuKernel:
                return CpuKernel(variant, _native(optimizer, variant, section, number))

            return StagedKernel(optimizer, variant, load, folds=True, apart=apart)
        return CpuKernel(variant, self._compile(optimizer, variant))

    def param(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def device(self, params: Sequence[Tensor], *, capturable: bool = False, stream: Any = None) -> Cpu:
        if stream is not None:
            raise ValueError("stream: a step on the CPU is in none, so this is for target='cuda'; leave it out here")
        if capturable:
            raise ValueError(
                "capturable: a step on the CPU is in no graph, so this is for target='cuda'; leave it out here"
            )
        return Cpu(self._compile, sharing_of([t.owner for t in params]))

    # ------------------------------------------------------------ the device: its memory

    is_capturable = False

    def tensor(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def full(self, shape: tuple[int, ...], dtype: str, value: float, beside: Tensor | None = None) -> Array:
        offset = 0 if beside is None else buffers.offset_beside(beside, dtype)
        return buffers.aligned(shape, dtype, value, offset)

    def host_full(self, shape: tuple[int, ...], dtype: str, value: float) -> Array:
        return buffers.aligned(shape, dtype, value)

    def host_tensor(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def host_copy(self, obj: Any, name: str) -> Any:
        return obj

    def scalar(self, obj: Any, name: str) -> Tensor | None:
        return None

    def put(self, array: Array) -> Array:
        return array

    def get(self, tensor: Tensor) -> Array:
        return tensor.view()

    def copy(self, tensor: Tensor, dtype: str) -> Array:
        copy = self.full(tensor.shape, dtype, 0.0, tensor)
        if tensor.dtype == dtype:
            ctypes.memmove(copy.ctypes.data, tensor.address, tensor.nbytes)
        else:
            with np.errstate(all="ignore"):
                copy[...] = tensor.view()
        return copy

    def set_rows(self, array: Array, old: Array, index: Array, rows: Tensor) -> None:
        array[old] = 0
        array[index] = rows.view()

    # ------------------------------------------------------------ the device: its steps

    def table(
        self,
        kernel: CpuKernel | StagedKernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        tensors: BufferTensors,
        ids: Sequence[int],
        pieces: Sequence[AnyPiece | None],
    ) -> CpuTable | StagedTable:
        if isinstance(kernel, CpuKernel):
            return CpuTable(kernel, members, params, tensors, ids, pieces)
        from optgen.execute.stages.staged_table import StagedTable

        return StagedTable(kernel, members, params, tensors, ids, pieces)

    def runner(
        self, tables: Sequence[CpuTable | StagedTable], counts: Tensor, exchange: Exchange | None
    ) -> CpuRunner | StagedRunner:
        staged = [x for x in tables if not isinstance(x, CpuTable)]
        others = [x for x in tables if isinstance(x, CpuTable)]
        rest = CpuRunner(others, counts, exchange, self._sharing)
        if not staged:
            return rest
        from optgen.execute.cpu.stages import CpuStages
        from optgen.execute.stages.staged_runner import StagedRunner

        stages = CpuStages(sum(int(table.sizes.sum()) for table in staged), self._sharing)
        return StagedRunner(staged, stages, rest, others, counts)
