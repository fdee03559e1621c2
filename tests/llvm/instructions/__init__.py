"""The instructions by opcode: what makes a step of each. A family is a file with a table, BUILDERS."""

from __future__ import annotations

from collections.abc import Callable

from tests.llvm.instruction import Instruction, Step
from tests.llvm.instructions import call, convert, floating, integer, memory, vector

BUILDERS: dict[str, Callable[[Instruction], Step]] = {
    opcode: build for family in (integer, floating, convert, vector, memory, call) for opcode, build in family.BUILDERS
}
