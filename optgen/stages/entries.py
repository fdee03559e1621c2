"""Entries of histories, and arrays that loops fill, as the names of stages have them.

The oldest entry of a history has the name of the state, whose place the new one takes. An array `a` is `a[]`. In the
turn that sets an element, that is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from optgen.expressions import Expr, Index, Name, Number, children, walk, with_children
from optgen.ir.buffers import entry_index
from optgen.lang.loops import loops_around
from optgen.model import Equation, Loop, Program
from optgen.stages.normalize import ARRAY, is_array


@dataclass(frozen=True)
class FilledArray:
    """An array that a loop fills: how many elements it has, a number or a param, and the name of the turn's number."""

    entries: str
    turn: str


def filled_arrays(program: Program) -> dict[str, FilledArray]:
    """The arrays of a program, by name."""
    found = {}
    for equation in program.equations:
        at = equation.target.at
        if at is not None:
            ((turn, _),) = at.terms
            (loop,) = (x for x in loops_around(equation.loop) if x.index == turn)
            assert isinstance(loop.count, Name | Number)
            count = loop.count.id if isinstance(loop.count, Name) else str(int(loop.count.value))
            found[equation.target.id] = FilledArray(count, turn)
    return found


def renamed(program: Program) -> Program:
    """A program with the names that stages have."""
    entries = {s.name: s.entries for s in program.states if s.entries}
    arrays = {e.target.id: e for e in program.equations if e.target.at is not None}

    def name(x: Name, loop: Loop | None) -> Name:
        if x.id in arrays:
            own = arrays[x.id].target.at == x.at and arrays[x.id].loop == loop
            return replace(x, id=x.id + ARRAY, at=None if own else x.at)
        if x.at is not None and entry_index(x.at, entries[x.id]) == Index(0):
            return replace(x, at=None)
        return x

    def expr(x: Expr, loop: Loop | None) -> Expr:
        return name(x, loop) if isinstance(x, Name) else with_children(x, [expr(y, loop) for y in children(x)])

    def equation(e: Equation) -> Equation:
        return replace(e, target=name(e.target, e.loop), value=expr(e.value, e.loop))

    return replace(program, equations=tuple(map(equation, program.equations)))


def entries_read(equations: tuple[Equation, ...]) -> Iterator[Name]:
    """The entries and elements that equations read by an index."""
    for equation in equations:
        yield from (e for e in walk(equation.value) if isinstance(e, Name) and e.at is not None)


def conflicts(equations: tuple[Equation, ...]) -> Mapping[str, str]:
    """The keys of entries that may be the oldest of their histories in some turn, with the names of these."""
    found = (x for x in entries_read(equations) if x.at is not None and x.at.terms and not is_array(x))
    return {x.key: x.id for x in found}
