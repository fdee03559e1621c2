"""Arithmetic of floats: round to nearest even, denormals kept, NaNs without sign or payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Get, Instruction, Registers, Step
from tests.cuda.ptx.types import FLOATS, NANS, TYPES, UNSIGNED

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group

BINARY: dict[str, np.ufunc] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def canonical(x: np.ndarray) -> np.ndarray:
    """x, a new array of floats, with every NaN replaced by the one that the hardware makes."""
    # A sum of squares is NaN if and only if one of them is. It is the cheapest way to ask.
    if x.dtype is not FLOATS["f16"] and (total := x.dot(x)) == total:
        return x
    nan = np.isnan(x)
    if nan.any():
        x.view(UNSIGNED[x.dtype.itemsize])[nan] = NANS[x.dtype]
    return x


def arithmetic(i: Instruction, op: str, type: str) -> Step:
    i.expect(3)
    ufunc, a, b, d = BINARY[op], i.source(1, type), i.source(2, type), i.dest(type)

    def step(registers: Registers, group: Group) -> None:
        registers[d] = canonical(ufunc(a(registers), b(registers)))

    return step


def packed(i: Instruction, op: str, type: str) -> Step:
    """Two floats in one register, each on its own."""
    i.expect(3)
    element = FLOATS[type]
    bits = f"b{16 * element.itemsize}"
    if not all(x.startswith("%") for x in i.operands):
        raise i.fail("operands of packed arithmetic must be registers")
    ufunc, a, b, d = BINARY[op], i.source(1, bits), i.source(2, bits), i.dest(bits)

    def step(registers: Registers, group: Group) -> None:
        both = canonical(ufunc(a(registers).view(element), b(registers).view(element)))
        registers[d] = both.view(UNSIGNED[2 * element.itemsize])

    return step


def extreme(i: Instruction, op: str, type: str) -> Step:
    """The larger or the smaller one; a NaN gives way to a number, and -0 is less than +0."""
    i.expect(3)
    a, b, d = i.source(1, type), i.source(2, type), i.dest(type)
    choose, bits = (np.fmax, np.bitwise_and) if op == "max" else (np.fmin, np.bitwise_or)

    def step(registers: Registers, group: Group) -> None:
        x, y = a(registers), b(registers)
        found = choose(x, y)
        unsigned = UNSIGNED[found.dtype.itemsize]
        zeros = bits(x.view(unsigned), y.view(unsigned)).view(found.dtype)
        registers[d] = canonical(np.where((x == 0) & (y == 0), zeros, found))

    return step


def unary(f: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Step]:
    """A builder for a function of one float, whose NaN results PTX leaves unspecified."""

    def builder(i: Instruction, type: str) -> Step:
        i.expect(2)
        a, d = i.source(1, type), i.dest(type)

        def step(registers: Registers, group: Group) -> None:
            registers[d] = canonical(f(a(registers)))

        return step

    return builder


def packed_unary(i: Instruction, op: str, type: str) -> Step:
    """A function of each of two floats in one register."""
    i.expect(2)
    f, element = {"neg": np.negative, "abs": np.abs}[op], FLOATS[type]
    bits = f"b{16 * element.itemsize}"
    a, d = i.source(1, bits), i.dest(bits)

    def step(registers: Registers, group: Group) -> None:
        registers[d] = canonical(f(a(registers).view(element))).view(UNSIGNED[2 * element.itemsize])

    return step


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of float32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, which a second rounding, to less than half as many
    digits, cannot see (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE TC 57(4), 2008).
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = total.view(np.uint64) & np.uint64(1) == 0
    inexact = np.isfinite(total) & (error != 0) & even
    odd = np.where(inexact, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    return odd.astype(np.float32)


def fma(i: Instruction) -> Step:
    i.expect(4)
    a, b, c, d = (*(i.source(k, "f32") for k in (1, 2, 3)), i.dest("f32"))

    def step(registers: Registers, group: Group) -> None:
        registers[d] = canonical(fused(a(registers), b(registers), c(registers)))

    return step


def copysign(i: Instruction, type: str) -> Step:
    """The sign of the first operand and the rest of the second: bits, NaN or not."""
    i.expect(3)
    bits = type.replace("f", "b")
    sign: Get = i.source(1, type if not i.operands[1].startswith("%") else bits)
    rest: Get = i.source(2, type if not i.operands[2].startswith("%") else bits)
    d = i.dest(type)
    dtype = TYPES[bits]
    top = dtype.type(1 << (8 * dtype.itemsize - 1))

    def step(registers: Registers, group: Group) -> None:
        registers[d] = (sign(registers).view(dtype) & top) | (rest(registers).view(dtype) & ~top)

    return step


def _subnormal(x: np.ndarray) -> np.ndarray:
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


TESTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
    "subnormal": _subnormal,
}


def testp(i: Instruction, name: str, type: str) -> Step:
    i.expect(2)
    f, a, d = TESTS[name], i.source(1, type), i.dest("pred")

    def step(registers: Registers, group: Group) -> None:
        registers[d] = f(a(registers))

    return step


RULES = [
    (r"(add|sub|mul|div)\.rn\.(f32|f64)", arithmetic),
    (r"(add|sub|mul)\.rn\.(f16)", arithmetic),
    (r"(add|sub|mul)\.rn\.(f32|f16)x2", packed),
    (r"(max|min)\.(f32|f64)", extreme),
    (r"sqrt\.rn\.(f32|f64)", unary(np.sqrt)),
    (r"rcp\.rn\.(f32|f64)", unary(np.reciprocal)),
    (r"neg\.(f16|f32|f64)", unary(np.negative)),
    (r"abs\.(f16|f32|f64)", unary(np.abs)),
    (r"(neg|abs)\.(f32|f16)x2", packed_unary),
    (r"fma\.rn\.f32", fma),
    (r"copysign\.(f32|f64)", copysign),
    (r"testp\.(finite|infinite|number|notanumber|normal|subnormal)\.(f32|f64)", testp),
]
