"""The table of instructions: patterns of opcodes, each with the function that builds the step.

A builder takes the instruction and the groups of its pattern. An opcode that no pattern matches is not known; for some
of these, REFUSED says why.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from tests.cuda.ptx.instruction import Instruction, Step
from tests.cuda.ptx.instructions import compare, convert, floating, integer, memory, move, warp

Builder = Callable[..., Step]
RULES: list[tuple[str, Builder]] = [
    rule for module in (floating, integer, compare, convert, move, memory, warp) for rule in module.RULES
]
REFUSED = [
    (r".*\.ftz\b.*", "flushes denormals"),
    (r".*\.(?:approx|full)\b.*", "is not correctly rounded"),
    (r"(?:add|sub|mul)\.f\d\d(?:x2)?", "has no .rn, so that ptxas may fuse it with another into one fma"),
    (r"fma\.\w+\.f64", "is not implemented: NumPy has no fused multiply-add of float64"),
    (r"(?:add|sub|mul|div|fma|sqrt|rcp)\.(?:rz|rm|rp)\..*", "does not round to nearest"),
]


def build(instruction: Instruction) -> Step:
    """The step of an instruction; PtxError where it is not known, or its operands are not what it takes."""
    builder, groups = _find(instruction.statement.opcode)
    if builder is None:
        raise instruction.fail(_reason(instruction.statement.opcode))
    return builder(instruction, *groups)


@functools.cache
def _find(opcode: str) -> tuple[Builder | None, tuple[str, ...]]:
    for pattern, builder in RULES:
        if match := re.fullmatch(pattern, opcode):
            return builder, match.groups()
    return None, ()


def _reason(opcode: str) -> str:
    for pattern, reason in REFUSED:
        if re.fullmatch(pattern, opcode):
            return f"{opcode} {reason}"
    return f"the instruction {opcode} is not known"
