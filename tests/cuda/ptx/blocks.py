"""A function as basic blocks of steps, and what each block reads and leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.instructions import build
from tests.cuda.ptx.parse import Function, Statement

# The first registers of every function, which the machine fills in. The last two are no names of PTX: where the
# thread's shared and local memory begin in the host's memory.
SPECIAL = {
    name: (index, np.dtype(dtype))
    for index, (name, dtype) in enumerate(
        {
            "%tid.x": np.uint32,
            "%ntid.x": np.uint32,
            "%ctaid.x": np.uint32,
            "%nctaid.x": np.uint32,
            "%laneid": np.uint32,
            "%shared": np.uint64,
            "%local": np.uint64,
        }.items()
    )
}
HIDDEN = ("%shared", "%local")
# A register that no later step of a block reads is emptied after at most so many steps: memory in use stays in caches.
FORGET = 64


class Scope:
    """The names of one function: registers, parameters by (name, byte offset), offsets of shared and local arrays."""

    writable = len(SPECIAL)

    def __init__(self, function: Function, symbols: dict[str, int], callee: Callable[[str, int], Code]) -> None:
        self.function = function
        self.callee = callee
        self.parameters: dict[tuple[str, int], int] = {}
        self._symbols = symbols
        self._registers = {name: found for name, found in SPECIAL.items() if name not in HIDDEN}
        self.count = len(SPECIAL)
        for prefix, count, dtype in function.registers:
            for name in (prefix,) if count is None else (f"{prefix}{k}" for k in range(count)):
                self._registers[name] = (self.count, dtype)
                self.count += 1

    def register(self, name: str) -> tuple[int, np.dtype] | None:
        return self._registers.get(name)

    def symbol(self, name: str) -> int | None:
        return self._symbols.get(name)

    @staticmethod
    def base(space: str) -> int:
        """The register that holds where the thread's shared or local memory begins."""
        return SPECIAL[f"%{space}"][0]

    def parameter(self, name: str, offset: int) -> int:
        """The register that stands for bytes of a parameter, made at first use."""
        if (name, offset) not in self.parameters:
            self.parameters[name, offset] = self.count
            self.count += 1
        return self.parameters[name, offset]


@dataclass(frozen=True)
class Branch:
    """Where a block leads: to `target` for threads whose predicate holds, else to `after`; None is the end."""

    target: int | None
    after: int | None = None
    predicate: int | None = None
    negated: bool = False


@dataclass
class Block:
    """Steps without a branch.

    `wait` is the first instruction if threads meet there; `reads` names, for each register read before it is written
    here, the first instruction that does; `leaves` are the registers written here that some block reads.
    """

    first: Statement
    steps: list[Step] = field(default_factory=list)
    count: int = 0
    wait: Instruction | None = None
    reads: dict[int, Instruction] = field(default_factory=dict)
    writes: set[int] = field(default_factory=set)
    leaves: tuple[int, ...] = ()
    branch: Branch = field(default_factory=lambda: Branch(None))


@dataclass(frozen=True)
class Code:
    """A function ready to run."""

    function: Function
    scope: Scope
    blocks: list[Block]


def compile(function: Function, scope: Scope) -> Code:
    """The blocks of a function; PtxError for what is not known."""
    pieces, labels = _cut(function)
    blocks = [_block(piece, number, labels, len(pieces), scope) for number, piece in enumerate(pieces)]
    results = {index for (name, _), index in scope.parameters.items() if name in {r.name for r in function.results}}
    wanted = results.union(*(block.reads for block in blocks))
    for block in blocks:
        block.leaves = tuple(sorted(block.writes & wanted))
    return Code(function, scope, blocks)


MEETING = ("bar.", "barrier.", "shfl.", "vote.")
ENDING = ("bra", "ret", "exit")


def _cut(function: Function) -> tuple[list[list[Statement]], dict[str, int]]:
    """Statements cut before labels and meetings of threads, and behind branches; the piece that each label names."""
    pieces: list[list[Statement]] = [[]]
    labels: dict[str, int] = {}
    for statement in function.statements:
        root = statement.opcode.partition(".")[0]
        if pieces[-1] and (not statement.opcode or statement.opcode.startswith(MEETING)):
            pieces.append([])
        if not statement.opcode:
            if statement.operands[0] in labels:
                raise PtxError(f"line {statement.line}: the label {statement.operands[0]} is there twice")
            labels[statement.operands[0]] = len(pieces) - 1
            continue
        pieces[-1].append(statement)
        if root in ENDING:
            pieces.append([])
    return pieces, labels


def _block(piece: list[Statement], number: int, labels: dict[str, int], count: int, scope: Scope) -> Block:
    """Build one piece. Running past the last one is the end, as `ret` is."""
    after = number + 1 if number + 1 < count else None
    if not piece:
        last = Statement(scope.function.line, "the end", "", "", ())
        return Block(last, branch=Branch(after))
    block = Block(piece[0], count=len(piece), branch=Branch(after))
    built: list[Instruction] = []
    for statement in piece:
        instruction = Instruction(statement, scope)
        built.append(instruction)
        if statement.opcode.partition(".")[0] in ENDING:
            block.branch = _branch(instruction, labels, after)
        elif statement.guard:
            raise instruction.fail("only a branch may have a predicate")
        else:
            block.steps.append(_whole(build(instruction), instruction))
        for register in instruction.reads:
            if register not in block.writes:
                block.reads.setdefault(register, instruction)
        block.writes.update(instruction.writes)
    block.wait = built[0] if built[0].barrier or built[0].group_mask else None
    block.steps = _forgetting(block.steps, built, block)
    return block


def _branch(instruction: Instruction, labels: dict[str, int], after: int | None) -> Branch:
    statement = instruction.statement
    if statement.opcode in ("ret", "ret.uni", "exit"):
        instruction.expect(0)
        if statement.guard:
            raise instruction.fail("only a branch may have a predicate")
        if statement.opcode == "exit" and not instruction.scope.function.entry:
            raise instruction.fail("only an .entry may exit")
        return Branch(None)
    if statement.opcode not in ("bra", "bra.uni"):
        raise instruction.fail("is not known")
    instruction.expect(1)
    if statement.operands[0] not in labels:
        raise instruction.fail("there is no such label in this function")
    target = labels[statement.operands[0]]
    if not statement.guard:
        return Branch(target)
    name = statement.guard.removeprefix("!")
    instruction.read(name, "pred")
    return Branch(target, after, instruction.reads[0], statement.guard.startswith("!"))


def _whole(step: Step, instruction: Instruction) -> Step:
    """Where no register is read, the result is one element: give every thread its own."""
    if instruction.reads or not instruction.writes:
        return step
    writes = tuple(instruction.writes)

    def whole(registers: Registers, group: object) -> None:
        step(registers, group)  # type: ignore[arg-type]
        for index in writes:
            registers[index] = np.broadcast_to(registers[index], group.count).copy()  # type: ignore[attr-defined]

    return whole


def _forgetting(steps: list[Step], built: list[Instruction], block: Block) -> list[Step]:
    """The steps, and among them some that empty what no step reads any more. `leaves` is known later, so they ask."""
    last = {index: k for k, instruction in enumerate(built) for index in (*instruction.reads, *instruction.writes)}
    dead: dict[int, list[int]] = {}
    for index in block.writes:
        dead.setdefault(last[index] // FORGET, []).append(index)
    result: list[Step] = []
    for k, start in enumerate(range(0, len(steps), FORGET)):
        result += steps[start : start + FORGET]
        if start + FORGET < len(steps) and k in dead:
            result.append(_forget(dead[k], block))
    return result


def _forget(dead: list[int], block: Block) -> Step:
    kept: list[int] | None = None

    def forget(registers: Registers, group: object) -> None:
        nonlocal kept
        if kept is None:
            leaves = set(block.leaves)
            kept = [index for index in dead if index not in leaves]
        for index in kept:
            registers[index] = None

    return forget


def predicate_of(branch: Branch, registers: Registers) -> np.ndarray:
    """Which threads take the branch."""
    value: np.ndarray = registers[branch.predicate]
    return ~value if branch.negated else value
