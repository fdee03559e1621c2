"""mov, whole or in pieces, and conversions of addresses between spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.types import TYPES, UNSIGNED

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group


def mov(i: Instruction, type: str) -> Step:
    i.expect(2)
    if i.operands[0].startswith("{"):
        return _unpack(i, type)
    if i.operands[1].startswith("{"):
        return _pack(i, type)
    a, d = i.source(1, type), i.dest(type)

    def step(registers: Registers, group: Group) -> None:
        registers[d] = a(registers).copy()

    return step


def _element(i: Instruction, type: str, count: int) -> str:
    """The type of one of `count` equal pieces."""
    bits = int(type[1:]) // count if type.startswith("b") and type != "pred" else 0
    if f"b{bits}" not in TYPES or bits < 16 or bits * count != int(type[1:]):
        raise i.fail(f"{type} has no {count} pieces that registers could hold")
    return f"b{bits}"


def _unpack(i: Instruction, type: str) -> Step:
    names = i.vector(0)
    element = _element(i, type, len(names))
    a = i.source(1, type)
    targets = [(k, i.target(name, element)) for k, name in enumerate(names) if name != "_"]
    dtype, count = TYPES[element], len(names)

    def step(registers: Registers, group: Group) -> None:
        pieces = a(registers).view(dtype).reshape(-1, count)
        for k, d in targets:
            registers[d] = pieces[:, k].copy()

    return step


def _pack(i: Instruction, type: str) -> Step:
    names = i.vector(1)
    element = _element(i, type, len(names))
    gets = [i.read(name, element) for name in names]
    d, dtype = i.dest(type), UNSIGNED[TYPES[type].itemsize]

    def step(registers: Registers, group: Group) -> None:
        pieces = np.empty((group.count, len(gets)), TYPES[element])
        for k, get in enumerate(gets):
            pieces[:, k] = get(registers)
        registers[d] = pieces.view(dtype)[:, 0]

    return step


def cvta(i: Instruction, to: str | None, space: str) -> Step:
    """Generic addresses are the host's; shared and local ones count from where the thread's memory begins."""
    i.expect(2)
    a, d = i.source(1, "u64"), i.dest("u64")
    base = None
    if space != "global":
        base = i.scope.base(space)
        i.reads.append(base)

    def step(registers: Registers, group: Group) -> None:
        address = a(registers)
        if base is None:
            registers[d] = address.copy()
        else:
            registers[d] = address - registers[base] if to else address + registers[base]

    return step


RULES = [
    (r"mov\.(pred|[sub](?:16|32|64)|f32|f64)", mov),
    (r"cvta\.(to\.)?(global|shared|local)\.u64", cvta),
]
