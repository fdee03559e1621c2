"""Leaves out what an update has no use for: what only equations read of which none is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from optgen.expressions import Name, walk
from optgen.model import Equation, Program


def live(program: Program) -> Program:
    """A program with the equations that the weight and the states depend on."""
    kept_names = {"w", *(s.name for s in program.states)}
    kept = {k for k, e in enumerate(program.equations) if e.target.primed and e.target.id in kept_names}
    while True:
        read = {name for k in kept for name in _reads(program.equations[k])}
        more = {k for k, e in enumerate(program.equations) if not read.isdisjoint(_known_as(e))} - kept
        if not more:
            return replace(program, equations=tuple(e for k, e in enumerate(program.equations) if k in kept))
        kept |= more


def _reads(equation: Equation) -> Iterator[str]:
    yield from (x.array_key for x in walk(equation.value) if isinstance(x, Name))
    if equation.loop is not None and equation.target.primed:
        yield equation.target.id  # what the first turn carries


def _known_as(equation: Equation) -> tuple[str, ...]:
    """The names by which others read what an equation computes: in the next turn of a loop without its prime."""
    target = equation.target
    carried = equation.loop is not None and target.primed
    return (target.array_key, target.id) if carried else (target.array_key,)
