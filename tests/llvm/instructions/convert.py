"""Conversions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.llvm.instruction import Instruction, Step, elementwise
from tests.llvm.instructions.floating import in_mode, refuse_fast
from tests.llvm.instructions.integer import bits_of
from tests.llvm.memory import byte_mask, of_bytes
from tests.llvm.types import POINTER, Float, Type, Vector, integer, size
from tests.llvm.values import Value, encode, parts, signed, whole


def _to(i: Instruction) -> tuple[Type, int, Type]:
    """`type value to type`."""
    type, a = i.typed()
    i.expect("to")
    return type, a, i.type()


def truncate(i: Instruction) -> Step:
    _, a, to = _to(i)
    bits = bits_of(i, to)
    if isinstance(to, Vector):
        ones = (1 << bits) - 1
        return elementwise(i, lambda x: (x & x.dtype.type(ones)).astype(to.dtype), a)
    return elementwise(i, lambda x: x & ((1 << bits) - 1), a)


def extend(i: Instruction) -> Step:
    type, a, to = _to(i)
    bits, wide = bits_of(i, type), bits_of(i, to)
    if i.opcode == "zext":
        return elementwise(i, (lambda x: x.astype(to.dtype)) if isinstance(to, Vector) else int, a)
    if isinstance(to, Vector):
        return elementwise(i, lambda x: signed(x, bits).astype(f"i{wide // 8}").view(to.dtype), a)
    return elementwise(i, lambda x: signed(int(x), bits) % (1 << wide), a)


def change_precision(i: Instruction) -> Step:
    """Between floats. Halves keep their subnormal numbers in every mode."""
    refuse_fast(i)
    _, a, to = _to(i)
    dtype = _float(i, to)
    convert = lambda x: x.astype(dtype)  # noqa: E731
    if dtype.itemsize == 2:
        return elementwise(i, convert, a)
    if i.opcode == "fptrunc":
        return elementwise(i, in_mode(i, convert, Fraction), a)
    widened = in_mode(i, convert, None)
    return elementwise(i, lambda x: convert(x) if x.dtype.itemsize == 2 else widened(x), a)


def _float(i: Instruction, type: Type) -> np.dtype:
    element = type.element if isinstance(type, Vector) else type
    if not isinstance(element, Float) or element.name == "bfloat":
        raise i.fail(f"conversions to {type} are not known")
    return element.dtype


def to_integer(i: Instruction) -> Step:
    """Towards zero. What does not fit is undefined."""
    _, a, to = _to(i)
    bits = bits_of(i, to)
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if i.opcode == "fptosi" else (0.0, 2.0**bits)
    wide = np.dtype(np.int64 if i.opcode == "fptosi" else np.uint64)

    def f(x: Value) -> Value:
        number = np.trunc(np.asarray(x, np.float64))
        fits = (number >= low) & (number < high)
        found = np.where(fits, number, 0.0).astype(wide)
        result = found.astype(f"i{wide.itemsize}").view(np.uint64) & np.uint64((1 << bits) - 1)
        value = result.astype(to.dtype) if isinstance(to, Vector) else int(result)
        return whole(value, ~fits if isinstance(to, Vector) else not fits, i.why(f"{x} does not fit {to}"))

    return elementwise(i, f, a)


def from_integer(i: Instruction) -> Step:
    type, a, to = _to(i)
    dtype, bits = _float(i, to), bits_of(i, type)
    if i.opcode == "uitofp":
        return elementwise(i, lambda x: np.asarray(x, np.uint64).astype(dtype)[()], a)
    return elementwise(i, lambda x: np.asarray(signed(x, bits), np.int64).astype(dtype)[()], a)


def reinterpret(i: Instruction) -> Step:
    type, a, to = _to(i)
    if POINTER in (type, to) or _bits(type) != _bits(to):
        raise i.fail("only numbers of the same size are known")

    def step(r: list[Any]) -> None:
        value, mask, why = parts(r[a])
        data = encode(type, value)
        r[i.result] = of_bytes(to, data, mask if mask is False else byte_mask(mask, len(data)), why)

    return step


def _bits(type: Type) -> int:
    if isinstance(type, Vector) and type.element == integer(1):
        return type.count
    return 8 * size(type)


def from_pointer(i: Instruction) -> Step:
    _, a, to = _to(i)
    if to != integer(64):
        raise i.fail("addresses are i64")
    return elementwise(i, lambda x: x.address, a)


def to_pointer(i: Instruction) -> Step:
    """A pointer to whatever is at the address: what it was made of is not known any more."""
    type, a, _ = _to(i)
    if type != integer(64):
        raise i.fail("addresses are i64")
    return elementwise(i, i.machine.memory.pointer, a)


BUILDERS: list[tuple[str, Callable[[Instruction], Step]]] = [
    ("trunc", truncate),
    ("zext", extend),
    ("sext", extend),
    ("fptrunc", change_precision),
    ("fpext", change_precision),
    ("fptosi", to_integer),
    ("fptoui", to_integer),
    ("sitofp", from_integer),
    ("uitofp", from_integer),
    ("bitcast", reinterpret),
    ("ptrtoint", from_pointer),
    ("inttoptr", to_pointer),
]
