"""Arithmetic and comparisons of integers. They wrap, and what `nuw`, `nsw` and `exact` exclude is undefined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.llvm.instruction import Instruction, Step, elementwise, lanewise
from tests.llvm.types import POINTER, Int, Type, Vector
from tests.llvm.values import Value, signed, whole

Wrong = Callable[[Value, Value, Value], Any]


def bits_of(i: Instruction, type: Type) -> int:
    """The bits of an integer, or of the lanes of a vector of them."""
    element = type.element if isinstance(type, Vector) else type
    if not isinstance(element, Int):
        raise i.fail(f"{type} is no type of integers")
    return element.bits


def _checked(i: Instruction, f: Callable[[Value, Value], Value], wrong: dict[str, Wrong], *operands: int) -> Step:
    """f, whose result is undefined where one of `wrong` holds of the operands and the result."""
    if not wrong:
        return elementwise(i, f, *operands)

    def g(x: Value, y: Value) -> Value:
        result = f(x, y)
        for flag, holds in wrong.items():
            found = holds(x, y, result)
            if found is not False and np.any(found):
                mask = found.astype(bool) if isinstance(found, np.ndarray) else True
                return whole(result, mask, i.why(f"{flag} is broken by {x} and {y}"))
        return result

    return elementwise(i, g, *operands)


def _wide(op: Callable[[int, int], int], bits: int, with_sign: bool) -> Wrong:
    """Whether the exact result of numbers is out of the range of the type."""
    low, high = (-(1 << bits - 1), 1 << bits - 1) if with_sign else (0, 1 << bits)

    def outside(x: int, y: int) -> bool:
        if with_sign:
            x, y = signed(x, bits), signed(y, bits)
        return not low <= op(x, y) < high

    def wrong(x: Value, y: Value, _: Value) -> Any:
        if isinstance(x, np.ndarray):
            return np.array([outside(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
        return outside(x, y)

    return wrong


def arithmetic(i: Instruction) -> Step:
    op = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[i.opcode]
    flags = i.flags({"nuw", "nsw"})
    type, a, b = i.pair()
    bits = bits_of(i, type)
    if bits == 1:
        raise i.fail("arithmetic of single bits is not known")
    ones = (1 << bits) - 1
    wrong = {flag: _wide(op, bits, flag == "nsw") for flag in sorted(flags)}
    return _checked(i, lambda x, y: op(x, y) & ones, wrong, a, b)


def bitwise(i: Instruction) -> Step:
    op = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[i.opcode]
    disjoint = i.opcode == "or" and i.take("disjoint")
    type, a, b = i.pair()
    bits_of(i, type)
    return _checked(i, op, {"disjoint": lambda x, y, _: x & y} if disjoint else {}, a, b)


def divide(i: Instruction) -> Step:
    """Towards zero. A zero divisor, and a quotient that does not fit, are errors."""
    flags = i.flags({"exact"}) if "div" in i.opcode else set()
    type, a, b = i.pair()
    bits = bits_of(i, type)
    with_sign = i.opcode[0] == "s"

    def one(x: int, y: int) -> int:
        if y == 0:
            raise i.fail("the divisor is zero")
        if with_sign:
            x, y = signed(x, bits), signed(y, bits)
            if y == -1 and x == -(1 << bits - 1):
                raise i.fail(f"{x}/{y} does not fit {type}")
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return (quotient if "div" in i.opcode else x - y * quotient) % (1 << bits)

    def f(x: Value, y: Value) -> Value:
        return lanewise(one, x, y)

    def inexact(x: Value, y: Value, q: Value) -> Any:
        return lanewise(lambda p, r, s: (s * r - p) % (1 << bits) != 0, x, y, q)

    step = _checked(i, f, {"exact": inexact} if flags else {}, a, b)

    def defined(r: list[Any]) -> None:
        i.plain(r[b], "the divisor")
        step(r)

    return defined


def shift(i: Instruction) -> Step:
    """By less than the width: all else is undefined."""
    left, arithmetic = i.opcode == "shl", i.opcode == "ashr"
    flags = i.flags({"nuw", "nsw"} if left else {"exact"})
    type, a, b = i.pair()
    bits = bits_of(i, type)
    ones = (1 << bits) - 1

    def to_right(x: Value, by: Value, with_sign: bool) -> Value:
        if isinstance(x, np.ndarray):
            return signed(x, bits) >> signed(by, bits) if with_sign else x >> by
        return (signed(x, bits) if with_sign else x) >> by

    def shifted(x: Value, by: Value) -> Value:
        if left:
            return x << by & ones
        found = to_right(x, by, arithmetic)
        return found.view(x.dtype) if isinstance(x, np.ndarray) else found & ones

    def lost(x: Value, by: Value, result: Value, with_sign: bool) -> Any:
        near = _near(by, bits)
        return to_right(result, near, with_sign) != (signed(x, bits) if with_sign else x)

    wrong: dict[str, Wrong] = {"the width": lambda x, by, _: by >= bits}
    if "nuw" in flags:
        wrong["nuw"] = lambda x, by, result: lost(x, by, result, False)
    if "nsw" in flags:
        wrong["nsw"] = lambda x, by, result: lost(x, by, result, True)
    if "exact" in flags:
        wrong["exact"] = lambda x, by, result: (result << _near(by, bits) & ones) != x
    return _checked(i, lambda x, by: shifted(x, _near(by, bits)), wrong, a, b)


def _near(by: Value, bits: int) -> Value:
    return np.minimum(by, by.dtype.type(bits - 1)) if isinstance(by, np.ndarray) else min(by, bits - 1)


COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{f"{kind}{name}": getattr(operator, name) for kind in "us" for name in ("lt", "le", "gt", "ge")},
}


def compare(i: Instruction) -> Step:
    predicate = i.next()
    if predicate not in COMPARISONS:
        raise i.fail(f"the comparison {predicate} is not known")
    op = COMPARISONS[predicate]
    type, a, b = i.pair()
    if type == POINTER:
        if predicate[0] == "s":
            raise i.fail("pointers have no sign")
        return elementwise(i, lambda x, y: op(x.address, y.address), a, b)
    bits = bits_of(i, type)
    if predicate[0] == "s":
        return elementwise(i, lambda x, y: op(signed(x, bits), signed(y, bits)), a, b)
    return elementwise(i, op, a, b)


BUILDERS = [
    *((opcode, arithmetic) for opcode in ("add", "sub", "mul")),
    *((opcode, bitwise) for opcode in ("and", "or", "xor")),
    *((opcode, divide) for opcode in ("udiv", "sdiv", "urem", "srem")),
    *((opcode, shift) for opcode in ("shl", "lshr", "ashr")),
    ("icmp", compare),
]
