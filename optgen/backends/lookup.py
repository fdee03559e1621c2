"""Tables of constants: how the machine of a module finds the entry that an integer numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llvmlite import ir as ll

from optgen.backends.llvm_types import F32, I32, constant, vector

LookupStyle = Literal["permute16", "permute8", "memory", "select"]
"""`permute16`, `permute8`: registers of so many float32, which one instruction permutes (AVX-512, AVX2). `memory`: a
load for each number. `select`: a choice by each bit of the number, half of the table at a time."""

_PERMUTE = {16: "llvm.x86.avx512.permvar.sf.512", 8: "llvm.x86.avx2.permps"}
_PERMUTE_TWO = "llvm.x86.avx512.vpermi2var.ps.512"


class KernelModule(ll.Module):  # type: ignore[misc]
    """An LLVM module, how its machine finds entries of tables, and in which address space variables are."""

    def __init__(self, name: str, lookup: LookupStyle, stack: int = 0) -> None:
        super().__init__(name=name)
        self.lookup, self.stack = lookup, stack
        self.tables: dict[tuple[float, ...], Any] = {}


def lookup(b: ll.IRBuilder, table: tuple[float, ...], index: Any, width: int) -> Any:
    """The entries of a table of 8, 16 or 32 float32 that the lowest bits of `width` int32 number."""
    style = b.module.lookup
    if style == "select":
        return _select(b, table, index, width)
    size = 16 if style == "permute16" else 8
    if style == "memory" or width % size:
        return _load(b, table, index, width)
    parts = [_permute(b, table, _slice(b, index, k, size), size) for k in range(0, width, size)]
    while len(parts) > 1:
        parts = [_joined(b, x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _permute(b: ll.IRBuilder, table: tuple[float, ...], index: Any, size: int) -> Any:
    """One register of numbers: instructions take as many of their lowest bits as number the entries of a register."""
    floats, integers = vector(F32, size), vector(I32, size)
    if len(table) < size:
        table *= size // len(table)
    registers = [ll.Constant(floats, list(table[k : k + size])) for k in range(0, len(table), size)]
    if size == 16 and len(registers) == 2:
        f = b.module.declare_intrinsic(_PERMUTE_TWO, (), ll.FunctionType(floats, [floats, integers, floats]))
        return b.call(f, [registers[0], index, registers[1]])
    f = b.module.declare_intrinsic(_PERMUTE[size], (), ll.FunctionType(floats, [floats, integers]))
    found = [b.call(f, [x, index]) for x in registers]
    bit = size
    while len(found) > 1:
        upper = _bit(b, index, bit, size)
        found = [b.select(upper, y, x) for x, y in zip(found[::2], found[1::2], strict=True)]
        bit *= 2
    return found[0]


def _load(b: ll.IRBuilder, table: tuple[float, ...], index: Any, width: int) -> Any:
    """One load for each number, of constants in memory."""
    module = b.module
    if table not in module.tables:
        array = ll.ArrayType(F32, len(table))
        data = ll.GlobalVariable(module, array, f"{module.name}.table.{len(module.tables)}")
        data.initializer, data.global_constant, data.linkage = ll.Constant(array, list(table)), True, "internal"
        data.align = 4 * len(table)
        module.tables[table] = data

    def entry(i: Any) -> Any:
        place = b.zext(b.and_(i, I32(len(table) - 1)), ll.IntType(64))
        return b.load(b.gep(module.tables[table], [place], inbounds=True, source_etype=F32), typ=F32)

    if width == 1:
        return entry(index)
    found = ll.Constant(vector(F32, width), ll.Undefined)
    for k in range(width):
        found = b.insert_element(found, entry(b.extract_element(index, I32(k))), I32(k))
    return found


def _select(b: ll.IRBuilder, table: Sequence[float], index: Any, width: int) -> Any:
    """Half of the table by the highest bit of the number, and so on."""
    bits: dict[int, Any] = {}

    def among(entries: Sequence[float]) -> Any:
        if len(set(entries)) == 1:
            return constant(F32, entries[0], width)
        half = len(entries) // 2
        lower, upper = among(entries[:half]), among(entries[half:])
        if half not in bits:
            bits[half] = _bit(b, index, half, width)
        return b.select(bits[half], upper, lower)

    return among(table)


def _bit(b: ll.IRBuilder, index: Any, bit: int, width: int) -> Any:
    """Whether a number has this bit: it is moved to the sign, by which machines choose."""
    by = 32 - bit.bit_length()
    return b.icmp_signed("<", b.shl(index, constant(I32, by, width)), constant(I32, 0, width))


def _slice(b: ll.IRBuilder, x: Any, start: int, size: int) -> Any:
    if x.type.count == size:
        return x
    return b.shuffle_vector(x, x, ll.Constant(vector(I32, size), [*range(start, start + size)]))


def _joined(b: ll.IRBuilder, x: Any, y: Any) -> Any:
    count = 2 * x.type.count
    return b.shuffle_vector(x, y, ll.Constant(vector(I32, count), [*range(count)]))
