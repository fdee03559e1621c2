"""One launch: what all its threads share, and the memory that each of them has for itself."""

from __future__ import annotations

import numpy as np

from tests.cuda.ptx.blocks import SPECIAL, Block, Code
from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.frame import Frame, Group
from tests.cuda.ptx.instruction import Instruction
from tests.cuda.ptx.memory import Memory, buffer, misaligned
from tests.cuda.ptx.races import Access, find_races

# Threads that run at once: more CTAs follow later. Registers of so many still fit into caches.
THREADS = 8192


class Machine:
    """A grid of `grid` CTAs of `block` threads; threads are numbered through the grid.

    `shared` and `local` are the bytes of shared memory of a CTA and of local memory of a thread; `limit` is the number
    of instructions after which the launch is taken to be endless, counting one for all the threads that execute it.
    """

    def __init__(self, grid: int, block: int, memory: Memory, shared: int, local: int, limit: int, races: bool) -> None:
        self.grid, self.block, self.memory = grid, block, memory
        self.limit = self.left = limit
        self.threads = np.arange(grid * block)
        self.cta, self.index = np.divmod(self.threads, block)
        self.lane = self.index % 32
        self.warp = self.cta * -(-block // 32) + self.index // 32
        self._windows = {"shared": buffer(grid, _padded(shared)), "local": buffer(grid * block, _padded(local))}
        self._sizes = {"shared": shared, "local": local}
        self._notes: list[Access] | None = [] if races else None
        # How many barriers each thread has passed. Replaced, never changed: notes hold the old ones.
        self._epochs = np.zeros((2, grid * block), np.int64)

    def execute(self, code: Code, parameters: dict[int, np.ndarray]) -> None:
        """Run an entry to its end, `parameters` being the registers of its parameters, each of one element."""
        each = max(1, THREADS // self.block) * self.block
        with np.errstate(all="ignore"):
            for start in range(0, len(self.threads), each):
                threads = self.threads[start : start + each]
                self.run(code, threads, {k: np.broadcast_to(v, len(threads)) for k, v in parameters.items()})
        if self._notes:
            find_races(self._notes, self.cta, self.warp)

    def run(self, code: Code, threads: np.ndarray, given: dict[int, np.ndarray]) -> Frame:
        """Run a function from its start for these threads, until all have returned."""
        registers: list[np.ndarray | None] = [None] * code.scope.count
        count = len(threads)
        special = {
            "%tid.x": self.index[threads],
            "%ntid.x": np.full(count, self.block),
            "%ctaid.x": self.cta[threads],
            "%nctaid.x": np.full(count, self.grid),
            "%laneid": self.lane[threads],
            "%shared": _row_addresses(self._windows["shared"], self.cta[threads]),
            "%local": _row_addresses(self._windows["local"], threads),
        }
        for name, (index, dtype) in SPECIAL.items():
            registers[index] = special[name].astype(dtype)
        for index, value in given.items():
            registers[index] = value.copy()
        frame = Frame(self, code, threads, registers)
        frame.run()
        return frame

    def window(self, space: str) -> int:
        """The bytes of shared memory of a CTA, or of local memory of a thread."""
        return self._sizes[space]

    def count(self, block: Block) -> None:
        """Count the instructions of a block that is about to run."""
        self.left -= max(1, block.count)
        if self.left < 0:
            first = block.first
            raise PtxError(f"line {first.line}: {first.text}: {self.limit} instructions were executed without an end")

    def generic(self, a: np.ndarray, nbytes: int, write: bool, group: Group, i: Instruction) -> np.ndarray:
        """Generic addresses of which some are not global: each must be the thread's own shared or local memory."""
        known = self.memory.inside(a, nbytes)
        rows = {"shared": self.cta[group.threads], "local": group.threads}
        for space, row in rows.items():
            offsets = a - _row_addresses(self._windows[space], row)
            size = self._sizes[space]
            mine = (offsets < size) & (size - np.minimum(offsets, size) >= nbytes) & ~known
            if space == "shared" and mine.any():
                part = group.part(mine)
                self.note(i, write, False, nbytes, a[mine], part)
            known |= mine
        globals_ = self.memory.inside(a, nbytes)
        for which in (~known, globals_):
            if which.any():
                self.memory.check(a[which], nbytes, write, group.threads[which], i.fail)
        if globals_.any():
            self.note(i, write, False, nbytes, a[globals_], group.part(globals_))
        if misaligned(a, nbytes):
            raise i.fail(f"an address is no multiple of {nbytes}")
        return a

    def note(self, i: Instruction, write: bool, read_only: bool, nbytes: int, a: np.ndarray, group: Group) -> None:
        """Remember an access for the search for races."""
        if self._notes is not None:
            self._notes.append(Access(i, write, read_only, nbytes, a, group.threads, self._epochs))

    def passed_barrier(self, group: Group, of_warp: bool = False) -> None:
        epochs = self._epochs.copy()
        epochs[int(of_warp), group.threads] += 1
        self._epochs = epochs


def check_size(grid: int, block: int, name: str, maxntid: int | None) -> None:
    """Refuse a launch that the hardware would refuse."""
    if grid < 1 or not 1 <= block <= 1024:
        raise PtxError(f"{name}: a grid of {grid} and blocks of {block} threads: at least 1, blocks at most 1024")
    if maxntid is not None and block > maxntid:
        raise PtxError(f"{name}: blocks of {block} threads, but it is compiled for at most {maxntid}")


def _padded(nbytes: int) -> int:
    return -(-nbytes // 128) * 128


def _row_addresses(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    return (rows.ctypes.data + rows.strides[0] * index).astype(np.uint64)
