"""A function that runs for many threads at once, each at a block of its own.

The threads that wait at the first block of the text run it together, so that those which parted meet again. They run
on registers of their own: what the block reads is gathered before it, what it leaves behind is scattered after it.
Where all threads of the function are together, neither is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.blocks import Block, Code, predicate_of
from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.instruction import Instruction, Registers

if TYPE_CHECKING:
    from tests.cuda.ptx.machine import Machine


class Group:
    """Threads that execute one block together, in ascending order."""

    def __init__(self, machine: Machine, threads: np.ndarray) -> None:
        self.machine = machine
        self.threads = threads
        self.count = len(threads)

    @property
    def lane(self) -> np.ndarray:
        return self.machine.lane[self.threads]

    def positions(self, lanes: np.ndarray) -> np.ndarray:
        """Where in the group each thread finds the given lane of its warp, which is there."""
        return np.searchsorted(self.threads, self.threads - self.lane + lanes)

    def ballot(self, own: np.ndarray, members: np.ndarray) -> np.ndarray:
        """For each thread, the bits of those of its warp and with its mask whose `own` holds; uint32."""
        warps = self.machine.warp[self.threads]
        if (members == members[0]).all():
            at = warps - warps[0]
        else:
            _, at = np.unique(warps << 32 | members.astype(np.int64), return_inverse=True)
        # Powers of two below 2**32, each once: exact in float64.
        return np.bincount(at, weights=np.ldexp(own.astype(np.float64), self.lane))[at].astype(np.uint32)

    def part(self, which: np.ndarray) -> Group:
        return Group(self.machine, self.threads[which])


class Frame:
    """The registers [threads] of a function, and where its threads are."""

    def __init__(self, machine: Machine, code: Code, threads: np.ndarray, registers: list[np.ndarray | None]) -> None:
        self.machine, self.code, self.threads, self.registers = machine, code, threads, registers
        self._count = len(threads)
        self._everyone = Group(machine, threads)
        # For registers that only some threads have written: which have not.
        self._unwritten: dict[int, np.ndarray] = {}
        self._checked: set[int] = set()
        self._waiting: dict[int, np.ndarray] = {0: np.arange(self._count)}

    def run(self) -> None:
        while self._waiting:
            number, ids = self._choose()
            block = self.code.blocks[number]
            self.machine.count(block)
            whole = len(ids) == self._count
            taken = self._run_whole(number, block) if whole else self._run_part(block, ids)
            branch = block.branch
            if taken is None:
                self._arrive(branch.target, ids)
            else:
                self._arrive(branch.target, ids[taken])
                self._arrive(branch.after, ids[~taken])

    def value(self, index: int, i: Instruction) -> np.ndarray:
        """A register after all threads have returned."""
        value = self.registers[index]
        if value is None or index in self._unwritten:
            raise i.fail("a result of the function was not written")
        return value

    def _run_whole(self, number: int, block: Block) -> np.ndarray | None:
        """Run a block for all threads; which of them take the branch, None where there is no choice."""
        if number not in self._checked:
            for index, reader in block.reads.items():
                self._check(index, reader, slice(None))
            # What has been written stays so.
            self._checked.add(number)
        registers = self.registers
        for step in block.steps:
            step(registers, self._everyone)
        if self._unwritten:
            for index in block.leaves:
                self._unwritten.pop(index, None)
        return None if block.branch.predicate is None else predicate_of(block.branch, registers)

    def _run_part(self, block: Block, ids: np.ndarray) -> np.ndarray | None:
        first, last = int(ids[0]), int(ids[-1])
        at: slice | np.ndarray = slice(first, last + 1) if last - first == len(ids) - 1 else ids
        registers: Registers = {}
        for index, reader in block.reads.items():
            self._check(index, reader, at)
            registers[index] = self.registers[index][at]  # type: ignore[index]
        group = Group(self.machine, self.threads[at])
        for step in block.steps:
            step(registers, group)
        taken = None if block.branch.predicate is None else predicate_of(block.branch, registers)
        for index in block.leaves:
            self._scatter(index, registers[index], at)
        return taken

    def _check(self, index: int, reader: Instruction, at: slice | np.ndarray) -> None:
        if self.registers[index] is None:
            raise reader.fail("reads a register that no thread has written")
        if index in self._unwritten and (missing := self._unwritten[index][at]).any():
            thread = self.threads[at][np.argmax(missing)]
            raise reader.fail(f"thread {thread} reads a register that it has not written")

    def _scatter(self, index: int, value: np.ndarray, at: slice | np.ndarray) -> None:
        array = self.registers[index]
        if array is None:
            array = self.registers[index] = np.empty(self._count, value.dtype)
            self._unwritten[index] = np.ones(self._count, bool)
        else:
            # Two registers that all threads have are one array after a move between them.
            array = self.registers[index] = array.copy()
        array.view(value.dtype)[at] = value
        if index in self._unwritten:
            missing = self._unwritten[index]
            missing[at] = False
            if not missing.any():
                del self._unwritten[index]

    def _arrive(self, number: int | None, ids: np.ndarray) -> None:
        if number is None or len(ids) == 0:
            return
        others = self._waiting.get(number)
        self._waiting[number] = ids if others is None else np.sort(np.concatenate((others, ids)))

    def _choose(self) -> tuple[int, np.ndarray]:
        """The first block that can run, and the threads that run it."""
        for number in sorted(self._waiting):
            ids = self._waiting[number]
            wait = self.code.blocks[number].wait
            if wait is None:
                return number, self._waiting.pop(number)
            ready = self._together(wait, ids)
            if ready.all():
                return number, self._waiting.pop(number)
            if ready.any():
                self._waiting[number] = ids[~ready]
                return number, ids[ready]
        raise self._deadlock()

    def _together(self, wait: Instruction, ids: np.ndarray) -> np.ndarray:
        """Which of the threads have all the others here that they must meet."""
        machine, threads = self.machine, self.threads[ids]
        if wait.barrier:
            cta = machine.cta[threads] - machine.cta[threads[0]]
            return np.bincount(cta)[cta] == machine.block
        for index in wait.reads:
            self._check(index, wait, ids)
        part = {index: self.registers[index][ids] for index in wait.reads}  # type: ignore[index]
        members = np.broadcast_to(wait.group_mask(part), len(ids))  # type: ignore[misc]
        group = Group(machine, threads)
        own = (members >> group.lane.astype(np.uint32)) & 1 == 0
        if own.any():
            raise wait.fail(f"thread {threads[np.argmax(own)]} is not in its own mask")
        return group.ballot(np.ones(len(ids), bool), members) == members

    def _deadlock(self) -> PtxError:
        """Nobody can go on: say who waits where, first the first."""
        where = [(self.code.blocks[number].wait, self.threads[ids]) for number, ids in sorted(self._waiting.items())]
        present = np.concatenate([threads for _, threads in where])
        gone = len(self.threads) - len(present)
        first, threads = where[0]
        rest = [f"line {other.statement.line} ({len(t)} threads)" for other, t in where[1:] if other is not None]
        message = f"deadlock: thread {threads[0]} and {len(threads) - 1} others wait for threads that never come"
        if gone:
            message += f"; {gone} of {len(self.threads)} have returned"
        if rest:
            message += f"; others wait at {', '.join(rest)}"
        return first.fail(message)  # type: ignore[union-attr]
