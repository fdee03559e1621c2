"""The checked model of an optimizer: the result of the front end, on which all later stages work.

A model holds all flag variants; `Optimizer.program(flags)` is one of them, as a straight line of equations. What its
lines declare and define is in `declarations.py`, whose names are also names of this module.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from optgen.axes import ELEMENTS, Kind, When, kind_of, param_of
from optgen.declarations import (
    COUNTS,
    DIMENSIONS,
    EPSILON,
    NEVER_AGAIN,
    PER_PARAMETER,
    PHASE,
    RESERVED_PARAMS,
    Dim,
    Equation,
    Flag,
    Flags,
    FlagValue,
    Input,
    Interval,
    Loop,
    Param,
    Require,
    StateDecl,
    Timing,
    flags_text,
    is_never,
)
from optgen.diagnostics import Diagnostic, Source, Span
from optgen.expressions import (
    Call,
    Expr,
    Name,
    Number,
    is_grouped,
    is_over_workers,
    of_one_worker,
    walk,
)
from optgen.facts import fact
from optgen.functions.matrices import is_of_matrices
from optgen.groups import LineGroup
from optgen.truth import partial_truth, truth

__all__ = [
    "COUNTS", "DIMENSIONS", "EPSILON", "MAX_DRAWS", "NEVER_AGAIN", "PER_PARAMETER", "PHASE", "RESERVED_PARAMS",
    "Dim", "Equation", "Flag", "FlagValue", "Flags", "Input", "Interval", "Loop", "Optimizer", "Param", "Program",
    "Require", "StateDecl", "Timing", "flags_text", "is_never",
]  # fmt: skip

MAX_DRAWS = 2048
"""The largest number of draws in a spec. A draw id has 12 bits: the lower half of the ids are draws, the upper half are
for random rounding."""

_OF_RATES = re.compile(r"^[ \t]*(lr_hint|schedule)[ \t].*\n?", re.MULTILINE)
"""Lines that say something of the rate, and compute nothing. No other line of a valid spec begins so."""


def _is_drawn_matrix(expr: Expr) -> bool:
    """Whether an expression is a draw of other dimensions than those of the parameter."""
    return isinstance(expr, Call) and bool(expr.dims) and kind_of(expr.dims) is Kind.MATRIX


@dataclass(frozen=True)
class Program:
    """One flag variant, without guards. Each name is defined once, before its use."""

    optimizer: str
    flags: Flags
    states: tuple[StateDecl, ...]
    equations: tuple[Equation, ...]

    @property
    def groups(self) -> tuple[LineGroup, ...]:
        """The groups of rows or columns that there are values for."""
        return tuple(dict.fromkeys(_groups(self.states, self.equations)))

    def cut_by(self, starts: Mapping[str, Expr]) -> Iterator[tuple[list[str], tuple[Equation, ...]]]:
        """The equations in order, cut where states start: the names of states, and the equations behind their starts.
        A state starts as soon as the local values are known that its start reads."""
        defined = {e.target.id: k for k, e in enumerate(self.equations, 1) if not e.target.primed}
        places: dict[int, list[str]] = {0: []}
        for state, start in starts.items():
            reads = [defined.get(e.id, 0) for e in walk(start) if isinstance(e, Name)]
            places.setdefault(max(reads, default=0), []).append(state)
        cuts = sorted(places)
        for place, end in zip(cuts, [*cuts[1:], len(self.equations)], strict=True):
            yield places[place], self.equations[place:end]


def _groups(states: Iterable[StateDecl], equations: Iterable[Equation]) -> Iterator[LineGroup]:
    yield from (axis for state in states for axis in state.axes if isinstance(axis, LineGroup))
    values = [*(e.value for e in equations), *(s.init for s in states)]
    calls = (e for value in values for e in walk(value) if isinstance(e, Call))
    yield from (call.scope for call in calls if isinstance(call.scope, LineGroup))


def _read(values: Iterable[Expr]) -> frozenset[str]:
    """The names in expressions. What reads `g` also reads rescale_grad, grad and clip_gradient."""
    names = {e.id for x in values for e in walk(x) if isinstance(e, Name)}
    return frozenset(names | ({"rescale_grad", "grad", "clip_gradient"} if "g" in names else set()))


@dataclass(frozen=True)
class Optimizer:
    """A spec that was parsed and checked. `params` are the declared ones, in order. `last_two`: a parameter is a batch
    of matrices of its last two axes, not one matrix of its first axis by the others."""

    name: str
    title: str
    cite: str
    params: tuple[Param, ...]
    flags: tuple[Flag, ...]
    states: tuple[StateDecl, ...]
    inputs: tuple[Input, ...]
    requires: tuple[Require, ...]
    update: tuple[Equation, ...]
    evaluate: tuple[Equation, ...]
    source: Source = field(compare=False)
    warnings: tuple[Diagnostic, ...] = field(compare=False, default=())
    version: int = 1  # of its equations and states, as files of states say
    aliases: tuple[str, ...] = ()  # other names of the optimizer
    last_two: bool = False
    phases: tuple[str, ...] = ()  # of a step, in order; none where one gradient is enough for it
    parts: tuple[str, ...] = ()  # the flag of the parameters that it is for, and what updates the others; or nothing
    lr_hint: float | None = None  # the rate to begin with, where a source says so
    lr_hint_source: str = ""
    has_own_schedule: bool = False  # its rate needs no decay, as a source says
    schedule_source: str = ""
    dims: tuple[Dim, ...] = ()  # dimensions that follow from params and sizes

    def __repr__(self) -> str:
        declared = (("params", self.params), ("flags", self.flags), ("states", self.states), ("inputs", self.inputs))
        parts = [f"{what} {', '.join(dict.fromkeys(x.name for x in named))}" for what, named in declared if named]
        return f"<optgen spec {self.name}{': ' if parts else ''}{'; '.join(parts)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show. IPython asks the class for it, and what sets equations imports this class: so this is
        found by name, and only where a notebook asks."""
        bundle: dict[str, str] = import_module("optgen.symbolic.notebook").bundle(self)
        return bundle

    @fact
    def computing(self) -> str:
        """The text without the lines about the rate, which change no code: what caches of code go by."""
        return _OF_RATES.sub("", self.source.text)

    @property
    def first_rate(self) -> float:
        """The rate to begin with: the hint, or else the default of `lr`; 0.01 where that is none."""
        default = self.all_params["lr"].default
        found = self.lr_hint if self.lr_hint is not None else default
        return 0.01 if found is None else found

    @property
    def advice(self) -> tuple[str, ...]:
        """What is said of its rate, each with its source, for people."""
        found = [] if self.lr_hint is None else [f"begin with lr = {self.lr_hint:g}: {self.lr_hint_source}"]
        found += [f"own schedule, no decay of lr is needed: {self.schedule_source}"] if self.has_own_schedule else []
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """The comments of the text that begin a line. Those on adjacent lines are one paragraph."""
        found = itertools.groupby(self.source.lines, key=lambda line: line.startswith("#"))
        return tuple(" ".join(x.lstrip("#").strip() for x in lines) for is_note, lines in found if is_note)

    @fact
    def all_params(self) -> Mapping[str, Param]:
        """Declared params by name, then the reserved ones that are not declared."""
        table = {p.name: p for p in self.params}
        return table | {name: p for name, p in RESERVED_PARAMS.items() if name not in table}

    @fact
    def given(self) -> tuple[str, ...]:
        """The params that each step is given: inputs of kind host."""
        return tuple(p.name for p in self.params if p.given)

    @fact
    def following(self) -> tuple[str, ...]:
        """The params that follow the changes of `lr`."""
        return tuple(p.name for p in self.params if p.follows_lr)

    @fact
    def per_parameter(self) -> tuple[str, ...]:
        """The params that differ between parameters: `lr`, `wd`, and those declared `per param`."""
        return (*PER_PARAMETER, *(p.name for p in self.params if p.per_param))

    @fact
    def deciding(self) -> frozenset[str]:
        """The params on which a derived flag or a `require` depends."""
        return frozenset().union(*(f.names for f in self.flags), *(r.names for r in self.requires))

    @fact
    def differing(self) -> frozenset[str]:
        """The params that may differ between parameters that are bound together: `per_parameter`, but those that choose
        code, or that states begin with. Where parameters share values, these cannot be bound apart."""
        begun = {s.init.id for s in self.states if isinstance(s.init, Name)}
        bound = frozenset() if self.joins_params else self.deciding | begun
        return frozenset(self.per_parameter) - bound

    def flag(self, name: str) -> Flag:
        return next(f for f in self.flags if f.name == name)

    def start(self, state: StateDecl) -> Expr | None:
        """The expression from which the first update starts a state; None if it has its value when it is made."""
        init, own = state.init, {p.name for p in self.params if p.given or p.per_param}
        known = {"w", *self.all_params} - own
        made = isinstance(init, Number) or (isinstance(init, Name) and init.id in known)
        return None if made else init

    def late_starts(self, program: Program) -> dict[str, Expr]:
        """What states start from in the first update of a variant, by their names."""
        own = [s for s in program.states if self.starts_in(s, program.flags)]
        return {s.name: x for s in own if (x := self.start(s)) is not None}

    def starts(self) -> list[Expr]:
        """The expressions from which the first update starts states."""
        return [x for x in map(self.start, self.states) if x is not None]

    @fact
    def reads_sizes(self) -> bool:
        """Whether a flag, a requirement or a dimension depends on more of a parameter's shape than its rank."""
        if self.dims:
            return True
        names = [*(f.names for f in self.flags), *(r.names for r in self.requires)]
        return not frozenset().union(*names).isdisjoint(DIMENSIONS[1:])

    @fact
    def joins_params(self) -> bool:
        """Whether parameters share values, so that one kernel has to update all of them: something is reduced over
        them, or a state is of kind shared."""
        return self.reduces_over_params or any(s.known is When.SHARED for s in self.states)

    @fact
    def joins_apart(self) -> bool:
        """Whether what parameters share is computed between kernels of one of them each: there are products, groups or
        timings."""
        return self.joins_params and (self.has_products or bool(self.groups) or bool(self.timings))

    @fact
    def reduces_over_params(self) -> bool:
        """Whether something is reduced over all parameters, as a sum of squares."""
        values = [*(e.value for e in (*self.update, *self.evaluate)), *self.starts()]
        return any(isinstance(e, Call) and e.scope == "params" for value in values for e in walk(value))

    @fact
    def fixed(self) -> tuple[str, ...]:
        """What memory depends on beside the numbers of rows and columns: int params, which cannot change."""
        calls = [e for line in self.update for e in walk(line.value) if isinstance(e, Call)]
        squares = [e.args for e in calls if e.function == "identity"]
        found = [name for of in (self.states, self.inputs) for one in of for name in one.fixed]
        found += [name for e in calls for axis in e.dims if (name := param_of(axis)) is not None]
        found += [e.id for args in squares for e in args if isinstance(e, Name)]
        found += [name for group in self.groups if (name := param_of(group)) is not None]
        found = [name for name in found if name not in {dim.name for dim in self.dims}]
        found += [name for dim in self.dims for name in sorted(dim.params)]
        return tuple(dict.fromkeys(name for name in found if name not in ELEMENTS))

    @fact
    def has_products(self) -> bool:
        """Whether there are products or functions of matrices."""
        values = [*(e.value for e in self.update), *self.starts()]
        return any(is_of_matrices(e) for value in values for e in walk(value))

    @fact
    def has_workers(self) -> bool:
        """Whether there are means over workers."""
        return any(is_over_workers(e) for line in self.update for e in walk(line.value))

    @fact
    def has_stages(self) -> bool:
        """Whether some variant may be more than one kernel."""
        return (
            self.has_products
            or bool(self.groups)
            or any(e.loop is not None or e.timing is not None for e in self.update)
            or any(x.kind is Kind.MATRIX for x in (*self.states, *self.inputs))
            or any(_is_drawn_matrix(e.value) for e in self.update)
        )

    @fact
    def groups(self) -> tuple[LineGroup, ...]:
        """The groups of rows or columns that some variant has values for."""
        return tuple(dict.fromkeys(_groups(self.states, self.update)))

    def is_staged(self, flags: Flags) -> bool:
        """Whether a variant is more than one kernel: it has products or functions of matrices, groups of rows or
        columns, loops, or equations of some updates only; or others have, and share values with it."""
        if not self.has_stages or self.joins_apart:
            return self.has_stages
        program = self.program(flags)
        values = [e.value for e in program.equations] + [x for s in program.states if (x := self.start(s)) is not None]
        special = any(
            is_of_matrices(e) or is_grouped(e) or _is_drawn_matrix(e) for value in values for e in walk(value)
        )
        own = any(x.kind is Kind.MATRIX for x in (*program.states, *self.inputs))
        timed = any(e.timing is not None and (e.guard is None or truth(e.guard, flags)) for e in self.of_phase(flags))
        return special or own or timed or any(e.loop is not None for e in program.equations)

    @fact
    def timings(self) -> tuple[Timing, ...]:
        """The different timings of the update, in the order of the text."""
        return tuple(dict.fromkeys(e.timing for e in self.update if e.timing is not None))

    def dims_of(self, flags: Flags) -> tuple[Dim, ...]:
        """The declared dimensions that values of a variant have."""
        program = self.program(flags)
        values = [*(q.value for q in program.equations), *(s.init for s in program.states)]
        calls = [e for value in values for e in walk(value) if isinstance(e, Call)]
        names = {str(axis) for of in (program.states, self.inputs) for x in of for axis in x.axes}
        names |= {str(axis) for call in calls for axis in call.dims}
        names |= {x.id for call in calls if call.function == "identity" for x in call.args if isinstance(x, Name)}
        return tuple(dim for dim in self.dims if dim.name in names)

    def part_of(self, flags: Flags) -> str:
        """The one of the `parts` that updates a parameter with these flags; empty if there are none."""
        return self.parts[0 if flags[self.parts[0]] else 1] if self.parts else ""

    def guards(self) -> list[Expr]:
        """The guards of all lines."""
        guards = [s.guard for s in self.states] + [e.guard for e in (*self.update, *self.evaluate)]
        return [g for g in guards if g is not None]

    def flag_values(self) -> dict[str, tuple[FlagValue, ...]]:
        """The values that each flag can have. `sparse` is among the flags if a guard or a requirement reads it, and the
        phase if a step has phases."""
        values: dict[str, tuple[FlagValue, ...]] = {f.name: f.choices or (False, True) for f in self.flags}
        values |= {PHASE: self.phases} if self.phases else {}
        return values | ({"sparse": (False, True)} if self.reads_sparse else {})

    def variants(self) -> Iterator[dict[str, FlagValue]]:
        """Every combination of flag values that can occur.

        A derived flag can have any value, because params are not known here, unless other flags alone decide it.
        Combinations that fail a `require` for all params are left out.
        """
        values = self.flag_values()
        derived = [(f.name, f.condition) for f in self.flags if f.condition is not None]
        for combination in itertools.product(*values.values()):
            flags = dict(zip(values, combination, strict=True))
            if any(partial_truth(r.condition, flags) is False for r in self.requires):
                continue
            if all(partial_truth(condition, flags) in (None, flags[name]) for name, condition in derived):
                yield flags

    @fact
    def reads(self) -> frozenset[str]:
        """The names that some line reads. A line that reads `g` also reads rescale_grad, grad and clip_gradient."""
        conditions = [f.condition for f in self.flags if f.condition is not None] + [r.condition for r in self.requires]
        values = [e.value for e in (*self.update, *self.evaluate)] + [s.init for s in self.states]
        return _read([*self.guards(), *conditions, *values, *self._counts()])

    @fact
    def needs_gradients(self) -> bool:
        """Whether a step reads gradients."""
        return "grad" in self.reads

    def given_in(self, phase: str | None) -> tuple[str, ...]:
        """Those of `given` that a phase of a step reads; without a phase, all."""
        return self.given if phase is None else tuple(x for x in self.given if x in self.reads_in(phase))

    def reads_in(self, phase: str) -> frozenset[str]:
        """The names that the equations of a phase read, and the starts of states."""
        return _read([*(e.value for e in self.update if e.phase == phase), *(s.init for s in self.states)])

    def _counts(self) -> Iterator[Expr]:
        """The expressions of loops and timings, and the dimensions of states and groups."""
        for equation in self.update:
            loop = equation.loop
            while loop is not None:
                yield loop.count
                loop = loop.outer
        for timing in self.timings:
            yield from (x for x in (timing.every, timing.start) if x is not None)
        yield from (Name(name, False, Span(0, 0, 0)) for name in self.fixed)
        for x in (e for line in self.update for e in walk(line.value) if isinstance(e, Name)):
            yield from (Name(term, False, x.span) for term, _ in (x.at.terms if x.at is not None else ()))

    def of_phase(self, flags: Flags) -> tuple[Equation, ...]:
        """The equations of the phase of a variant; all, if steps have no phases."""
        return tuple(e for e in self.update if e.phase is None or e.phase == flags[PHASE])

    def starts_in(self, state: StateDecl, flags: Flags) -> bool:
        """Whether a state that starts from an expression does so in the phase of a variant: the first one that sets
        it."""
        set_in = [e.phase for e in self.update if e.target.id == state.name and e.target.primed]
        return not self.phases or min(map(self.phases.index, filter(None, set_in)), default=0) == self.phases.index(
            str(flags[PHASE])
        )

    @fact
    def reads_sparse(self) -> bool:
        """Whether a guard or a requirement reads the reserved flag `sparse` (a row-sparse update)."""
        conditions = [*self.guards(), *(r.condition for r in self.requires)]
        return any(isinstance(e, Name) and e.id == "sparse" for x in conditions for e in walk(x))

    @fact
    def refuses_sparse(self) -> bool:
        """Whether the requirements exclude row-sparse updates."""
        return any(partial_truth(r.condition, {"sparse": True}) is False for r in self.requires)

    def states_of(self, flags: Flags) -> tuple[StateDecl, ...]:
        """The states of one variant."""
        return tuple(s for s in self.states if s.guard is None or truth(s.guard, flags))

    def program(self, flags: Flags, *, evaluate: bool = False, due: Collection[Timing] | None = None) -> Program:
        """The equations of one variant: guards are decided, and the first match of each case group is taken.

        `due` are the timings of an update (None: all of them). A state of which no case is due keeps its value, and so
        does one that the phase does not set. There is one worker.
        """
        states = self.states_of(flags)
        lines = self.evaluate if evaluate else self.of_phase(flags)
        chosen: list[Equation] = []
        for _, cases in itertools.groupby(lines, key=lambda e: (e.target.key, e.loop)):
            matches = [e for e in cases if e.guard is None or truth(e.guard, flags)]
            taken = next((e for e in matches if due is None or e.timing is None or e.timing in due), None)
            if taken is not None:
                value = of_one_worker(taken.value)
                chosen.append(Equation(taken.target, value, taken.span, loop=taken.loop, phase=taken.phase))
            elif matches and matches[0].target.primed:
                kept = replace(matches[0].target, primed=False)
                chosen.append(Equation(matches[0].target, kept, matches[0].span))
        if self.phases and not evaluate:
            own = {e.target.key for e in chosen}
            names = [(Name(s.name, True, s.span), s.span) for s in states if f"{s.name}'" not in own]
            chosen += [Equation(name, replace(name, primed=False), span) for name, span in names]
        return Program(self.name, dict(flags), states, tuple(chosen))
