"""Kernels of the CPU whose code runs in the interpreter of LLVM IR, as `tests.cuda.emulation` runs those of GPUs.

with interpreted():
    optgen.load("adam").bind(...)()

A kernel sees what its step struct leads to, and of it what optgen's headers say: tensors of their sizes, read-only
tables, a workspace without values.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from optgen import compiled, pipeline
from optgen.axes import Kind
from optgen.backends.step_struct import BOX_FIELDS
from optgen.backends.target import CpuTarget
from optgen.compiled import NativeKernel
from optgen.execute.cpu import device, table
from optgen.execute.cpu.boxes import Areas
from optgen.execute.kernel import LoadedKernel, StepStruct
from optgen.execute.table import StepTable
from optgen.ir import Buffer, Kernel, Variant
from optgen.pipeline import CpuBackend
from tests.llvm import Machine, Pointer

_TABLES = {"size": 1, "buffers": 0, "hyper": 0, "cols": 1, "id": 1, "index": 1, "present": 1, "first": 1, "whole": 1}
"""Tables that kernels only read, and the words of each for a tensor; 0 where the kernel says how many."""


EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class World:
    """The bytes of all memory that steps were bound to, by the address of their struct and its own, and the errors of
    calls that native code made. `parts` is into how many parts a kernel cuts its work, 0 if it is not asked to."""

    def __init__(self, parts: int) -> None:
        self.parts, self.calls = parts, 0
        self.sizes: dict[tuple[int, int], int] = {}
        self.areas: dict[int, int] = {}
        self.errors: list[Exception] = []

    def note(self, struct: int, tensors: Iterable[Any]) -> None:
        self.sizes |= {(struct, x.address): x.nbytes for x in tensors if x is not None}


class InterpretedKernel(LoadedKernel):
    """`optgen.execute.cpu.kernel.CpuKernel` of LLVM IR text in the place of object code."""

    _world: World

    def __init__(self, variant: Variant, native: NativeKernel) -> None:
        self._text, self._here = native.object.decode(), threading.local()
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._from_native)
        super().__init__(variant, native, ctypes.cast(self._entry, ctypes.c_void_p).value or 0)
        self.run = self._run  # type: ignore[assignment]

    @property
    def _machine(self) -> Machine:
        """That of this thread: tests have threads in the place of processes."""
        if not hasattr(self._here, "machine"):
            self._here.machine = Machine(self._text)
            self._here.parallel = self._here.machine.provide(self._in_parts)
        found: Machine = self._here.machine
        return found

    def _from_native(self, address: int) -> None:
        try:
            self._run(address)
        except Exception as error:
            self._world.errors.append(error)

    def workspace(self, step: StepStruct) -> int:
        return self._workspace_of(step, ctypes.addressof(step))

    def _workspace_of(self, step: StepStruct, of: int) -> int:
        return int(self._machine.call(f"{self.native.symbol}_workspace", self._map(step, of)))

    def _run(self, address: int) -> None:
        step, machine = StepStruct.from_buffer_copy(StepStruct.from_address(address)), self._machine
        if self._world.parts:
            step.parallel = self._here.parallel
        if step.share:
            step.share = machine.provide(functools.partial(self._exchange, EXCHANGE(step.share)))
        workspace = np.full(self._workspace_of(step, address), np.nan)
        step.workspace = workspace.ctypes.data
        known = self._map(step, address)
        machine.memory.register(workspace, known=False)
        self._world.calls += 1
        machine.call(self.native.symbol, known)

    def _in_parts(self, pool: Pointer, task: Pointer, step: Pointer, elements: int) -> None:
        """What threads do, one part after the other, the last one first."""
        for part in reversed(range(self._world.parts)):
            self._machine.invoke(task, [step, part, self._world.parts], RuntimeError)

    @staticmethod
    def _exchange(native: Callable[..., int], peers: Pointer, numbers: Pointer, which: int) -> int:
        """What brings the numbers of other pieces: it may write wherever these are."""
        found = native(peers.address, numbers.address, which)
        if numbers.allocation is not None and numbers.allocation.known is not None:
            numbers.allocation.known[:] = b"\1" * numbers.allocation.size
        return found

    def _map(self, step: StepStruct, of: int) -> int:
        """Have what a step leads to as the only memory of the process; the step's address. It may be a copy `of` one
        that tensors were noted for."""
        memory, n = self._machine.memory, step.n
        memory.clear()
        address = ctypes.addressof(step)
        memory.add("the step", address, ctypes.sizeof(step), writable=False)
        words = {**_TABLES, "buffers": len(self.buffer_index), "hyper": max(1, len(self.hyper_index))}
        for name, each in words.items():
            if (start := getattr(step, name)) is not None:
                memory.add(f"the table {name}", start, 8 * n * each, writable=False)
        memory.add("the counts", step.t, 8 * n, writable=True)
        for start, (name, nbytes, writable) in self._tensors(step, of).items():
            memory.add(name, start, nbytes, writable=writable)
        if step.present and step.index:
            rows = zip(_words(step.present, n), _words(step.index, n), strict=True)
            for start, count in {start: count for count, start in rows if count > 0 and start}.items():
                memory.add("the numbers of rows", start, 8 * count, writable=False)
        if step.boxes:
            memory.add("the boxes", step.boxes, 8 * n * len(BOX_FIELDS), writable=False)
            memory.add("the area of boxes", step.area, self._world.areas[step.area], writable=True)
        return address

    def _tensors(self, step: StepStruct, of: int) -> dict[int, tuple[str, int, bool]]:
        """What the table of buffers leads to: names, bytes, and whether it is written."""
        buffers = self.native.buffers
        found: dict[int, tuple[str, int, bool]] = {}
        for k, address in enumerate(_words(step.buffers, step.n * len(buffers))):
            i, buffer = k // len(buffers), buffers[k % len(buffers)]
            noted = self._world.sizes.get((of, address))
            nbytes = self._needed(step, i, buffer) if noted is None else noted
            _, _, writable = found.get(address, ("", 0, False))
            if address and nbytes:
                found[address] = f"{buffer.name} of tensor {i}", nbytes, writable or buffer.written
        return found

    @staticmethod
    def _needed(step: StepStruct, i: int, buffer: Buffer) -> int:
        """The bytes of what passes from one stage to another, and of the tensors in a group of small ones."""
        size, cols = (_words(table, step.n)[i] for table in (step.size, step.cols))
        elements = {Kind.ELEM: size, Kind.ROW: size // max(cols, 1), Kind.COL: cols}.get(buffer.kind, 1)
        return elements * buffer.format.bits // 8


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))


@contextmanager
def interpreted(parts: int = 0, cpu: CpuTarget | None = None) -> Iterator[World]:
    """Kernels that are loaded meanwhile run in the interpreter, cut into `parts` unless it is 0; LlvmError at the end
    for what was wrong in calls from native code. `cpu` is what they are made for, if it is not this machine."""
    world = World(parts)

    def text(self: CpuBackend, kernel: Kernel, symbol: str) -> bytes:
        return compiled.pack_native(kernel, pipeline.lower(kernel, symbol, cpu or self.machine).encode())

    def key(self: CpuBackend) -> tuple[str, ...]:
        return "LLVM IR", repr(cpu or self.machine)

    init, bind = StepTable.__init__, StepTable.bind_gradients

    def noted_init(self: StepTable, *args: Any) -> None:
        init(self, *args)
        _, _, _, tensors, *_ = args
        world.note(self.address, (x for each in tensors.values() for x in each))

    def noted_bind(self: StepTable, reads: Any) -> None:
        bind(self, reads)
        world.note(self.address, (x for each, _ in reads for x in each))

    def areas(*args: Any) -> Areas:
        found = Areas(*args)
        world.areas[found.numbers.ctypes.data] = found.numbers.nbytes
        return found

    with ExitStack() as stack:
        for patched in (
            mock.patch.object(CpuBackend, "compile", text),
            mock.patch.object(CpuBackend, "key", property(key)),
            mock.patch.object(device, "CpuKernel", type("CpuKernel", (InterpretedKernel,), {"_world": world})),
            mock.patch.object(StepTable, "__init__", noted_init),
            mock.patch.object(StepTable, "bind_gradients", noted_bind),
            mock.patch.object(table, "Areas", areas),
        ):
            stack.enter_context(patched)
        try:
            yield world
        finally:
            if world.errors:
                raise world.errors[0]
