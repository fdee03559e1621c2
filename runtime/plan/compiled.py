"""A compiled function of arrays, with its gradient: programs, and the memory that they run in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from runtime.ndarray.ndarray import NDArray
from runtime.plan.epilogues import with_epilogues
from runtime.plan.fuse import fuse
from runtime.plan.lower import Lowered
from runtime.plan.memory import assign
from runtime.plan.program import Block, Program, Run
from runtime.plan.steps import Array, Buffer, PythonStep, Step
from runtime.plan.tape import Tape, emptied


class Compiled:
    """The programs of a function and of its gradient. The inputs are data and then parameters, which are mostly the
    same ones in all calls.

    `static_alloc`: all memory that calls have used is kept for later calls; otherwise that of one call.
    """

    def __init__(self, lowered: Lowered, tape: Tape, static_alloc: bool) -> None:
        self.like, self.draws, self.unused = emptied(tape.result), tape.draws, tape.unused
        self.heads = tuple(i for i, g in enumerate(tape.heads) if g is not None)
        """The outputs whose gradients the gradient takes."""
        self.wanted = tuple(tape.wanted)
        """The inputs, data and then parameters, whose gradients it computes."""
        self.sums = [i for i, _ in tape.sums]
        """The inputs whose gradients are added to arrays that are given."""
        results = set(_buffers([*lowered.outputs, *lowered.gradients]))
        backward = _needed(lowered.backward, results)
        left = results | {x for step in backward for x in step.reads}
        forward = _needed(lowered.forward, left)
        readers = Counter(buffer for step in (*forward, *backward) for buffer in {*step.reads} - {*step.writes})
        readers.update(results)
        forward, backward = with_epilogues(forward, readers), with_epilogues(backward, readers)
        forward, backward = fuse(forward, left), fuse(backward, results)
        self.outputs, self.gradients = lowered.outputs, lowered.gradients
        self._nbytes = assign(forward, backward, results)
        fixed = slice(len(tape.data), len(tape.data) + len(tape.parameters))
        self._forward, self._backward = Program(forward, fixed), Program(backward, fixed)
        self._static = static_alloc
        self.keeps_memory = True
        self._free: list[Memory] = []
        self._nothings: dict[Any, np.ndarray] = {}

    def forward(self, inputs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], Memory]:
        """The outputs, and the memory that `backward` needs."""
        try:
            memory = self._free.pop()
        except IndexError:
            memory = Memory(self._forward, self._backward, self._nbytes)
        outputs = [np.empty(x.shape, x.dtype) for x in self.outputs]
        memory.forward(inputs, outputs)
        return outputs, memory

    def backward(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        places: Sequence[np.ndarray | None],
        memory: Memory,
    ) -> list[np.ndarray | None]:
        """The gradients, given the inputs of `forward`, the gradients of the outputs, and what some are added to.

        Those that `places` has an array for are written there, the others to new arrays.
        """
        gradients = [
            None if x is None else np.empty(x.shape, x.dtype) if to is None else to
            for x, to in zip(self.gradients, places, strict=True)
        ]
        memory.backward(inputs, [*outputs, *gradients], places)
        return gradients

    def given_sums(self, known: Sequence[NDArray | None], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What is known of each of `sums`; -0, which changes nothing, for None."""
        return [self._nothing(inputs[i]) if x is None else x._data for i, x in zip(self.sums, known, strict=True)]

    def _nothing(self, like: np.ndarray) -> np.ndarray:
        key = like.shape, like.dtype
        if key not in self._nothings:
            self._nothings[key] = np.full_like(like, -0.0)
        return self._nothings[key]

    def give_back(self, memory: Memory) -> None:
        """Keep the memory for the next call."""
        if self._static or (self.keeps_memory and not self._free):
            self._free.append(memory)

    def forget_memory(self) -> None:
        """Free what is kept, and keep nothing until `keeps_memory` is set again."""
        if not self._static:
            self.keeps_memory = False
            self._free.clear()


class Memory:
    """A block, and both programs in it."""

    def __init__(self, forward: Program, backward: Program, nbytes: int) -> None:
        block = Block(nbytes)
        self.forward, self.backward = Run(forward, block), Run(backward, block)


def _needed(steps: Sequence[Step], kept: set[Buffer]) -> list[Step]:
    """The steps that compute what is needed, and those that are made for their effects."""
    needed = set(kept)
    found: list[Step] = []
    for step in reversed(steps):
        has_effect = isinstance(step, PythonStep) and (step.draws or not step.outputs)
        if has_effect or not needed.isdisjoint(step.writes):
            found.append(step)
            needed.update(step.reads)
    return found[::-1]


def _buffers(arrays: Iterable[Array | None]) -> list[Buffer]:
    return [x.buffer for x in arrays if x is not None]
