"""How the names of an optimizer are spelled in equations: each differently, and at which step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from optgen.expressions import Name, walk
from optgen.model import COUNTS, DIMENSIONS, EPSILON, Optimizer
from optgen.symbolic.shown import GRADIENT, loops, starts
from optgen.symbolic.symbols import GREEK, Symbol, is_letter, symbol


class Time(Enum):
    """The step that the value of a name belongs to."""

    NONE = "none"
    OLD = "old"  # t - 1
    NEW = "new"  # t
    EVALUATED = "evaluated"  # the weights that `eval:` computes


class Names:
    """The symbols of names. `evaluate`: in the equations of weights to evaluate with."""

    def __init__(self, optimizer: Optimizer, *, evaluate: bool) -> None:
        self.evaluate = evaluate
        self.words = {*(f.name for f in optimizer.flags), "sparse"}
        self.states = {s.name for s in optimizer.states} | {"w"}
        indices = {loop.index for e in optimizer.update for loop in loops(e) if loop.index is not None}
        self.bare = {*optimizer.all_params, *(d.name for d in optimizer.dims), *indices, EPSILON, *COUNTS, *DIMENSIONS}
        self.ids = self.states | self.bare | {e.target.id for e in (*optimizer.update, *optimizer.evaluate)}
        self.symbols = self._spelled([n for n in _names(optimizer) if n.id not in self.words])

    def of(self, name: Name) -> tuple[Symbol, Time]:
        """The symbol of a name and its step."""
        return self._at_step(name, self.symbols.get(name.id) or symbol(name.id))

    def _at_step(self, name: Name, parts: Symbol) -> tuple[Symbol, Time]:
        time = self.time(name)
        # `lr_t` names its step already, unless `lr` itself would be written like that.
        if time is Time.NEW and parts.subscripts[-1:] == ("t",):
            stem = name.id.removesuffix("_t")
            if stem not in self.ids or stem in self.bare:
                time = Time.NONE
        return parts, time

    def time(self, name: Name) -> Time:
        if name.id in self.states:
            if name.primed:
                return Time.EVALUATED if self.evaluate else Time.NEW
            return Time.NEW if self.evaluate else Time.OLD
        return Time.NONE if name.id in self.bare else Time.NEW

    def _spelled(self, names: list[Name]) -> dict[str, Symbol]:
        """A symbol for each name: the shortest one that no other name looks like."""
        prefixes = _prefixes({n.id for n in names})
        forms = {n.id: _forms(n.id, prefixes) for n in names}
        while True:
            looks: dict[Symbol, set[str]] = {}
            for name in names:
                looks.setdefault(_look(*self._at_step(name, forms[name.id][0])), set()).add(name.id)
            alike = [{id for id in ids if len(forms[id]) > 1} for ids in looks.values() if len(ids) > 1]
            longer = {id for ids in alike for id in [x for x in ids if len(forms[x]) > 2] or ids}
            if not longer:
                return {id: symbols[0] for id, symbols in forms.items()}
            for id in longer:
                del forms[id][0]


def _forms(id: str, prefixes: set[str]) -> list[Symbol]:
    """The symbols that a name may have, the shortest first: without its prefix, with it as a subscript, spelled out."""
    prefix, _, rest = id.partition("_")
    if prefix in prefixes and rest:
        parts = symbol(rest)
        if is_letter(parts.base):
            return [parts, replace(parts, subscripts=(*parts.subscripts, prefix)), Symbol(id)]
        return [Symbol(id)]
    return [symbol(id), Symbol(id)]


def _prefixes(ids: set[str]) -> set[str]:
    """The names of parts that the names of a spec begin with, as `adam` of `adam_beta1` and `adam_m`: words that begin
    several names, one of which goes on with a Greek letter."""
    split = [
        (prefix, rest)
        for prefix, _, rest in (id.partition("_") for id in ids)
        if rest and not is_letter(symbol(prefix).base)
    ]
    several = {prefix for prefix, n in Counter(prefix for prefix, _ in split).items() if n > 1}
    return {prefix for prefix, rest in split if prefix in several and symbol(rest).base in GREEK}


def _look(parts: Symbol, time: Time) -> Symbol:
    """A symbol and its step as a reader sees them."""
    return (
        parts
        if time is Time.NONE
        else replace(parts, subscripts=(*parts.subscripts, {Time.NEW: "t"}.get(time, time.value)))
    )


def _names(optimizer: Optimizer) -> Iterator[Name]:
    """The names that are shown: those of equations, guards and conditions of flags."""
    lines = (*starts(optimizer, {}), *optimizer.update, *optimizer.evaluate)
    conditions = (f.condition for f in optimizer.flags if f.condition is not None)
    yield from (line.target for line in lines)
    for expr in (*(line.value for line in lines), *optimizer.guards(), *conditions, GRADIENT.value):
        yield from (e for e in walk(expr) if isinstance(e, Name))
