"""Steps as a machine runs them: words for the kernels' arguments, tables of calls, and calls of Python in between."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.execute.cpu.sequence import run_sequence
from optgen.loops import numpy_blas
from optgen.loops.kernel import POOL_MIN_WORK
from optgen.threads import pool
from runtime.plan.memory import ALIGNMENT
from runtime.plan.places import address
from runtime.plan.steps import Array, KernelStep, PythonStep, Step


class Program:
    """The steps of one part of a plan, for memory anywhere: what differs from call to call is filled in by `Run`."""

    def __init__(self, steps: Sequence[Step]) -> None:
        words: list[int] = []
        self.calls_blas = False
        self.inputs = _Relocations()
        self.outputs = _Relocations()
        self.block = _Relocations()
        self.constants: list[Any] = []
        calls: list[tuple[int, int, int]] = []
        self.parts: list[tuple[int, int] | PythonStep] = []
        """Calls from the first to before the second, or a call of Python."""
        for step in steps:
            if isinstance(step, PythonStep):
                self.parts.append(step)
                continue
            assert isinstance(step, KernelStep)
            code = step.kernel.code_for(step.dtype)
            calls.append((code.address, 8 * len(words), step.work))
            words += [step.tasks, step.scratch * step.dtype.itemsize, code.gemm]
            self.calls_blas |= bool(code.gemm)
            for x in step.arguments:
                words.append(self._word(x, len(words)))
            if self.parts and isinstance(self.parts[-1], tuple):
                self.parts[-1] = self.parts[-1][0], len(calls)
            else:
                self.parts.append((len(calls) - 1, len(calls)))
        self.words = np.array(words, np.int64)
        self.calls = np.array(calls, np.int64).reshape(-1, 3)
        self.heads = self.calls[:, 1] // 8
        for part in (self.inputs, self.outputs, self.block):
            part.finish()

    def _word(self, x: Any, at: int) -> int:
        if not isinstance(x, Array):
            return 0 if x is None else int(x)
        buffer = x.buffer
        if buffer.kind == "constant":
            assert buffer.array is not None
            self.constants.append(buffer.array)
            return address(buffer.array) + x.offset
        relocations = {"block": self.block, "input": self.inputs, "output": self.outputs}[buffer.kind]
        relocations.add(at, max(buffer.index, 0))
        return x.offset + (buffer.offset if buffer.kind == "block" else 0)


class _Relocations:
    """Words that are offsets, to which the address of an array is added."""

    def __init__(self) -> None:
        self._at: list[int] = []
        self._which: list[int] = []

    def add(self, at: int, which: int) -> None:
        self._at.append(at)
        self._which.append(which)

    def finish(self) -> None:
        self.at = np.array(self._at, np.int64)
        self.which = np.array(self._which, np.int64)


class Block:
    """The memory of one call of a plan, from its forward part to the end of its backward part."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        self.start = -address(self.memory) % ALIGNMENT
        self.address = address(self.memory) + self.start


class Run:
    """A program in a block. `fixed` are the inputs that are mostly the same ones in all calls."""

    def __init__(self, program: Program, block: Block, fixed: slice) -> None:
        self._program, self._block = program, block
        self._fixed, self._last, self._addresses = fixed, (), []
        self._words = program.words.copy()
        self._words[program.block.at] += block.address
        self._template = self._words.copy() if len(program.inputs.at) or len(program.outputs.at) else self._words
        self._table = program.calls.copy()
        self._table[:, 1] += address(self._words) if len(self._words) else 0
        threads = pool.pool() if pool.supported() else None
        shared = (threads.run, threads.address) if threads else (0, 0)
        base = address(self._table) if len(self._table) else 0
        native = [part for part in program.parts if isinstance(part, tuple)]
        self._structs = np.array(
            [(stop - start, base + 24 * start, *shared, POOL_MIN_WORK) for start, stop in native], np.int64
        ).reshape(-1, 5)
        self._starts = [address(self._structs) + 40 * i for i in range(len(native))]
        self._views: dict[Array, np.ndarray] = {}

    def __call__(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Run all steps. MemoryError where a kernel has found no memory of its own."""
        program = self._program
        self._fill(program.inputs, self._addresses_of(inputs))
        self._fill(program.outputs, list(map(address, outputs)))
        if pool.supported():
            pool.pool().match_worker_count()
        structs = iter(self._starts)
        for part in program.parts:
            if isinstance(part, PythonStep):
                self._call(part, inputs, outputs)
            elif program.calls_blas:
                with numpy_blas.single:
                    run_sequence(next(structs))
            else:
                run_sequence(next(structs))
        if len(program.heads) and self._words[program.heads].min() < 0:
            raise MemoryError("no memory for what threads need of their own")

    def _fill(self, relocations: _Relocations, addresses: Sequence[int]) -> None:
        if len(relocations.at):
            numbers = np.array(addresses, np.int64)
            self._words[relocations.at] = self._template[relocations.at] + numbers[relocations.which]

    def _addresses_of(self, inputs: Sequence[np.ndarray]) -> list[int]:
        fixed = inputs[self._fixed]
        if len(fixed) != len(self._last) or not all(map(operator.is_, fixed, self._last)):
            self._last, self._addresses = fixed, list(map(address, fixed))
        varying = list(map(address, inputs[: self._fixed.start])), list(map(address, inputs[self._fixed.stop :]))
        return varying[0] + self._addresses + varying[1]

    def _call(self, step: PythonStep, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        given = [self.view(x, inputs, outputs) if isinstance(x, Array) else x for x in step.inputs]
        result = step.forward(*given, **step.attrs)
        results = result if type(result) is tuple else (result,)
        for x, to in zip(results, step.outputs, strict=False):
            if to is not None:
                np.copyto(self.view(to, inputs, outputs), x)

    def view(self, x: Array, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> np.ndarray:
        """An array of the plan as one of NumPy."""
        buffer = x.buffer
        if buffer.kind == "block":
            known = self._views.get(x)
            if known is None:
                start = self._block.start + buffer.offset + x.offset
                known = self._views[x] = np.ndarray(x.shape, x.dtype, self._block.memory, start)
            return known
        whole = (
            {"input": inputs, "output": outputs}[buffer.kind][buffer.index] if buffer.array is None else buffer.array
        )
        if whole.dtype == x.dtype and whole.nbytes == x.nbytes:
            return whole if whole.shape == x.shape else whole.reshape(x.shape)
        part = whole.reshape(-1).view(np.uint8)[x.offset : x.offset + x.nbytes]
        return part.view(x.dtype).reshape(x.shape)
