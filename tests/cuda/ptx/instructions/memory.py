"""Loads and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.memory import misaligned, read, write
from tests.cuda.ptx.types import TYPES, UNSIGNED

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group

# The host address of each thread's access, after all checks; uint64 [threads].
Locate = Callable[[Registers, "Group"], np.ndarray]
HINTS = r"(?:\.L[12]::[\w:]+|\.(?:ca|cg|cs|cv|lu|wb|wt))*"
SPACES = r"\.(global|shared|local)"
TYPE = r"([subf](?:8|16|32|64))"


def _locate(i: Instruction, k: int, space: str | None, nbytes: int, write: bool, read_only: bool = False) -> Locate:
    """Operand k as an address in a space, None for a generic one."""
    address = i.address(k)
    if space in ("shared", "local"):
        return _window(i, k, space, nbytes, write)

    def locate(registers: Registers, group: Group) -> np.ndarray:
        a = np.broadcast_to(address(registers), group.count)
        if space is None and not group.machine.memory.inside(a, nbytes).all():
            return group.machine.generic(a, nbytes, write, group, i)
        group.machine.memory.check(a, nbytes, write, group.threads, i.fail)
        group.machine.note(i, write, read_only, nbytes, a, group)
        return a

    return locate


def _window(i: Instruction, k: int, space: str, nbytes: int, write: bool) -> Locate:
    """Addresses that count from where the thread's memory of the space begins."""
    address = i.address(k)
    base = i.scope.base(space)
    i.reads.append(base)

    def locate(registers: Registers, group: Group) -> np.ndarray:
        offsets = address(registers)
        size = group.machine.window(space)
        if int(offsets.max()) + nbytes > size:
            first = int(np.argmax(offsets))
            raise i.fail(f"thread {group.threads[first]}: byte {offsets[first]} of {size} bytes of {space} memory")
        if misaligned(offsets, nbytes):
            raise i.fail(f"an address is no multiple of {nbytes}")
        a = offsets + registers[base]
        if space == "shared":
            group.machine.note(i, write, False, nbytes, a, group)
        return a

    return locate


def _shape(i: Instruction, k: int, width: str | None, type: str) -> tuple[tuple[str, ...], int, np.dtype]:
    """The registers of operand k, the bytes of the whole access, and the unsigned type of an element."""
    names, size = i.vector(k), TYPES[type].itemsize
    if len(names) != int(width or 1):
        raise i.fail(f"moves {width or 1} values, {i.operands[k]} names {len(names)}")
    if len(names) * size > 32:
        raise i.fail("moves more than 32 bytes")
    return names, len(names) * size, UNSIGNED[size]


def load(i: Instruction, space: str | None, read_only: str | None, width: str | None, type: str) -> Step:
    i.expect(2)
    names, nbytes, dtype = _shape(i, 0, width, type)
    locate = _locate(i, 1, space, nbytes, write=False, read_only=read_only is not None)
    puts = [None if name == "_" else i.extended(name, type) for name in names]

    def step(registers: Registers, group: Group) -> None:
        for put, value in zip(puts, read(locate(registers, group), dtype, len(puts)), strict=True):
            if put is not None:
                put(registers, value)

    return step


def load_read_only(i: Instruction, width: str | None, type: str) -> Step:
    return load(i, "global", ".nc", width, type)


def load_any(i: Instruction, space: str | None, width: str | None, type: str) -> Step:
    return load(i, space, None, width, type)


def store(i: Instruction, space: str | None, width: str | None, type: str) -> Step:
    i.expect(2)
    names, nbytes, dtype = _shape(i, 1, width, type)
    locate = _locate(i, 0, space, nbytes, write=True)
    gets = [i.read(name, type, wider=True) for name in names]

    def step(registers: Registers, group: Group) -> None:
        values = np.empty((len(gets), group.count), dtype)
        for row, get in zip(values, gets, strict=True):
            row[:] = get(registers).view(dtype)
        write(locate(registers, group), values)

    return step


def load_parameter(i: Instruction, width: str | None, type: str) -> Step:
    """Parameters are registers: what is read must be what was written, at the same bytes and as wide."""
    i.expect(2)
    names, _, dtype = _shape(i, 0, width, type)
    name, offset = i.location(1)
    moves = []
    for k, register in enumerate(names):
        if register == "_":
            continue
        source = i.scope.parameter(name, offset + k * dtype.itemsize)
        i.reads.append(source)
        moves.append((source, i.extended(register, type)))

    def step(registers: Registers, group: Group) -> None:
        for source, put in moves:
            value = registers[source]
            if value.dtype.itemsize != dtype.itemsize:
                raise i.fail(f"the parameter has {8 * value.dtype.itemsize} bits")
            put(registers, value.copy())

    return step


def store_parameter(i: Instruction, width: str | None, type: str) -> Step:
    i.expect(2)
    names, _, dtype = _shape(i, 1, width, type)
    name, offset = i.location(0)
    moves = []
    for k, text in enumerate(names):
        get = i.read(text, type, wider=True)
        target = i.scope.parameter(name, offset + k * dtype.itemsize)
        i.writes.append(target)
        moves.append((get, target))

    def step(registers: Registers, group: Group) -> None:
        for get, target in moves:
            registers[target] = np.broadcast_to(get(registers), group.count).copy()

    return step


RULES = [
    (rf"ld\.param(?:\.v(2|4))?\.{TYPE}", load_parameter),
    (rf"st\.param(?:\.v(2|4))?\.{TYPE}", store_parameter),
    (rf"ld\.global{HINTS}\.nc{HINTS}(?:\.v(2|4|8))?\.{TYPE}", load_read_only),
    (rf"ld(?:{SPACES})?{HINTS}(?:\.v(2|4|8))?\.{TYPE}", load_any),
    (rf"st(?:{SPACES})?{HINTS}(?:\.v(2|4|8))?\.{TYPE}", store),
]
