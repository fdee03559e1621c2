"""A function as blocks of steps: names as numbers of registers, ends as ways to the next block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.llvm.errors import LlvmError
from tests.llvm.instruction import Instruction, Step
from tests.llvm.instructions import BUILDERS
from tests.llvm.parse import Function
from tests.llvm.types import integer
from tests.llvm.values import Value

if TYPE_CHECKING:
    from tests.llvm.run import Machine

FRAME, RETURNED = 0, 1
"""The first registers of every function: the call itself, and what it returns."""
DYNAMIC = '"denormal-fp-math"="dynamic,dynamic"'


class Scope:
    """The registers of one function, by name; `template` has the constants among them."""

    def __init__(self, function: Function, machine: Machine) -> None:
        self.function, self.machine = function, machine
        self.template: list[Value] = [None, None]
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[type, Any], int] = {}

    def register(self, name: str) -> int:
        """The register of a name, made at first use."""
        if name not in self._names:
            self._names[name] = len(self.template)
            self.template.append(None)
        return self._names[name]

    def constant(self, value: Value) -> int:
        """A register that holds the value from the start; one for all equal integers."""
        key = (type(value), value if isinstance(value, int) else id(value))
        if key not in self._constants:
            self._constants[key] = len(self.template)
            self.template.append(value)
        return self._constants[key]

    def undefined(self, defined: set[str]) -> set[str]:
        """The names that are used and not defined."""
        return set(self._names) - defined

    @property
    def is_dynamic(self) -> bool:
        """Whether the function says that it computes in whatever mode of subnormals there is."""
        return DYNAMIC in self.function.attributes


@dataclass
class Block:
    """Steps, and the `end`, which gives the next block, or None where the function returns. `phis` are registers, and
    for each the registers that it is set from, by the label of the block that was left."""

    label: str
    count: int
    phis: list[tuple[Instruction, dict[str, int]]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    end: Callable[[list[Any]], Block | None] = lambda registers: None

    def enter(self, registers: list[Any], left: str) -> None:
        """Set the phis, all at once."""
        try:
            values = [registers[sources[left]] for _, sources in self.phis]
        except KeyError:
            raise self.phis[0][0].fail(f"says nothing of the block {left}, which was left") from None
        for (phi, _), value in zip(self.phis, values, strict=True):
            registers[phi.result] = value


@dataclass(frozen=True)
class Code:
    """A function ready to run."""

    function: Function
    first: Block
    template: list[Value]
    parameters: list[int]


def compile(function: Function, machine: Machine) -> Code:
    """The blocks of a function; LlvmError for what is not known."""
    scope = Scope(function, machine)
    parameters = [scope.register(p.name) for p in function.parameters]
    blocks = {label: Block(label, len(lines)) for label, lines in function.blocks.items()}
    defined = {p.name for p in function.parameters}
    for label, lines in function.blocks.items():
        for k, line in enumerate(lines):
            defined |= _add(blocks[label], Instruction(line, scope), blocks, ends=k == len(lines) - 1)
    if missing := scope.undefined(defined):
        raise LlvmError(f"{function.name}, line {function.line}: {', '.join(sorted(missing))}: used and never set")
    return Code(function, next(iter(blocks.values())), scope.template, parameters)


def _add(block: Block, i: Instruction, blocks: dict[str, Block], ends: bool) -> set[str]:
    """Add an instruction to its block; the names that it defines."""
    if i.opcode in ENDS:
        block.end = ENDS[i.opcode](i, blocks)
    elif i.opcode == "phi":
        if block.steps:
            raise i.fail("a phi behind other instructions")
        block.phis.append((i, _phi(i)))
    elif i.opcode in BUILDERS:
        block.steps.append(BUILDERS[i.opcode](i))
    else:
        raise i.fail(f"the instruction {i.opcode} is not known")
    i.end()
    if ends != (i.opcode in ENDS):
        raise i.fail("a block ends with one instruction that leaves it")
    return {i.tokens[0][1:].strip('"')} if i.result >= 0 else set()


def _phi(i: Instruction) -> dict[str, int]:
    type, found = i.type(), {}
    while not found or i.take(","):
        i.expect("[")
        value = i.operand(type)
        i.expect(",")
        found[i.name()] = value
        i.expect("]")
    return found


# ---------------------------------------------------------------- ends

End = Callable[[list[Any]], Block | None]


def _label(i: Instruction, blocks: dict[str, Block]) -> Block:
    i.expect("label")
    name = i.name()
    if name not in blocks:
        raise i.fail(f"there is no block {name}")
    return blocks[name]


def branch(i: Instruction, blocks: dict[str, Block]) -> End:
    if i.peek == "label":
        target = _label(i, blocks)
        i.metadata({"!llvm.loop"})
        return lambda registers: target
    type, condition = i.typed()
    if type != integer(1):
        raise i.fail(f"branches on {type}")
    i.expect(",")
    yes = _label(i, blocks)
    i.expect(",")
    no = _label(i, blocks)
    i.metadata({"!llvm.loop"})

    def end(registers: list[Any]) -> Block:
        return yes if i.plain(registers[condition], "the condition") else no

    return end


def ret(i: Instruction, blocks: dict[str, Block]) -> End:
    if i.take("void"):
        return lambda registers: None
    type, value = i.typed()
    if type != i.scope.function.result:
        raise i.fail(f"returns {type}, not {i.scope.function.result}")

    def end(registers: list[Any]) -> None:
        registers[RETURNED] = registers[value]

    return end


def unreachable(i: Instruction, blocks: dict[str, Block]) -> End:
    def end(registers: list[Any]) -> None:
        raise i.fail("was reached")

    return end


ENDS: dict[str, Callable[[Instruction, dict[str, Block]], End]] = {
    "br": branch,
    "ret": ret,
    "unreachable": unreachable,
}
