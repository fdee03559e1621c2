"""Arithmetic and comparisons of floats, as IEEE 754 has them, or in the flushing mode."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.llvm.control import flushed, zeroed
from tests.llvm.instruction import Instruction, Step, elementwise
from tests.llvm.types import Float, Type, Vector
from tests.llvm.values import Value

FAST = {"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"}


def check_float(i: Instruction, type: Type) -> None:
    """Refuse what is no float, or one whose arithmetic CPUs differ in."""
    element = type.element if isinstance(type, Vector) else type
    if not isinstance(element, Float) or element.name in ("half", "bfloat"):
        raise i.fail(f"arithmetic of {type} is not known")


def refuse_fast(i: Instruction) -> None:
    if i.peek in FAST:
        raise i.fail(f"the flag {i.peek} is not known: what it permits differs from machine to machine")


def in_mode(i: Instruction, f: Callable[..., Value], exact: Callable[..., Fraction] | None) -> Callable[..., Value]:
    """f in whatever mode there is; `exact` is the function without rounding, None where no result is tiny."""
    control, dynamic = i.machine.control, i.scope.is_dynamic

    def g(*args: Value) -> Value:
        if not control.flushes:
            return f(*args)
        if not dynamic:
            raise i.fail("computes in the flushing mode, and the function has no denormal-fp-math of dynamic")
        args = tuple(map(zeroed, args))
        result = f(*args)
        return result if exact is None else flushed(result, exact, *args)

    return g


BINARY: dict[str, tuple[Any, Any]] = {
    "fadd": (np.add, operator.add),
    "fsub": (np.subtract, operator.sub),
    "fmul": (np.multiply, operator.mul),
    "fdiv": (np.divide, operator.truediv),
}


def arithmetic(i: Instruction) -> Step:
    refuse_fast(i)
    type, a, b = i.pair()
    check_float(i, type)
    return elementwise(i, in_mode(i, *BINARY[i.opcode]), a, b)


def negate(i: Instruction) -> Step:
    """The other sign, of NaN too."""
    refuse_fast(i)
    type, a = i.typed()
    check_float(i, type)
    return elementwise(i, operator.neg, a)


def _unordered(x: Value, y: Value) -> Any:
    return (x != x) | (y != y)


ORDERED = {
    "eq": operator.eq,
    "ne": lambda x, y: (x < y) | (x > y),
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge")},
}
PREDICATES: dict[str, Callable[[Value, Value], Any]] = {
    **{f"o{name}": f for name, f in ORDERED.items()},
    **{f"u{name}": lambda x, y, f=f: f(x, y) | _unordered(x, y) for name, f in ORDERED.items()},
    "ord": lambda x, y: (x == x) & (y == y),
    "uno": _unordered,
}


def compare(i: Instruction) -> Step:
    refuse_fast(i)
    predicate = i.next()
    if predicate not in PREDICATES:
        raise i.fail(f"the comparison {predicate} is not known")
    type, a, b = i.pair()
    check_float(i, type)
    f = in_mode(i, PREDICATES[predicate], None)
    return elementwise(i, f if isinstance(type, Vector) else lambda x, y: bool(f(x, y)), a, b)


BUILDERS = [*((opcode, arithmetic) for opcode in BINARY), ("fneg", negate), ("fcmp", compare)]
