"""Two optimizers side by side: the equations that differ, their arguments, what a step costs, what follows from the
equations, and their race.

The first one has the sign `-`, and the second one `+`. Names of the second one are those that the first one has for the
same thing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from optgen import api, specfiles, tables
from optgen.analysis import Statement
from optgen.execute.rule import UpdateRule
from optgen.facts import fact
from optgen.model import PHASE, Flags, Optimizer
from optgen.races import baselines
from optgen.races.baselines import Baseline
from optgen.races.results import Race
from optgen.symbolic.difference import Difference

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
    def is_shipped(self) -> bool:
        """Whether it is a spec that comes with optgen, with its usual arguments."""
        return not self.values and specfiles.ships(self.name)

    @property
    def baseline(self) -> Baseline | None:
        """Its stored race, if it is shipped."""
        return baselines.read(self.name) if self.is_shipped else None


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
