"""Comparisons and selections."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.types import FLOATS

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group

Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]
ORDERED: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
# "or unordered": true where the opposite ordered comparison is false.
UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
COMBINE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _comparison(i: Instruction, name: str, type: str) -> Compare:
    if type in FLOATS:
        if name == "ne":
            # NumPy's != is true for NaNs; PTX's ne is not.
            return lambda a, b: (a < b) | (a > b)
        if name == "neu":
            return np.not_equal
        if name == "equ":
            return lambda a, b: ~((a < b) | (a > b))
        if name in UNORDERED:
            opposite = ORDERED[UNORDERED[name]]
            return lambda a, b: ~opposite(a, b)
        if name == "num":
            return lambda a, b: (a == a) & (b == b)
        if name == "nan":
            return lambda a, b: (a != a) | (b != b)
    elif type.startswith("u"):
        name = UNSIGNED_NAMES.get(name, name)
    if name not in ORDERED or (type.startswith("b") and name not in ("eq", "ne")):
        raise i.fail(f"{name} is no comparison of {type}")
    return ORDERED[name]


def setp(i: Instruction, name: str, combine: str | None, type: str) -> Step:
    """`p|q` takes the comparison and its contrary, each combined with the last operand."""
    i.expect(4 if combine else 3)
    compare = _comparison(i, name, type)
    a, b = i.source(1, type), i.source(2, type)
    other = i.predicate(i.operands[3]) if combine else None
    p, *q = (i.target(x.strip(), "pred") for x in i.operands[0].split("|"))
    mix = COMBINE[combine] if combine else None
    if not q:

        def plain(registers: Registers, group: Group) -> None:
            result = compare(a(registers), b(registers))
            registers[p] = result if mix is None or other is None else mix(result, other(registers))

        return plain

    def step(registers: Registers, group: Group) -> None:
        result = compare(a(registers), b(registers))
        both = (result, ~result)
        if mix is not None and other is not None:
            c = other(registers)
            both = (mix(both[0], c), mix(both[1], c))
        registers[p], registers[q[0]] = both

    return step


def selp(i: Instruction, type: str) -> Step:
    """Moves bits, whatever the type."""
    i.expect(4)
    raw = [type if not x.startswith("%") else f"b{type[1:]}" for x in i.operands[1:3]]
    a, b, p, d = i.source(1, raw[0]), i.source(2, raw[1]), i.source(3, "pred"), i.dest(type)
    bits = np.dtype(f"u{int(type[1:]) // 8}")

    def step(registers: Registers, group: Group) -> None:
        registers[d] = np.where(p(registers), a(registers).view(bits), b(registers).view(bits))

    return step


RULES = [
    (r"setp\.(\w+)(?:\.(and|or|xor))?\.([sub](?:16|32|64)|f16|f32|f64)", setp),
    (r"selp\.([sub](?:16|32|64)|f32|f64)", selp),
]
