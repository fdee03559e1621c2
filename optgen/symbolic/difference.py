"""Which equations of two optimizers differ: those of the first one, and of the second one with its names as the first
one has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from optgen.model import Flags, Optimizer
from optgen.symbolic.renaming import corresponding, renamed
from optgen.symbolic.render import EquationLine
from optgen.symbolic.shown import Values, equations
from optgen.symbolic.unicode import Unicode, equation, relation_column

SAME, LESS, MORE = " ", "-", "+"
"""Signs of lines: those of both optimizers, of the first one, and of the second one."""


@dataclass(frozen=True)
class SpecVariant:
    """What is compared: the equations of an optimizer with these flags and params."""

    optimizer: Optimizer
    flags: Flags
    values: Values


@dataclass(frozen=True)
class Difference:
    """The equations of two optimizers. `lines` have a sign each. `names` are those of the second one that another name
    stands for. `second` is the second optimizer with these names."""

    lines: tuple[tuple[str, EquationLine], ...]
    names: Mapping[str, str]
    second: Optimizer

    @property
    def is_none(self) -> bool:
        """Whether all equations are the same."""
        return all(sign == SAME for sign, _ in self.lines)

    def rows(self, columns: int | None = None) -> list[tuple[str, str]]:
        """The lines as Unicode text, each with its sign; broken if they are wider than `columns`, if it is given."""
        column = relation_column([line for _, line in self.lines])
        return [(sign, text) for sign, line in self.lines for text in equation(line, column, columns)]


def difference(a: SpecVariant, b: SpecVariant) -> Difference:
    """The equations of two optimizers, and which of them differ."""
    of_a, of_b = (
        [e for evaluate in (False, True) for e in equations(x.optimizer, x.flags, x.values, evaluate=evaluate)]
        for x in (a, b)
    )
    names = corresponding(a.optimizer, b.optimizer, of_a, of_b)
    second = renamed(b.optimizer, names)
    both = _joined(a.optimizer, second)
    first_lines = _lines(a, both)
    second_lines = _lines(SpecVariant(second, b.flags, b.values), both)
    return Difference(tuple(_merged(first_lines, second_lines)), names, second)


def _joined(a: Optimizer, b: Optimizer) -> Optimizer:
    """An optimizer with the names of both, so that each name is spelled in one way."""
    own = {p.name for p in a.params} | {s.name for s in a.states} | {i.name for i in a.inputs}
    return replace(
        a,
        params=a.params + tuple(p for p in b.params if p.name not in own),
        states=a.states + tuple(s for s in b.states if s.name not in own),
        inputs=a.inputs + tuple(i for i in b.inputs if i.name not in own),
        update=a.update + b.update,
        evaluate=a.evaluate + b.evaluate,
    )


def _lines(variant: SpecVariant, both: Optimizer) -> list[EquationLine]:
    found: list[EquationLine] = []
    for evaluate in (False, True):
        shown = equations(variant.optimizer, variant.flags, variant.values, evaluate=evaluate)
        found += Unicode(both, evaluate=evaluate).lines(shown)
    return found


def _merged(first: Sequence[EquationLine], second: Sequence[EquationLine]) -> list[tuple[str, EquationLine]]:
    """The lines of both. One of the second alone stands below that of the first with its target, else below the line
    that stands above it in the second."""
    shared = Counter(first) & Counter(second)
    found = _signed(first, shared, LESS)
    at = 0
    for sign, line in _signed(second, shared, MORE):
        if sign == SAME:
            at = found.index((SAME, line), at if (SAME, line) in found[at:] else 0) + 1
            continue
        others = [i for i, (s, x) in enumerate(found) if s == LESS and x.target == line.target]
        replaced = [i for i in others if i + 1 == len(found) or found[i + 1][0] != MORE]
        at = replaced[0] + 1 if replaced else at
        found.insert(at, (MORE, line))
        at += 1
    return found


def _signed(lines: Sequence[EquationLine], shared: Counter[EquationLine], own: str) -> list[tuple[str, EquationLine]]:
    """Lines with the sign for those that both have, or of one alone."""
    left, found = shared.copy(), []
    for line in lines:
        found.append((SAME if left[line] else own, line))
        left[line] -= left[line] > 0
    return found
