"""Memory on the stack, loads, stores, addresses, and what is atomic: the interpreter has one thread."""

from __future__ import annotations

import re
from typing import Any

from tests.llvm.instruction import Instruction, Step, elementwise
from tests.llvm.types import POINTER, Array, Int, Struct, Type, Vector, alignment, offsets, size, stride
from tests.llvm.values import Pointer, Poison, Value, signed

ORDERS = {"monotonic", "acquire", "release", "acq_rel", "seq_cst"}
WRAP = 1 << 64


def allocate(i: Instruction) -> Step:
    type, count = i.type(), None
    if i.tokens[i.at : i.at + 1] == [","] and i.tokens[i.at + 1] != "align":
        i.expect(",")
        _, count = i.typed()
    align = i.alignment(alignment(type))
    name = f"{i.tokens[0]} of {i.scope.function.name}"
    memory = i.machine.memory

    def step(r: list[Any]) -> None:
        elements = 1 if count is None else i.plain(r[count], "the number of elements")
        frame = r[0]
        made = memory.allocate(name, elements * stride(type), align, depth=frame.depth)
        frame.local.append(made.allocation)
        r[i.result] = made

    return step


def _atomic(i: Instruction, atomic: bool) -> None:
    if atomic and not i.flags(ORDERS):
        raise i.fail("an atomic access says in which order")


def load(i: Instruction) -> Step:
    atomic = i.take("atomic")
    type = i.type()
    i.expect(",")
    kind, pointer = i.typed()
    _pointer(i, kind)
    _atomic(i, atomic)
    align = i.alignment(alignment(type))
    checks = i.metadata({"!noundef", "!nonnull", "!range"})
    memory, fail, result = i.machine.memory, i.fail, i.result

    def step(r: list[Any]) -> None:
        r[result] = memory.load(r[pointer], type, align, fail)

    def checked(r: list[Any]) -> None:
        step(r)
        _check(i, type, r[result], checks)

    return checked if checks else step


def _check(i: Instruction, type: Type, value: Value, checks: dict[str, str]) -> None:
    """What metadata says of a value that was loaded."""
    if "!nonnull" in checks and value.address == 0:
        raise i.fail("loads null, and is nonnull")
    if "!range" in checks:
        assert isinstance(type, Int)
        ends = [int(x) for x in re.findall(r"i\d+ (-?\d+)", checks["!range"])]
        ranges = zip(ends[::2], ends[1::2], strict=True)
        if not any((value - low) % (1 << type.bits) < (high - low) % (1 << type.bits) for low, high in ranges):
            raise i.fail(f"loads {value}, which is out of its range")


def store(i: Instruction) -> Step:
    atomic = i.take("atomic")
    type, value = i.typed()
    i.expect(",")
    kind, pointer = i.typed()
    _pointer(i, kind)
    _atomic(i, atomic)
    align = i.alignment(alignment(type))
    memory, fail = i.machine.memory, i.fail

    def step(r: list[Any]) -> None:
        memory.store(r[pointer], type, r[value], align, fail)

    return step


def _pointer(i: Instruction, type: Type) -> None:
    if type != POINTER:
        raise i.fail(f"{type} is no pointer")


def address(i: Instruction) -> Step:
    """A pointer moved by indices. With `inbounds` it is undefined outside of its allocation, but one behind its end."""
    inbounds = i.take("inbounds")
    type = i.type()
    i.expect(",")
    kind, pointer = i.typed()
    _pointer(i, kind)
    fixed, moves = _moves(i, type)

    def move(p: Pointer, *indices: int) -> Value:
        by = fixed
        for index, (_, scale, bits) in zip(indices, moves, strict=True):
            by += scale * (index - (1 << bits) if index >> (bits - 1) else index)
        found = Pointer((p.address + by) % WRAP, p.allocation, p.bases)
        if not inbounds or not by:
            return found
        a = p.allocation
        if a is not None and not a.gone and a.address <= p.address <= a.end and a.address <= p.address + by <= a.end:
            return found
        where = f"byte {p.address - a.address} of {a.name}, which has {a.size}" if a else f"address 0x{p.address:x}"
        return Poison(found, True, i.why(f"inbounds is broken by {by} bytes from {where}"))

    return elementwise(i, move, pointer, *(register for register, _, _ in moves))


def _moves(i: Instruction, type: Type) -> tuple[int, list[tuple[int, int, int]]]:
    """The bytes of the constant indices, and for each of the others its register, its bytes and its bits."""
    fixed, moves, first = 0, [], True
    while i.take(","):
        kind, register = i.typed()
        if not isinstance(kind, Int):
            raise i.fail(f"an index of {kind}")
        known = i.scope.template[register]
        if isinstance(type, Struct) and not first:
            fixed += offsets(type)[known]
            type = type.fields[known]
            continue
        if not first:
            if not isinstance(type, Array | Vector):
                raise i.fail(f"{type} has no elements")
            type = type.element
        first = False
        if isinstance(known, int):
            fixed += signed(known, kind.bits) * stride(type)
        else:
            moves.append((register, stride(type), kind.bits))
    return fixed, moves


def change(i: Instruction) -> Step:
    """`atomicrmw`: the value that was there, which is changed."""
    op = i.next()
    if op not in ("add", "sub", "xchg"):
        raise i.fail(f"atomicrmw {op} is not known")
    kind, pointer = i.typed()
    _pointer(i, kind)
    i.expect(",")
    type, by = i.typed()
    _atomic(i, True)
    align = i.alignment(size(type))
    assert isinstance(type, Int)

    def step(r: list[Any]) -> None:
        old = i.machine.memory.load(r[pointer], type, align, i.fail)
        x = i.plain(r[by], "the operand")
        new = x if op == "xchg" else (old + x if op == "add" else old - x) % (1 << type.bits)
        i.machine.memory.store(r[pointer], type, new, align, i.fail)
        r[i.result] = old

    return step


def exchange(i: Instruction) -> Step:
    """`cmpxchg`: the value that was there, which is replaced if it is the one that is expected; and whether it was."""
    kind, pointer = i.typed()
    _pointer(i, kind)
    i.expect(",")
    type, expected = i.typed()
    i.expect(",")
    _, new = i.typed()
    _atomic(i, True)
    _atomic(i, True)
    align = i.alignment(size(type))

    def step(r: list[Any]) -> None:
        old = i.machine.memory.load(r[pointer], type, align, i.fail)
        same = old == i.plain(r[expected], "what is expected")
        if same:
            i.machine.memory.store(r[pointer], type, i.plain(r[new], "the operand"), align, i.fail)
        r[i.result] = [old, same]

    return step


BUILDERS = [
    ("alloca", allocate),
    ("load", load),
    ("store", store),
    ("getelementptr", address),
    ("atomicrmw", change),
    ("cmpxchg", exchange),
]
