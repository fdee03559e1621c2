"""cvt: between integers, between floats, and from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.instructions.floating import canonical
from tests.cuda.ptx.types import TYPES

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group

TO_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
INT = r"[su](?:8|16|32|64)"
FLOAT = r"f16|f32|f64"


def integers(i: Instruction, to: str, of: str) -> Step:
    """The low bits, or extended as the source's type says."""
    i.expect(2)
    a, put, dtype = i.source(1, of, wider=True), i.extended(i.operands[0], to), TYPES[to]

    def step(registers: Registers, group: Group) -> None:
        put(registers, a(registers).astype(dtype))

    return step


def to_integer(i: Instruction, mode: str, to: str, of: str) -> Step:
    """Rounded to integral, and clamped to the type.

    A NaN gives 0, or, from or to 64 bits, the integer of which only the highest bit is set (PTX ISA, cvt).
    """
    i.expect(2)
    a, put, dtype = i.source(1, of), i.extended(i.operands[0], to), TYPES[to]
    rounded = TO_INTEGRAL[mode]
    limits = np.iinfo(dtype)
    # As floats: the least integer, and the first one beyond the greatest, a power of two; both are exact in float64.
    low, beyond = float(limits.min), float(int(limits.max) + 1)
    of_nan = np.array(1 << (limits.bits - 1) if of == "f64" or limits.bits == 64 else 0, np.uint64).astype(
        f"u{dtype.itemsize}"
    )

    def step(registers: Registers, group: Group) -> None:
        x = rounded(a(registers).astype(np.float64))
        fits = (x >= low) & (x < beyond)
        result = np.where(fits, x, 0).astype(dtype)
        if not fits.all():
            result[x < low] = limits.min
            result[x >= beyond] = limits.max
            result[np.isnan(x)] = of_nan.view(dtype)
        put(registers, result)

    return step


def from_integer(i: Instruction, to: str, of: str) -> Step:
    i.expect(2)
    a, d, dtype = i.source(1, of, wider=True), i.dest(to), TYPES[to]

    def step(registers: Registers, group: Group) -> None:
        registers[d] = a(registers).astype(dtype)

    return step


def integral(i: Instruction, mode: str, to: str, of: str) -> Step:
    i.expect(2)
    if to != of:
        raise i.fail("rounds to integral and changes the type: not known")
    rounded, a, d = TO_INTEGRAL[mode], i.source(1, of), i.dest(to)

    def step(registers: Registers, group: Group) -> None:
        registers[d] = canonical(rounded(a(registers)))

    return step


def floats(i: Instruction, rounding: str | None, to: str, of: str) -> Step:
    """To a narrower type it must say .rn, to a wider one nothing."""
    i.expect(2)
    if (rounding is not None) != (TYPES[to].itemsize < TYPES[of].itemsize) or to == of:
        raise i.fail("a conversion to a narrower float, and only that, is written with .rn")
    a, d, dtype = i.source(1, of), i.dest(to), TYPES[to]

    def step(registers: Registers, group: Group) -> None:
        registers[d] = canonical(a(registers).astype(dtype))

    return step


def pair(i: Instruction) -> Step:
    """Two halves in one register, the first source above."""
    i.expect(3)
    a, b, d = i.source(1, "f32"), i.source(2, "f32"), i.dest("b32")

    def step(registers: Registers, group: Group) -> None:
        both = np.stack(np.broadcast_arrays(b(registers), a(registers)), axis=1).astype(np.float16).ravel()
        registers[d] = canonical(both).view(np.uint32)

    return step


RULES = [
    (rf"cvt\.({INT})\.({INT})", integers),
    (rf"cvt\.(rni|rzi|rmi|rpi)\.({INT})\.({FLOAT})", to_integer),
    (rf"cvt\.rn\.(f32|f64)\.({INT})", from_integer),
    (rf"cvt\.(rni|rzi|rmi|rpi)\.({FLOAT})\.({FLOAT})", integral),
    (rf"cvt(?:\.(rn))?\.({FLOAT})\.({FLOAT})", floats),
    (r"cvt\.rn\.f16x2\.f32", pair),
]
