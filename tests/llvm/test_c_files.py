"""Functions in C, of which LLVM IR is kept beside the source, in the interpreter of LLVM IR.

Not here are those that call CPython or an operating system's threads: trampoline, dlpack, openmp, pool.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.objectcode.generate import SOURCES
from tests.llvm import LlvmError, Machine, Pointer
from tests.llvm.types import integer
from tests.llvm.values import Value

CPU = Path(optgen.__file__).parent / "execute" / "cpu"
RUN_HERE = ("chain", "ranges", "sequence")
I64 = integer(64)


def machine_of(name: str) -> Machine:
    return Machine((CPU / f"{name}.ll").read_text())


def table(machine: Machine, *words: int | None, writable: bool = False) -> tuple[np.ndarray, int]:
    """An array of words in the memory of a machine, and its address."""
    found = np.array([0 if x is None else x for x in words], np.int64)
    return found, machine.memory.register(found, writable=writable)


def word(machine: Machine, pointer: Pointer, k: int) -> Value:
    return machine.memory.load(Pointer(pointer.address + 8 * k, pointer.allocation), I64, 8, RuntimeError)


def test_every_file_can_be_read() -> None:
    """And every function of those that are run here can be built."""
    for source in SOURCES:
        machine = Machine(source.with_suffix(".ll").read_text())
        if source.stem in RUN_HERE:
            for name in machine.parsed.functions:
                machine.code(name)


@pytest.mark.parametrize(
    ("tensors", "written", "first"),
    [
        ([], [], -1),
        ([(4096, 16, 4), (4112, 8, 8)], [(4120, 4200)], -1),
        ([(4096, 16, 4), (4112, 9, 8)], [(4000, 4096), (4120, 4200)], 1),
        ([(4098, 4, 4)], [], 0),
        ([(0, 0, 4), (0, 4, 4)], [], 1),
        ([(4992, 8, 8), (5000, 8, 8)], [(1, 2), (3, 4), (5007, 5009)], 1),
    ],
)
def test_ranges(tensors: list[Any], written: list[Any], first: int) -> None:
    machine = machine_of("ranges")
    columns = [table(machine, *(x[k] for x in tensors)) for k in range(3)]
    ends = [table(machine, *(x[k] for x in written)) for k in range(2)]
    places = [at for _, at in (*columns, *ends)]
    kept, ranges = table(machine, len(tensors), *places[:3], len(written), *places[3:])
    assert machine.call("optgen_ranges_check", ranges) == first
    del kept


def test_chains() -> None:
    """Counts are gathered, the shared one set, and every kernel run once, in order; groups by whatever part."""
    machine, ran = machine_of("chain"), []

    def kernel(step: Pointer) -> None:
        counts = machine.memory.pointer(word(machine, step, 3))
        for i in range(word(machine, step, 0)):
            place = Pointer(counts.address + 8 * i, counts.allocation)
            machine.memory.store(place, I64, word(machine, counts, i) + 1, 8, RuntimeError)
        ran.append(word(machine, step, 0))

    def parallel(pool: Pointer, task: Pointer, chain: Pointer, elements: int) -> None:
        assert elements == 77
        for part in (2, 0, 1):
            machine.invoke(task, [chain, part, 3], RuntimeError)

    address = machine.provide(kernel)
    counts, at = table(machine, 5, 0, 9, 2, 4, 4, writable=True)
    orders = [[2, 0], [1], [5, 3, 4]]
    shared, kept, links = np.zeros(2), [], []
    machine.memory.register(shared)
    for k, order in enumerate(orders):
        own, own_at = table(machine, *[0] * len(order), writable=True)
        step, step_at = table(machine, len(order), 0, 0, own_at)
        numbers, numbers_at = table(machine, *order)
        kept += [own, step, numbers]
        links += [address, step_at, numbers_at, shared.ctypes.data if k == 0 else None]
    found, links_at = table(machine, *links)
    chain, chain_at = table(machine, 3, links_at, 6, at, 2, 77, machine.provide(parallel), 0)
    machine.call("optgen_chain_run", chain_at)
    assert counts.tolist() == [6, 1, 10, 3, 5, 5] and shared.tolist() == [10, 10]
    assert sorted(ran) == [1, 2, 3] and ran[0] == 2
    del found, chain


def test_sequences_and_loops() -> None:
    """Calls one after the other, shared where there is enough work; bodies of turns in the order 0, odd, even."""
    machine, ran = machine_of("sequence"), []

    def task(argument: Pointer, part: int, parts: int) -> None:
        ran.append((argument.address, part, parts))

    def parallel(pool: Pointer, task: Pointer, argument: Pointer, work: int) -> None:
        for part in range(2):
            machine.invoke(task, [argument, part, 2], RuntimeError)

    address, pool = machine.provide(task), machine.provide(parallel)
    kept, sequences = [], []
    for names, threads in (((1, 2), pool), ((3,), None), ((4,), None)):
        calls, calls_at = table(machine, *(x for name in names for x in (address, name, 10 * name)))
        kept.append(calls)
        sequences += [len(names), calls_at, threads, 0, 20]
    bodies, bodies_at = table(machine, *sequences)
    number = np.zeros(1)
    readers, readers_at = table(machine, machine.memory.register(number))
    loop, loop_at = table(machine, 4, 1, readers_at, bodies_at)
    machine.call("optgen_loop_run", loop_at, 0, 1)
    assert ran == [(1, 0, 1), (2, 0, 2), (2, 1, 2), (3, 0, 1), (4, 0, 1), (3, 0, 1)] and number[0] == 3
    ran.clear()
    everything, everything_at = table(machine, 3, bodies_at)
    for part in (1, 0):
        machine.call("optgen_sequences_run", everything_at, part, 2)
    assert [x for x, _, _ in ran] == [3, 4, 1, 2, 2]
    del bodies, readers, loop, everything


def test_a_table_that_is_too_short_is_found() -> None:
    machine = machine_of("ranges")
    addresses, at = table(machine, 4096)
    sizes, sizes_at = table(machine, 8, 8)
    kept, ranges = table(machine, 2, at, sizes_at, sizes_at, 0, 0, 0)
    with pytest.raises(LlvmError, match=r"optgen_ranges_check, block \d+, line \d+: .*8 bytes at byte 8 of"):
        machine.call("optgen_ranges_check", ranges)
    assert ctypes.sizeof(ctypes.c_int64) * len(addresses) == 8 and sizes.size and kept.size
