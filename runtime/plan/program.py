"""Steps as a machine runs them: words for the kernels' arguments, tables of calls, and calls of Python in between."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.execute.cpu.sequence import CALL_BYTES, SEQUENCE_BYTES, run_sequence
from optgen.loops import numpy_blas
from optgen.loops.kernel import POOL_MIN_WORK, address
from optgen.threads import pool
from runtime.plan.memory import ALIGNMENT
from runtime.plan.steps import Array, KernelStep, PythonStep, Step


class Program:
    """The steps of one part of a plan, for memory anywhere: what differs from call to call is filled in by `Run`.

    `fixed` are the inputs that are mostly the same ones in all calls.
    """

    def __init__(self, steps: Sequence[Step], fixed: slice) -> None:
        self.fixed = fixed
        self.calls_blas = False
        self.parts: list[tuple[int, int] | PythonStep] = []
        """Calls from the first to before the second, or a call of Python."""
        self._words: list[int] = []
        self._offsets: dict[str, list[tuple[int, int]]] = {"block": [], "input": [], "output": []}
        self._constants: list[np.ndarray] = []
        calls: list[tuple[int, int, int]] = []
        scratch_words: list[int] = []
        for step in steps:
            if isinstance(step, PythonStep):
                self.parts.append(step)
                continue
            assert isinstance(step, KernelStep)
            if step.scratch:
                scratch_words.append(len(self._words))
            calls.append(self._call(step))
            first = self.parts.pop()[0] if self.parts and isinstance(self.parts[-1], tuple) else len(calls) - 1
            self.parts.append((first, len(calls)))
        self.words = np.array(self._words, np.int64)
        self.calls = np.array(calls, np.int64).reshape(-1, 3)
        """For each call the address of a task, where its words begin, in bytes, and its work."""
        self.scratch_words = np.array(scratch_words, np.int64)
        """The words in which calls say that they have found no memory."""
        self.block = np.array([at for _, at in self._offsets["block"]], np.int64)
        """The words that are places in the block."""
        inputs = self._offsets["input"]
        among = range(fixed.start, fixed.stop)
        self.fixed_inputs = np.array([(i - fixed.start, at) for i, at in inputs if i in among], np.int64).reshape(-1, 2)
        self.inputs = [(i, at, self._words[at]) for i, at in inputs if i not in among]
        self.outputs = [(i, at, self._words[at]) for i, at in self._offsets["output"]]
        """Which array, the word that takes its address, and what is added."""

    def _call(self, step: KernelStep) -> tuple[int, int, int]:
        code = step.kernel.code_for(step.dtype)
        self.calls_blas |= bool(code.gemm)
        start = 8 * len(self._words)
        self._words += [step.tasks, step.scratch * step.dtype.itemsize, code.gemm]
        for x in step.arguments:
            self._words.append(self._word(x, len(self._words)))
        return code.address, start, step.work

    def _word(self, x: Any, at: int) -> int:
        if not isinstance(x, Array):
            return 0 if x is None else int(x)
        buffer = x.buffer
        if buffer.kind == "constant":
            assert buffer.array is not None
            self._constants.append(buffer.array)
            return address(buffer.array) + x.offset
        self._offsets[buffer.kind].append((buffer.index, at))
        return x.offset + (buffer.offset if buffer.kind == "block" else 0)


class Block:
    """The memory of one call of a plan, from its forward part to the end of its backward part."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        self.start = -address(self.memory) % ALIGNMENT
        self.address = address(self.memory) + self.start


class Run:
    """A program in a block."""

    def __init__(self, program: Program, block: Block) -> None:
        self._program, self._block = program, block
        self._last: Sequence[np.ndarray] = ()
        self._lasting: dict[int, Any] = {}
        self._words = program.words.copy()
        self._words[program.block] += block.address
        self._table = program.calls.copy()
        self._table[:, 1] += address(self._words)
        self._threads = threads = pool.pool() if pool.supported() else None
        shared = (threads.run, threads.address) if threads else (0, 0)
        base = address(self._table)
        native = [part for part in program.parts if isinstance(part, tuple)]
        self._structs = np.array(
            [(stop - start, base + CALL_BYTES * start, *shared, POOL_MIN_WORK) for start, stop in native], np.int64
        )
        self._starts = [address(self._structs) + SEQUENCE_BYTES * i for i in range(len(native))]
        self._views: dict[Array, np.ndarray] = {}

    def __call__(self, inputs: Sequence[np.ndarray], outputs: Sequence[Any], lasting: Sequence[Any] = ()) -> None:
        """Run all steps. MemoryError where a kernel has found no memory of its own.

        `lasting` are the last outputs, as many as there are: those that will mostly be the same arrays in the next
        call, None for the others.
        """
        program = self._program
        self._fill(inputs, outputs, lasting)
        if self._threads is not None:
            self._threads.match_worker_count()
        structs = iter(self._starts)
        for part in program.parts:
            if isinstance(part, PythonStep):
                self._call(part, inputs, outputs)
            elif program.calls_blas:
                with numpy_blas.single:
                    run_sequence(next(structs))
            else:
                run_sequence(next(structs))
        if len(program.scratch_words) and self._words[program.scratch_words].min() < 0:
            self._words[program.scratch_words] = program.words[program.scratch_words]  # for the next call
            raise MemoryError("no memory for what threads need of their own")

    def _fill(self, inputs: Sequence[np.ndarray], outputs: Sequence[Any], lasting: Sequence[Any]) -> None:
        """Write the addresses of the arrays into the words.

        What was written last is forgotten before, and noted after: an interrupt in between leaves words of neither.
        """
        words, program = self._words, self._program
        fixed = inputs[program.fixed]
        if len(fixed) != len(self._last) or not all(map(operator.is_, fixed, self._last)):
            self._last = ()
            which, at = program.fixed_inputs.T
            words[at] = program.words[at] + np.array(list(map(address, fixed)), np.int64)[which]
            self._last = fixed
        for i, at, offset in program.inputs:
            words[at] = address(inputs[i]) + offset
        known, self._lasting = self._lasting, {}
        for i, at, offset in program.outputs:
            if known.get(i) is not outputs[i]:
                words[at] = address(outputs[i]) + offset
        self._lasting = dict(enumerate(lasting, len(outputs) - len(lasting)))

    def _call(self, step: PythonStep, inputs: Sequence[np.ndarray], outputs: Sequence[Any]) -> None:
        given = [self._view(x, inputs, outputs) if isinstance(x, Array) else x for x in step.inputs]
        result = step.forward(*given, **step.attrs)
        results = result if type(result) is tuple else (result,)
        for x, to in zip(results, step.outputs, strict=False):
            if to is not None:
                np.copyto(self._view(to, inputs, outputs), x)

    def _view(self, x: Array, inputs: Sequence[np.ndarray], outputs: Sequence[Any]) -> np.ndarray:
        """An array of the plan as one of NumPy."""
        buffer = x.buffer
        if buffer.kind == "block":
            known = self._views.get(x)
            if known is None:
                start = self._block.start + buffer.offset + x.offset
                known = self._views[x] = np.ndarray(x.shape, x.dtype, self._block.memory, start)
            return known
        whole = buffer.array
        if whole is None:
            whole = (inputs if buffer.kind == "input" else outputs)[buffer.index]
        if whole.dtype == x.dtype and whole.nbytes == x.nbytes:
            return whole if whole.shape == x.shape else whole.reshape(x.shape)
        part = whole.reshape(-1).view(np.uint8)[x.offset : x.offset + x.nbytes]
        return part.view(x.dtype).reshape(x.shape)
