"""What threads do together: shuffles, votes, barriers; and calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group


def shuffle(i: Instruction, mode: str) -> Step:
    """The value of another lane, or the thread's own beyond the clamp; the predicate says which."""
    i.expect(5)
    name, _, flag = (x.strip() for x in i.operands[0].partition("|"))
    a, b, c, mask = i.source(1, "b32"), i.source(2, "u32"), i.source(3, "u32"), i.source(4, "u32")
    d = i.target(name, "b32")
    p = i.target(flag, "pred") if flag else None
    i.group_mask = mask

    def step(registers: Registers, group: Group) -> None:
        lane = group.lane
        by, clamp = (x(registers).astype(np.int64) for x in (b, c))
        by, clamp, segment = by & 31, clamp & 31, (clamp >> 8) & 31
        least = lane & segment
        most = least | (clamp & ~segment)
        if mode == "up":
            source = lane - by
            valid = source >= most
        else:
            source = {"down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment)}[mode]
            valid = source <= most
        source = np.where(valid, source, lane)
        absent = (mask(registers) >> source.astype(np.uint32)) & 1 == 0
        if absent.any():
            first = int(np.argmax(absent))
            raise i.fail(f"thread {group.threads[first]} reads lane {source[first]}, which is not in the mask")
        value = a(registers)
        registers[d] = np.broadcast_to(value, group.count)[group.positions(source)]
        if p is not None:
            registers[p] = valid

    return step


def vote(i: Instruction, mode: str, type: str) -> Step:
    """Over the lanes of the mask."""
    i.expect(3)
    if (mode == "ballot") != (type == "b32"):
        raise i.fail("ballot gives b32, the others a predicate")
    own, mask, d = i.predicate(i.operands[1]), i.source(2, "u32"), i.dest(type)
    i.group_mask = mask

    def step(registers: Registers, group: Group) -> None:
        members = np.broadcast_to(mask(registers), group.count)
        ballot = group.ballot(np.broadcast_to(own(registers), group.count), members)
        registers[d] = {"ballot": ballot, "any": ballot != 0, "all": ballot == members}[mode]

    return step


def barrier(i: Instruction) -> Step:
    """All threads of the CTA."""
    if i.operands != ("0",):
        raise i.fail("only barrier 0, of all threads, is known")
    i.barrier = True

    def step(registers: Registers, group: Group) -> None:
        group.machine.passed_barrier(group)

    return step


def warp_barrier(i: Instruction) -> Step:
    """The lanes of a mask."""
    i.expect(1)
    i.group_mask = i.source(0, "u32")

    def step(registers: Registers, group: Group) -> None:
        group.machine.passed_barrier(group, of_warp=True)

    return step


def nothing(i: Instruction, *modifiers: str) -> Step:
    """A fence: here every thread sees each store at once."""
    return lambda registers, group: None


def trap(i: Instruction) -> Step:
    i.expect(0)

    def step(registers: Registers, group: Group) -> None:
        raise i.fail(f"thread {group.threads[0]} comes to a trap")

    return step


def call(i: Instruction) -> Step:
    """`call (result), name, (arguments)` of a function of this module, through parameters in registers."""
    names = [x for x in i.operands if not x.startswith("(")]
    if len(names) != 1 or not re.match(r"[A-Za-z_$][\w$.]*$", names[0]):
        raise i.fail("is no call of a function by its name")
    at = i.operands.index(names[0])
    results, arguments = (
        [x.strip() for text in part for x in text[1:-1].split(",") if x.strip()]
        for part in (i.operands[:at], i.operands[at + 1 :])
    )
    code = i.scope.callee(names[0], i.statement.line)
    function = code.function
    if len(arguments) != len(function.parameters) or len(results) != len(function.results):
        raise i.fail(f"{names[0]} takes {len(function.parameters)} and gives {len(function.results)}")
    into = _pairs(i, arguments, [p.name for p in function.parameters], code.scope.parameters)
    back = _pairs(i, results, [p.name for p in function.results], code.scope.parameters)
    i.reads += [outer for outer, _ in into]
    i.writes += [outer for outer, _ in back]

    def step(registers: Registers, group: Group) -> None:
        given = {inner: registers[outer] for outer, inner in into}
        result = group.machine.run(code, group.threads, given)
        for outer, inner in back:
            registers[outer] = result.value(inner, i).copy()

    return step


def _pairs(
    i: Instruction, outer: list[str], inner: list[str], known: dict[tuple[str, int], int]
) -> list[tuple[int, int]]:
    """(register here, register there) for every piece of the parameters that the function knows."""
    here = dict(zip(inner, outer, strict=True))
    return [(i.scope.parameter(here[name], offset), index) for (name, offset), index in known.items() if name in here]


RULES = [
    (r"shfl\.sync\.(idx|up|down|bfly)\.b32", shuffle),
    (r"vote\.sync\.(any|all|ballot)\.(pred|b32)", vote),
    (r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?", barrier),
    (r"bar\.warp\.sync", warp_barrier),
    (r"membar\.(gl|cta|sys)|fence(?:\.(acq_rel|sc))?(?:\.(gpu|cta|sys))", nothing),
    (r"trap", trap),
    (r"call(?:\.uni)?", call),
]
