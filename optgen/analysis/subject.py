"""What is analyzed: a spec with arguments, and its equations for a parameter of one shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optgen import api, groups
from optgen.analysis.folding import folded
from optgen.execute.rule import UpdateRule
from optgen.expressions import Expr, Name, walk
from optgen.facts import fact
from optgen.model import PHASE, Flags, Optimizer, Program

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((4, 3), (6,), (2, 3, 2), (160, 144))
"""The shapes of a parameter that are tried, in this order, as a spec may be for some only."""

LARGE = 1000


@dataclass(frozen=True)
class Subject:
    """A spec with arguments, for a parameter of one shape. `flags` are those of its variant, in the first phase."""

    rule: UpdateRule
    shape: Shape
    flags: Flags

    @property
    def spec(self) -> Optimizer:
        return self.rule.spec

    @property
    def values(self) -> Mapping[str, float | None]:
        """The values of params."""
        return self.rule.values

    @fact
    def programs(self) -> tuple[Program, ...]:
        """The equations of an update in which all is computed, phase by phase."""
        phases = [{PHASE: phase} for phase in self.spec.phases] or [{}]
        return tuple(self.spec.program({**self.flags, **phase}) for phase in phases)

    @fact
    def reads(self) -> frozenset[str]:
        """The names that the equations read; those that `g` stands for, too."""
        values = [e.value for p in self.programs for e in p.equations]
        names = {e.id for value in values for e in walk(value) if isinstance(e, Name)}
        return frozenset(names | ({"rescale_grad", "grad", "clip_gradient"} if "g" in names else set()))

    @fact
    def phases(self) -> list[list[tuple[str, Expr]]]:
        """The targets and values of equations, phase by phase, without params that are 0."""
        return [[(e.target.key, folded(e.value, self.values)) for e in p.equations] for p in self.programs]

    @property
    def is_large(self) -> bool:
        """Whether a spec needs a matrix so large that a run of thousands of updates takes minutes."""
        return math.prod(self.shape) > LARGE

    @property
    def is_straight(self) -> bool:
        """Whether every update computes the same equations once each."""
        return not self.spec.timings and all(e.loop is None for p in self.programs for e in p.equations)

    def with_values(self, **values: Any) -> Subject:
        """The subject with other values of some params, for the same shape; ValueError if the spec refuses them."""
        chosen = {f.name: self.rule.flags[f.name] for f in self.spec.flags if f.condition is None}
        return subject_of(self.spec, {**self.values, **chosen, **values}, (self.shape,))


def subject_of(spec: Optimizer, values: Mapping[str, Any], shapes: tuple[Shape, ...] = SHAPES) -> Subject:
    """What is analyzed of a spec with arguments as of `optgen.load`; ValueError and TypeError for bad ones."""
    known = {name: x for name, x in values.items() if not _is_unread(spec, name, x)}
    rule = api.load(spec, "float64", **known)
    refused: ValueError | None = None
    for shape in shapes:
        try:
            flags = rule.variant(shape).flags
            groups.sizes(spec.program(flags).groups, shape, rule.values)
        except ValueError as error:
            refused = refused or error
        else:
            return Subject(rule, shape, flags)
    assert refused is not None
    raise refused


def _is_unread(spec: Optimizer, name: str, value: Any) -> bool:
    """Whether an argument is one of a reserved param that the spec does not read, at its default."""
    param = spec.all_params.get(name)
    return param is not None and (param.given or name not in spec.reads) and value == param.default
