"""The lines of a checked spec: what is declared, and the equations. `model.Optimizer` has them all.

A line knows nothing of others: which names there are, and which lines a variant has, is known to the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from optgen.axes import ELEMENTS, Axes, Dimensioned, When, param_of
from optgen.diagnostics import Span
from optgen.expressions import Expr, Name, Number, walk
from optgen.facts import fact


def _names(expr: Expr) -> frozenset[str]:
    """The names in an expression."""
    return frozenset(e.id for e in walk(expr) if isinstance(e, Name))


# ---------------------------------------------------------------- declarations


@dataclass(frozen=True)
class Interval:
    """An interval of numbers, such as `[low, high)`."""

    low: float
    high: float
    low_open: bool
    high_open: bool

    def __contains__(self, x: float) -> bool:
        above = x > self.low if self.low_open else x >= self.low
        below = x < self.high if self.high_open else x <= self.high
        return above and below

    def __str__(self) -> str:
        return f"{'(' if self.low_open else '['}{self.low:g}, {self.high:g}{')' if self.high_open else ']'}"


@dataclass(frozen=True)
class Param:
    """A hyper-parameter: a host double that may change between steps.

    With a `default` of None it may stay unset. `zero_off`: 0 means unset. `given`: it is an input that has no value but
    what each step is given. `per_param`: each parameter may have a value of its own, which is then no shared value.
    `follows_lr`: an optimizer whose `lr` a schedule changes changes it by the same factor.
    """

    name: str
    default: float | int | None
    span: Span = field(compare=False)
    optional: bool = False  # declared `= none`
    interval: Interval | None = None
    is_int: bool = False
    aliases: tuple[str, ...] = ()
    zero_off: bool = False
    doc: str = ""
    given: bool = False
    per_param: bool = False
    follows_lr: bool = False


@dataclass(frozen=True)
class Flag:
    """A flag chooses code. It is one of these:

    - a constructor argument that is true or false: `default` is a bool, `choices` is empty, `condition` is None;
    - a constructor argument with `choices`: `default` is the first of them;
    - derived: `condition` is over params, other flags, choices, `p set` or sizes; `default` is None.
    """

    name: str
    span: Span = field(compare=False)
    default: bool | str | None = None
    choices: tuple[str, ...] = ()
    condition: Expr | None = None
    per_param: bool = False
    doc: str = ""

    @fact
    def names(self) -> frozenset[str]:
        """The names that the condition reads; none without one."""
        return frozenset() if self.condition is None else _names(self.condition)


@dataclass(frozen=True)
class StateDecl(Dimensioned):
    """The declaration of a state, which is kept between steps. Its `axes` are rows, cols and int params, or a group.

    `init` is a Number, the Name of a param, or the Name `w`: the state has this value when it is made. Any other
    expression is its value before the equations of the first update (`Optimizer.start`).
    """

    name: str
    axes: Axes
    known: When
    init: Expr
    guard: Expr | None
    span: Span = field(compare=False)
    doc: str = ""
    entries: int | str = 0  # of a history: how many it keeps, or the int param that says it
    for_users: bool = False  # it is for people who read it, and no line need

    @property
    def fixed(self) -> tuple[str, ...]:
        """What its memory depends on beside the sizes of the parameter: int params, which cannot change."""
        named = (*map(param_of, self.axes), self.entries)
        return tuple(name for name in named if isinstance(name, str))


@dataclass(frozen=True)
class Input(Dimensioned):
    """A further tensor, which is only read. Its `axes` are rows, cols and int params; without others it has the shape
    of `w`."""

    name: str
    span: Span = field(compare=False)
    doc: str = ""
    axes: Axes = ELEMENTS
    known: When = When.TENSOR

    @property
    def fixed(self) -> tuple[str, ...]:
        """The int params that its memory depends on."""
        return tuple(name for axis in self.axes if (name := param_of(axis)) is not None)


@dataclass(frozen=True)
class Dim:
    """A dimension that follows from params and the sizes of a parameter (`dim r = min(k, rows, cols)`)."""

    name: str
    value: Expr
    span: Span = field(compare=False)
    doc: str = ""

    @property
    def params(self) -> frozenset[str]:
        """The params that it reads."""
        names = {e.id for e in walk(self.value) if isinstance(e, Name)}
        return frozenset(names - set(DIMENSIONS))


@dataclass(frozen=True)
class Require:
    """A condition that params and flags must meet (`require`), and the message if they do not."""

    condition: Expr
    message: str
    span: Span = field(compare=False)

    @fact
    def names(self) -> frozenset[str]:
        """The names that the condition reads."""
        return _names(self.condition)


NEVER_AGAIN = 2.0**53
"""More updates than any parameter has."""


def is_never(every: Expr) -> bool:
    """Whether a distance of updates is that of `once`."""
    return isinstance(every, Number) and every.value == NEVER_AGAIN


@dataclass(frozen=True)
class Timing:
    """`every k from s`: the updates s, s + k, s + 2k, ... of a parameter, from update k on without `from`. `once`: its
    first update, and the next one after NEVER_AGAIN more."""

    every: Expr
    start: Expr | None
    span: Span = field(compare=False)

    @property
    def is_once(self) -> bool:
        return is_never(self.every)


@dataclass(frozen=True)
class Loop:
    """`repeat count as index:`, the `number`-th one of a section, within the loop `outer`."""

    number: int
    count: Expr
    index: str | None
    outer: Loop | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Equation:
    """`target = value` or `target' = value`, where `guard` holds (None: always).

    Adjacent equations for one target form a case group, of which the first match is taken. `otherwise` is parsed as
    `is_otherwise`, with guard None. One with `timing` is a match in some updates only. One in a `loop` is computed in
    each of its turns. One in a `phase` is computed in that phase of a step.
    """

    target: Name
    value: Expr
    span: Span = field(compare=False)
    guard: Expr | None = None
    is_otherwise: bool = False
    timing: Timing | None = None
    loop: Loop | None = None
    phase: str | None = None


FlagValue = bool | str
Flags = Mapping[str, FlagValue]


def flags_text(flags: Flags) -> str:
    """`amsgrad=false kind=linear`."""
    words = (f"{name}={str(x).lower() if isinstance(x, bool) else x}" for name, x in flags.items())
    return " ".join(words) or "the only variant"


RESERVED_PARAMS: Mapping[str, Param] = {
    p.name: p
    for p in (
        Param("lr", 0.01, Span(0, 0, 0), doc="learning rate"),
        Param("wd", 0.0, Span(0, 0, 0), interval=Interval(0.0, math.inf, False, True), doc="weight decay"),
        Param("rescale_grad", 1.0, Span(0, 0, 0), doc="factor on the gradient"),
        Param(
            "clip_gradient",
            None,
            Span(0, 0, 0),
            optional=True,
            interval=Interval(0.0, math.inf, False, True),
            doc="bound on each element of the rescaled gradient",
        ),
    )
}
"""Params that every spec may read without declaring them. A `param` line of the same name replaces default and
interval."""

PER_PARAMETER = ("lr", "wd")
"""The reserved params that differ between parameters, by their multipliers."""
COUNTS = ("t", "step")
DIMENSIONS = ("rank", "size", "rows", "cols", "matrices")
EPSILON = "machine_epsilon"
"""The machine epsilon of the parameter's dtype."""
PHASE = "phase"
"""The flag of variants that says which phase of a step is computed, where a step has phases."""
