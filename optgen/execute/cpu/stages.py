"""Stages on the CPU: its kernels, and calls of `optgen.linalg`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.backends import machine
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.cpu.sequence import ALONE, NativeSequence, SequenceCall, loop_call, shared_call
from optgen.execute.cpu.table import CpuTable
from optgen.execute.stages import calls
from optgen.execute.stages.bound_stages import BoundStage, KernelCall, MatrixCall, TurnsCall
from optgen.execute.stages.calls import Request
from optgen.execute.stages.stage_device import Workspace
from optgen.threads import pool
from optgen.threads.sharing import Sharing, Threads, using

if TYPE_CHECKING:
    from optgen.linalg import How, PreparedProduct

SMALL_ELEMENTS = machine.value("groups.small_elements")
"""A parameter with more elements is updated by all threads, as its products are worth sharing."""
GROUPS_EACH = machine.value("groups.small_groups_each")
"""The groups of small parameters for each thread: with one, a thread may have more to do than another."""


class CpuStages:
    """See `optgen.execute.stages.stage_device.StageDevice`. Kernels of a step of so many `elements` are shared by the
    threads if there are enough of them."""

    def __init__(self, elements: int, sharing: Sharing) -> None:
        self._sharing, self.at_once = sharing, sharing.count()
        self._threads = sharing.threads()
        self._shares_kernels = elements >= pool.MIN_SHARED_ELEMENTS
        self._shared: tuple[list[Any], NativeSequence] | None = None

    def call(self, *args: Any) -> None:
        with using(self._sharing):
            calls.call(*args)

    def factorize(self, requests: Sequence[Request]) -> None:
        with using(self._sharing):
            calls.factorize(requests)

    def block(self, nbytes: int) -> tuple[Array, int]:
        memory = buffers.aligned((-(-nbytes // 8),), "float64")
        return memory, memory.ctypes.data

    def table(
        self, kernel: CpuKernel, domains: Sequence[Tensor], held: Mapping[str, Sequence[Tensor]], ids: Sequence[int]
    ) -> CpuTable:
        table = CpuTable(kernel, range(len(domains)), domains, held, ids, [None] * len(domains))
        if self._threads is not None and self._shares_kernels:
            table.use_threads(self._threads)
        return table

    def view(self, tensor: Tensor) -> Array:
        return tensor.view()

    # ------------------------------------------------------------ native code

    def prepared(self, stages: Sequence[BoundStage], how: How, workspace: Workspace) -> list[BoundStage]:
        from optgen.loops.kernel import POOL_MIN_WORK

        products: list[PreparedProduct] = []
        found = self._joined(stages, how, products)
        workspace.reserve_panels(max((x.panel_bytes for x in products), default=0))
        for product in products:
            product.place(workspace.panel_address)
        if self._threads is not None and any(job.work >= POOL_MIN_WORK for x in products for job in x.jobs):
            self._threads.match_worker_count()
        return found

    def _joined(self, stages: Sequence[BoundStage], how: How, products: list[PreparedProduct]) -> list[BoundStage]:
        """Stages, with one `NativeStage` in the place of those that follow each other and are native code."""
        found: list[BoundStage] = []
        for stage in stages:
            native = self._native_calls(stage, how, products)
            last = found[-1] if found else None
            if native is None:
                found.append(stage)
            elif isinstance(last, NativeStage):
                found[-1] = NativeStage([*last.sequence.calls, *native], self._threads)
            else:
                found.append(NativeStage(native, self._threads))
        return found

    def _native_calls(self, stage: BoundStage, how: How, products: list[PreparedProduct]) -> list[SequenceCall] | None:
        """The native calls that a stage is; None if it is none, or a loop with such stages."""
        match stage:
            case KernelCall(table=CpuTable() as table) if not stage.zeros:
                return [SequenceCall(table.kernel.address, table.address, ALONE, stage)]
            case MatrixCall():
                product = calls.prepare(stage.stage, stage.operands, stage.out, how)
                if product is None:
                    return None
                products.append(product)
                stage.product = product
                return [
                    SequenceCall(job.address, job.arguments.buffer_info()[0], job.work, (stage, job), job.calls_blas)
                    for job in product.jobs
                ]
            case TurnsCall():
                stage.bodies = [self._joined(body, how, products) for body in stage.bodies]
                bodies = [_whole(body) for body in stage.bodies]
                if None in bodies:
                    return None
                tables = [kernel.table for kernel in stage.readers if isinstance(kernel.table, CpuTable)]
                readers = [at for table in tables for at in table.hyper_addresses(str(stage.index))]
                return [loop_call(stage.turns, readers, [x for x in bodies if x is not None])]
        return None

    # ------------------------------------------------------------ several parameters

    def groups(self, elements: Sequence[int]) -> list[list[int]]:
        small = [k for k, size in enumerate(elements) if size <= SMALL_ELEMENTS]
        count = min(len(small), GROUPS_EACH * self.at_once)
        large = [k for k, size in enumerate(elements) if size > SMALL_ELEMENTS]
        if self._threads is None or count < 2:
            return [list(range(len(elements)))]
        bounds = [len(small) * k // count for k in range(count + 1)]
        return [large, *(small[low:high] for low, high in itertools.pairwise(bounds))]

    def run_groups(self, groups: Sequence[Sequence[Sequence[BoundStage]]]) -> None:
        first, *others = groups
        for stages in first:
            _run(stages)
        if not others:
            return
        flat = [stages for own in others for stages in own]
        if self._shared is None or not _are_same(self._shared[0], flat):
            wholes = [[_whole(stages) for stages in own] for own in others]
            if any(None in own for own in wholes):
                for stages in flat:
                    _run(stages)
                return
            made = [NativeSequence([x for one in own if one for x in one.calls], None) for own in wholes]
            if self._threads is not None:
                self._threads.match_worker_count()
            self._shared = flat, NativeSequence([shared_call(made)], self._threads)
        self._shared[1].run()

    # ------------------------------------------------------------ what fails

    def keep(self, tensor: Tensor) -> Callable[[], None]:
        array, copy = tensor.view(), tensor.view().copy()

        def put_back() -> None:
            array[...] = copy

        return put_back

    def is_finite(self, tensor: Tensor) -> bool:
        return bool(np.isfinite(tensor.view()).all())


class NativeStage(BoundStage):
    """Stages that are native code."""

    def __init__(self, native: Sequence[SequenceCall], threads: Threads | None) -> None:
        self.sequence = NativeSequence(native, threads)

    def run(self) -> Iterable[list[Request]]:
        self.sequence.run()
        return ()


def _whole(stages: Sequence[BoundStage]) -> NativeSequence | None:
    """All stages as one sequence, if they are native code."""
    match stages:
        case []:
            return NativeSequence([], None)
        case [NativeStage(sequence=sequence)]:
            return sequence
    return None


def _run(stages: Sequence[BoundStage]) -> None:
    """Run stages that cannot fail."""
    for stage in stages:
        for _ in stage.run():
            pass


def _are_same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))
