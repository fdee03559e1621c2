"""LLVM's intrinsics, by patterns of names. One that is missing is an error that names the line."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tests.llvm.instruction import Instruction, Step, elementwise
from tests.llvm.instructions.floating import BINARY, check_float, in_mode
from tests.llvm.types import Type, Vector, integer, size
from tests.llvm.values import Pointer, Poison, Value, parts, signed, whole

Operands = list[int]
Builder = Callable[[Instruction, "Call"], Step]


@dataclass(frozen=True)
class Call:
    """A call of an intrinsic: what of its name the pattern has in parentheses, its types, its operands."""

    words: tuple[str, ...]
    result: Type
    types: list[Type]
    operands: Operands


def build(i: Instruction, name: str, result: Type, types: list[Type], operands: Operands) -> Step:
    """The step of a call of the intrinsic; LlvmError for one that is not known."""
    for pattern, builder in RULES:
        if match := re.fullmatch(pattern, name):
            return builder(i, Call(match.groups(), result, types, operands))
    raise i.fail(f"the intrinsic {name} is not known")


# ---------------------------------------------------------------- numbers

_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
_FUSED = {
    np.dtype(np.float32): ctypes.CFUNCTYPE(ctypes.c_float, *[ctypes.c_float] * 3)(("fmaf", _LIBRARY)),
    np.dtype(np.float64): ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)(("fma", _LIBRARY)),
}
"""C's, which round once: NumPy has none."""
ROUNDED = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "trunc": np.trunc}


def unary(i: Instruction, c: Call) -> Step:
    """No result of these is tiny."""
    check_float(i, c.result)
    if c.words[0] == "fabs":
        return elementwise(i, np.abs, *c.operands)
    return elementwise(i, in_mode(i, ROUNDED[c.words[0]], None), *c.operands)


def fused(i: Instruction, c: Call) -> Step:
    check_float(i, c.result)

    def f(x: Value, y: Value, z: Value) -> Value:
        one = _FUSED[x.dtype]
        if not np.ndim(x):
            return x.dtype.type(one(x, y, z))
        return np.array([one(*lane) for lane in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)], x.dtype)

    def exact(x: Fraction, y: Fraction, z: Fraction) -> Fraction:
        return x * y + z

    return elementwise(i, in_mode(i, f, exact), *c.operands)


def reduce(i: Instruction, c: Call) -> Step:
    op, bits = c.words[0], getattr(c.result, "bits", 0)

    def f(x: Value) -> int:
        if op == "or":
            return int(np.bitwise_or.reduce(x))
        return int(signed(x, bits).max()) % (1 << bits)

    return _defined(i, c, f)


def add_up(i: Instruction, c: Call) -> Step:
    """In order, from the start on."""
    add = in_mode(i, *BINARY["fadd"])

    def f(start: Value, x: Value) -> Value:
        for lane in x:
            start = add(start, lane)
        return start

    return _defined(i, c, f)


def _defined(i: Instruction, c: Call, f: Callable[..., Value]) -> Step:
    """f of operands that must be defined in whole."""

    def step(r: list[Any]) -> None:
        r[i.result] = f(*(i.plain(r[k], "an operand") for k in c.operands))

    return step


# ---------------------------------------------------------------- lanes that others choose


def permute(i: Instruction, c: Call) -> Step:
    """avx2.permps and avx512.permvar: lanes of a vector, chosen by the low bits of indices."""
    a, index = c.operands
    return _choose(i, [a], index)


def permute_two(i: Instruction, c: Call) -> Step:
    """avx512.vpermi2var: lanes of two vectors."""
    a, index, b = c.operands
    return _choose(i, [a, b], index)


def _choose(i: Instruction, sources: Operands, index: int) -> Step:
    def step(r: list[Any]) -> None:
        split = [parts(r[k]) for k in sources]
        chosen, unknown, why = parts(r[index])
        lanes = np.concatenate([x for x, _, _ in split])
        masks = np.concatenate([np.broadcast_to(np.asarray(mask, bool), len(x)) for x, mask, _ in split])
        at = chosen.astype(np.int64) & (len(lanes) - 1)
        reason = why or next((reason for _, _, reason in split if reason), "")
        r[i.result] = whole(lanes[at], masks[at] | unknown, reason)

    return step


# ---------------------------------------------------------------- memory


def prefetch(i: Instruction, c: Call) -> Step:
    """Of any address that is known: it is in no tensor, often, and nothing depends on it."""
    address, *_ = c.operands

    def step(r: list[Any]) -> None:
        i.plain(r[address], "the address")

    return step


def _lane_pointers(i: Instruction, pointer: Value, mask: Value, align: int, nbytes: int) -> list[tuple[int, Value]]:
    """The lanes in the mask, and where each of them lies."""
    at = np.flatnonzero(i.plain(mask, "the mask")).tolist()
    if not at:
        return []
    p = i.plain(pointer, "the address")
    if p.address % align:
        raise i.fail(f"the address 0x{p.address:x} is no multiple of {align}")
    return [(k, Pointer(p.address + k * nbytes, p.allocation, p.bases)) for k in at]


def masked_load(i: Instruction, c: Call) -> Step:
    pointer, align, mask, instead = c.operands
    type = c.result
    assert isinstance(type, Vector)
    nbytes, memory = size(type.element), i.machine.memory

    def step(r: list[Any]) -> None:
        lanes, masks, why = parts(r[instead])
        lanes, masks = lanes.copy(), np.broadcast_to(np.asarray(masks, bool), type.count).copy()
        for k, p in _lane_pointers(i, r[pointer], r[mask], r[align], nbytes):
            lanes[k], masks[k] = memory.load(p, type.element, 1, i.fail), False
        r[i.result] = whole(lanes, masks, why)

    return step


def masked_store(i: Instruction, c: Call) -> Step:
    value, pointer, align, mask = c.operands
    type = c.types[0]
    assert isinstance(type, Vector)
    nbytes, memory = size(type.element), i.machine.memory

    def step(r: list[Any]) -> None:
        lanes, masks, why = parts(r[value])
        for k, p in _lane_pointers(i, r[pointer], r[mask], r[align], nbytes):
            lane = Poison(lanes[k], True, why) if masks is not False and masks[k] else lanes[k]
            memory.store(p, type.element, lane, 1, i.fail)

    return step


def fill(i: Instruction, c: Call) -> Step:
    to, byte, count, _ = c.operands

    def step(r: list[Any]) -> None:
        nbytes = i.plain(r[count], "the size")
        if nbytes:
            allocation, at = i.machine.memory.check(r[to], nbytes, 1, True, i.fail)
            values = Vector("", nbytes, integer(8))
            i.machine.memory.write(allocation, at, values, np.full(nbytes, i.plain(r[byte], "the byte"), "u1"), i.fail)

    return step


def copy(i: Instruction, c: Call) -> Step:
    to, source, count, _ = c.operands
    moves = c.words[0] == "memmove"

    def step(r: list[Any]) -> None:
        i.machine.memory.copy(r[to], r[source], i.plain(r[count], "the size"), moves, i.fail)

    return step


# ---------------------------------------------------------------- the machine


def mode(i: Instruction, c: Call) -> Step:
    """x86's stmxcsr and ldmxcsr, of memory."""
    (pointer,) = c.operands
    memory, control, word = i.machine.memory, i.machine.control, integer(32)

    def read(r: list[Any]) -> None:
        memory.store(r[pointer], word, control.value, 1, i.fail)

    def write(r: list[Any]) -> None:
        if wrong := control.set(memory.load(r[pointer], word, 1, i.fail)):
            raise i.fail(wrong)

    return read if c.words[0] == "st" else write


def mode_of_arm(i: Instruction, c: Call) -> Step:
    control = i.machine.control

    def read(r: list[Any]) -> None:
        r[i.result] = 0

    def write(r: list[Any]) -> None:
        if wrong := control.set(i.plain(r[c.operands[0]], "the mode"), arm=True):
            raise i.fail(wrong)

    return read if c.words[0] == "get" else write


def assume(i: Instruction, c: Call) -> Step:
    def step(r: list[Any]) -> None:
        if not i.plain(r[c.operands[0]], "what is assumed"):
            raise i.fail("does not hold")

    return step


RULES: list[tuple[str, Builder]] = [
    (r"llvm\.(fabs|sqrt|floor|ceil|rint|trunc)\.(?:v\d+)?f(?:32|64)", unary),
    (r"llvm\.fma\.(?:v\d+)?f(?:32|64)", fused),
    (r"llvm\.vector\.reduce\.(smax|or)\.v\d+i\d+", reduce),
    (r"llvm\.vector\.reduce\.fadd\.v\d+f\d+", add_up),
    (r"llvm\.x86\.avx2\.permps", permute),
    (r"llvm\.x86\.avx512\.permvar\.sf\.512", permute),
    (r"llvm\.x86\.avx512\.vpermi2var\.(?:ps|qi)\.512", permute_two),
    (r"llvm\.prefetch\.p0", prefetch),
    (r"llvm\.masked\.load\.v\d+[fi]\d+\.p0", masked_load),
    (r"llvm\.masked\.store\.v\d+[fi]\d+\.p0", masked_store),
    (r"llvm\.memset\.p0\.i64", fill),
    (r"llvm\.(memcpy|memmove)\.p0\.p0\.i64", copy),
    (r"llvm\.x86\.sse\.(st|ld)mxcsr", mode),
    (r"llvm\.aarch64\.(get|set)\.fpcr", mode_of_arm),
    (r"llvm\.assume", assume),
]
