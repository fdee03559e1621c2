"""Two optimizers side by side: the equations that differ, their arguments, what a step costs, what follows from the
equations, and their race.

The first one has the sign `-`, and the second one `+`. Names of the second one are those that the first one has for the
same thing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from optgen import api, pipeline, specfiles, tables
from optgen.analysis import Statement, Verdict, equal
from optgen.analysis.answers import QUESTIONS
from optgen.analysis.subject import subject_of
from optgen.execute.rule import UpdateRule
from optgen.facts import fact
from optgen.ir.cost import cost
from optgen.model import PHASE, Flags, Optimizer
from optgen.races import baselines, task
from optgen.races.baselines import Baseline
from optgen.races.contender import called
from optgen.races.results import Race
from optgen.symbolic.difference import Difference, SpecVariant, difference
from optgen.symbolic.renaming import Renames, with_names
from optgen.symbolic.written import expression

SHAPES = (tables.LARGE, (math.prod(tables.LARGE),), (4, *tables.LARGE))
"""The shapes of a parameter whose update is compared: the first one that an optimizer takes."""


@dataclass(frozen=True)
class Compared:
    """One of two optimizers. `name` is what it was called. `values` are the arguments that it was given."""

    name: str
    optimizer: Optimizer
    values: Mapping[str, Any] = field(default_factory=dict)

    @fact
    def rule(self) -> UpdateRule:
        return api.load(self.optimizer, "float32", **self.values)

    @fact
    def shape(self) -> tuple[int, ...]:
        """That of the parameter. ValueError if the optimizer takes none of SHAPES."""
        refused: ValueError | None = None
        for shape in SHAPES:
            try:
                self.rule.variant(shape)
            except ValueError as error:
                refused = refused or error
            else:
                return shape
        assert refused is not None
        raise refused

    @fact
    def flags(self) -> Flags:
        """The flags of its variant, in all phases."""
        return {name: x for name, x in self.rule.variant(self.shape).flags.items() if name != PHASE}

    @property
    def comes_along(self) -> bool:
        """Whether it is a spec that comes with optgen, with its usual arguments."""
        return not self.values and self.name in (*specfiles.all_available(), *specfiles.without_folder())

    @property
    def baseline(self) -> Baseline | None:
        """Its stored race, if it comes along."""
        return baselines.read(self.name) if self.comes_along else None


@dataclass(frozen=True)
class StepCosts:
    """What a float32 step costs for each element of a large parameter with these arguments. `sweeps` is None where
    there are products of matrices, whose `products` are floating-point operations."""

    bytes_moved: float
    state_bytes: float
    sweeps: int | None
    products: float


@dataclass(frozen=True)
class Answers:
    """What is said of a question of the two, where that differs."""

    question: str
    first: tuple[Statement, ...]
    second: tuple[Statement, ...]


@dataclass(frozen=True)
class Comparison:
    """Two optimizers, and how they differ.

    `arguments` are names with the defaults, or the given values, of both; None where one has no such argument.
    `states` are rows of those that differ, each with its sign. `same` are the questions with the same answers. `equal`
    says at which arguments the two make the same updates. `race` is None if one of them has no stored baseline, and
    `stale` names those whose baselines are out of date.
    """

    first: Compared
    second: Compared
    equations: Difference
    arguments: tuple[tuple[str, str | None, str | None], ...]
    states: tuple[tuple[str, ...], ...]
    costs: tuple[StepCosts, StepCosts]
    answers: tuple[Answers, ...]
    same: tuple[str, ...]
    equal: tuple[Statement, ...]
    race: Race | None
    stale: tuple[str, ...]

    __str__: ClassVar[Callable[[Comparison], str]]
    _repr_html_: ClassVar[Callable[[Comparison], str]]
    """All of it, in lines of at most 80 columns, and as tables for a notebook. `shown.py` sets them."""

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON's types."""
        names = (self.first.name, self.second.name)
        return {
            "optimizers": list(names),
            "renamed": dict(self.equations.names),
            "equations": [{"sign": sign, "text": text} for sign, text in self.equations.rows()],
            "arguments": {name: values for name, *values in self.arguments},
            "states": [list(row) for row in self.states],
            "costs": {name: vars(costs) for name, costs in zip(names, self.costs, strict=True)},
            "analysis": [_answers_json(x) for x in self.answers],
            "same": list(self.same),
            "equal": [s.to_json() for s in self.equal],
            "race": None if self.race is None else _race_json(self.race),
            "stale": list(self.stale),
        }


def _answers_json(own: Answers) -> dict[str, Any]:
    return {"question": own.question} | {
        key: [s.to_json() for s in found] for key, found in (("first", own.first), ("second", own.second))
    }


def _race_json(race: Race) -> list[dict[str, Any]]:
    ranked = ((info.name, rank, entry) for info in race.tasks for rank, entry in race.ranks(info.name))
    return [
        {
            "task": name,
            "contender": entry.contender,
            "rank": rank,
            "rate": entry.best_rate,
            "losses": list(entry.losses),
        }
        for name, rank, entry in ranked
    ]


# ---------------------------------------------------------------- comparing


def compare(a: str | os.PathLike[str] | Optimizer, b: str | os.PathLike[str] | Optimizer) -> Comparison:
    """Compare two optimizers: names, paths or chains, with arguments in brackets as `sgd(momentum=0.9)`, or what
    `optgen.parse` returned.

    Raises SpecErrors, FileNotFoundError, and ValueError for wrong arguments.
    """
    first, second = _named(a), _named(b)
    found = difference(*(SpecVariant(x.optimizer, x.flags, x.rule.values) for x in (first, second)))
    answers, same = _answers(_statements(first), _statements(second), found.names)
    race, stale = _race(first, second)
    return Comparison(
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
    subject = subject_of(own.optimizer, own.values)
    return {question: tuple(answer(subject)) for question, answer in QUESTIONS if question != equal.QUESTION}


def _answers(
    a: Mapping[str, tuple[Statement, ...]], b: Mapping[str, tuple[Statement, ...]], names: Renames
) -> tuple[tuple[Answers, ...], tuple[str, ...]]:
    """The answers that differ, and the questions with the same ones."""
    found = {q: Answers(q, a[q], b[q]) for q in a}
    differ = [q for q in a if [_key(s, {}) for s in a[q]] != [_key(s, names) for s in b[q]]]
    return tuple(found[q] for q in differ), tuple(q for q in a if q not in differ and a[q])


def _equal(a: Compared, b: Compared) -> tuple[Statement, ...]:
    """At which arguments the two make the same updates, where at least one of them comes along."""
    for own, other in ((a, b), (b, a)):
        if other.comes_along:
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
