"""How two optimizers are compared: their equations, arguments and states, costs, what follows from the equations, and
their race."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from optgen import pipeline, tables
from optgen.analysis import Statement, Verdict, equal
from optgen.analysis.answers import QUESTIONS, answered
from optgen.analysis.subject import subject_of
from optgen.comparing.comparison import Answers, Compared, StepCosts
from optgen.comparing.shown import ShownComparison
from optgen.ir.cost import cost
from optgen.model import PHASE, Flags, Optimizer
from optgen.races import task
from optgen.races.contender import called
from optgen.races.results import Race
from optgen.symbolic.difference import SpecVariant, difference
from optgen.symbolic.renaming import Renames, with_names
from optgen.symbolic.written import expression


def compare(a: str | os.PathLike[str] | Optimizer, b: str | os.PathLike[str] | Optimizer) -> ShownComparison:
    """Compare two optimizers: names, paths or chains, with arguments in brackets as `sgd(momentum=0.9)`, or what
    `optgen.parse` returned.

    Raises SpecErrors, FileNotFoundError, and ValueError for wrong arguments.
    """
    first, second = _named(a), _named(b)
    found = difference(*(SpecVariant(x.optimizer, x.flags, x.rule.values) for x in (first, second)))
    answers, same = _answers(_statements(first), _statements(second), found.names)
    race, stale = _race(first, second)
    return ShownComparison(
        first=first,
        second=second,
        equations=found,
        arguments=tuple(_arguments(first, second, found.names)),
        states=tuple(_states(first, second, found.second)),
        costs=(_costs(first), _costs(second)),
        answers=answers,
        same=same,
        equal=_equal(first, second),
        race=race,
        stale=stale,
    )


def _named(spec: str | os.PathLike[str] | Optimizer) -> Compared:
    if isinstance(spec, Optimizer):
        return Compared(spec.name, spec)
    line = " ".join(os.fspath(spec).split())
    _, optimizer, values = called(line)
    return Compared(line, optimizer, values)


def _arguments(a: Compared, b: Compared, names: Renames) -> Iterator[tuple[str, str | None, str | None]]:
    """The arguments whose values differ, or that one of both lacks."""
    first = dict(_values(a, {}))
    second = dict(_values(b, names))
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield name, first.get(name), second.get(name)


def _values(own: Compared, names: Renames) -> Iterator[tuple[str, str]]:
    """The values of arguments that some equation reads, and the rate to begin with."""
    optimizer = own.optimizer
    for name, param in optimizer.all_params.items():
        if name in optimizer.reads and not param.given:
            value = own.rule.values[name]
            yield names.get(name, name), "none" if value is None else f"{value:.15g}"
    for flag in optimizer.flags:
        if flag.condition is None:
            chosen = own.rule.flags[flag.name]
            yield flag.name, chosen if isinstance(chosen, str) else str(chosen).lower()
    yield "lr_hint", "none" if optimizer.lr_hint is None else f"{optimizer.lr_hint:g}"
    yield "schedule", "own" if optimizer.has_own_schedule else "usual"


def _states(a: Compared, b: Compared, second: Optimizer) -> Iterator[tuple[str, ...]]:
    """The states of the variants that differ: sign, name, how many values of what, how it starts."""
    first_rows, second_rows = (
        [row[:3] for row in tables.states(spec) if row[0] in {s.name for s in spec.states_of(flags)}]
        for spec, flags in ((a.optimizer, _in_phase(a)), (second, _in_phase(b)))
    )
    for row in first_rows:
        if row not in second_rows:
            yield ("-", *row)
        yield from (("+", *x) for x in second_rows if x[0] == row[0] and x not in first_rows)
    own = {row[0] for row in first_rows}
    yield from (("+", *row) for row in second_rows if row[0] not in own)


def _in_phase(own: Compared) -> Flags:
    return own.rule.variant(own.shape).flags


def _costs(own: Compared) -> StepCosts:
    rule, shape, elements = own.rule, own.shape, math.prod(own.shape)
    phases: list[Flags] = [{PHASE: phase} for phase in own.optimizer.phases] or [{}]
    memory = tables.state_bytes(rule, shape)
    if rule.takes_whole(shape):
        moved, products = (sum(of(shape, x) for x in phases) / elements for of in (rule.bytes_moved, rule.flops))
        return StepCosts(moved, memory, None, products)
    found = [cost(pipeline.plan(pipeline.build(own.optimizer, rule.variant(shape, flags=x)))) for x in phases]
    return StepCosts(sum(x.bytes for x in found), memory, sum(x.sweeps for x in found), 0.0)


# ---------------------------------------------------------------- what follows from the equations


def _statements(own: Compared) -> dict[str, tuple[Statement, ...]]:
    """The answers to each question, but to which specs it equals: that is asked of the other one alone."""
    found = answered(subject_of(own.optimizer, own.values), equalities=False)
    return {question: tuple(found.of(question)) for question, _ in QUESTIONS if question != equal.QUESTION}


def _answers(
    a: Mapping[str, tuple[Statement, ...]], b: Mapping[str, tuple[Statement, ...]], names: Renames
) -> tuple[tuple[Answers, ...], tuple[str, ...]]:
    """The answers that differ, and the questions with the same ones."""
    found = {q: Answers(q, a[q], b[q]) for q in a}
    differ = [q for q in a if [_key(s, {}) for s in a[q]] != [_key(s, names) for s in b[q]]]
    return tuple(found[q] for q in differ), tuple(q for q in a if q not in differ and a[q])


def _equal(a: Compared, b: Compared) -> tuple[Statement, ...]:
    """At which arguments the two make the same updates, where optgen ships at least one of them."""
    for own, other in ((a, b), (b, a)):
        if other.is_shipped:
            return tuple(s for s in equal.among(own.optimizer, [other.name]) if s.verdict is not Verdict.UNDECIDED)
    return ()


def _key(statement: Statement, names: Renames) -> tuple[Any, ...]:
    """What a statement claims, whatever names it has."""
    formula = statement.formula
    return statement.claim, None if formula is None else expression(with_names(formula, names)), statement.curve


# ---------------------------------------------------------------- their race


def _race(a: Compared, b: Compared) -> tuple[Race | None, tuple[str, ...]]:
    """The stored entries of both in the tasks that both have, and the names of baselines that are out of date."""
    found = [x for x in (a.baseline, b.baseline) if x is not None]
    if len(found) < 2 or a.name == b.name:
        return None, ()
    tasks = [x.task for x in found[0].entries if x.task in {y.task for y in found[1].entries}]
    entries = tuple(x for own in found for x in own.entries if x.task in tasks)
    race = Race(tuple(map(task.info, tasks)), entries, "") if tasks else None
    return race, tuple(x.name for x in found if x.is_stale)
