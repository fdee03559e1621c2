"""Draws that later phases of a step read: the same numbers, which are drawn anew and kept nowhere."""

from __future__ import annotations

from dataclasses import replace

from optgen.expressions import Name, walk
from optgen.functions.table import is_draw
from optgen.lang.parser import Broken, Draft
from optgen.model import Equation


def keep_draws(draft: Draft) -> None:
    """Have phases define the draws of phases above that they read. The place of a draw in the text says which numbers
    it has, and these lines keep it."""
    drawn: dict[str, list[Equation]] = {}
    kept: dict[str | None, list[Equation]] = {}
    for phase in draft.phases:
        own = [x for x in draft.update if isinstance(x, Equation) and x.phase == phase]
        cases: dict[str, list[Equation]] = {}
        for line in own:
            if not line.target.primed:
                cases.setdefault(line.target.id, []).append(line)
        read = {x.id for line in own for x in walk(line.value) if isinstance(x, Name) and not x.primed}
        kept[phase] = [replace(x, phase=phase) for name in drawn if name in read - cases.keys() for x in drawn[name]]
        drawn |= cases
        drawn = {name: x for name, x in drawn.items() if all(is_draw(e.value) and e.loop is None for e in x)}
    lines: list[Equation | Broken] = []
    within = None
    for item in draft.update:
        if isinstance(item, Equation) and item.phase != within:
            within = item.phase
            lines += kept.get(within, ())
        lines.append(item)
    draft.update = lines
