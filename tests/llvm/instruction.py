"""An instruction on its way to a step: its operands as numbers of registers, and ways to compute with them.

A step is `step(registers)`. It never changes an array in place. Constants are registers that are filled before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.llvm.errors import LlvmError
from tests.llvm.parse import Cursor, Line
from tests.llvm.types import Type
from tests.llvm.values import Poison, Value, constant, parts, whole

if TYPE_CHECKING:
    from tests.llvm.code import Scope
    from tests.llvm.run import Machine

Step = Callable[[list[Any]], None]


class Instruction(Cursor):
    """The tokens of a line within its function, from behind the opcode on; `result` is the register that it sets."""

    def __init__(self, line: Line, scope: Scope) -> None:
        super().__init__(line.text, line.number, scope.machine.parsed.structs)
        self.scope, self.block = scope, line.block
        self.machine: Machine = scope.machine
        self.result = -1
        if self.tokens[1:2] == ["="]:
            self.result = scope.register(self.name())
            self.expect("=")
        self.opcode = self.next()

    def fail(self, message: str) -> LlvmError:
        where = f"{self.scope.function.name}, block {self.block}, line {self.line}" if hasattr(self, "scope") else ""
        return LlvmError(f"{where or f'line {self.line}'}: {self.text}: {message}")

    def why(self, message: str) -> str:
        """What a Poison says that this instruction made."""
        return f"line {self.line}: {self.text}: {message}"

    def operand(self, type: Type) -> int:
        """The register of the value that comes next."""
        if self.peek.startswith("%"):
            return self.scope.register(self.name())
        return self.scope.constant(constant(self, type, self.machine.symbols))

    def typed(self) -> tuple[Type, int]:
        """A type and a value of it."""
        type = self.type()
        return type, self.operand(type)

    def pair(self) -> tuple[Type, int, int]:
        """A type and two values of it."""
        type, a = self.typed()
        self.expect(",")
        return type, a, self.operand(type)

    def alignment(self, usual: int) -> int:
        """`, align N` if it comes next."""
        return self.number() if self.take(",", "align") else usual

    def metadata(self, known: set[str]) -> dict[str, str]:
        """What follows of `, !name !number`; the text of each."""
        found = {}
        while self.peek == ",":
            self.expect(",")
            name, number = self.next(), self.next()
            if name not in known or number not in self.machine.parsed.metadata:
                raise self.fail(f"the metadata {name} {number} is not known")
            found[name] = self.machine.parsed.metadata[number]
        return found

    def plain(self, value: Value, use: str) -> Value:
        """The value, which must be defined."""
        if value.__class__ is Poison:
            raise self.fail(f"{use} is undefined: {value.why}")
        return value


def elementwise(i: Instruction, f: Callable[..., Value], *operands: int) -> Step:
    """A step that applies f to numbers or to vectors of them. Where one of the operands is undefined, so is the result;
    f may give a Poison, too."""
    result = i.result

    def undefined(values: list[Value]) -> Value:
        split = [parts(x) for x in values]
        found, mask, why = parts(f(*(value for value, _, _ in split)))
        for _, other, reason in split:
            if other is not False:
                mask, why = (other if mask is False else mask | other), reason
        return whole(found, mask, why)

    if len(operands) == 1:
        (a,) = operands

        def one(r: list[Any]) -> None:
            x = r[a]
            r[result] = undefined([x]) if x.__class__ is Poison else f(x)

        return one
    if len(operands) == 2:
        a, b = operands

        def two(r: list[Any]) -> None:
            x, y = r[a], r[b]
            r[result] = undefined([x, y]) if x.__class__ is Poison or y.__class__ is Poison else f(x, y)

        return two

    def step(r: list[Any]) -> None:
        values = [r[k] for k in operands]
        r[result] = undefined(values) if any(x.__class__ is Poison for x in values) else f(*values)

    return step


def lanewise(f: Callable[..., Value], *values: Value) -> Value:
    """f of numbers, or of each lane of vectors, which gives a vector of the type of the first."""
    if not isinstance(values[0], np.ndarray):
        return f(*values)
    return np.array([f(*lane) for lane in zip(*(x.tolist() for x in values), strict=True)], values[0].dtype)
