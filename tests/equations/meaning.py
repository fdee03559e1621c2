"""What a spec means: its equations on whole arrays of float64, one line after the other, as the language has them.

This file and those that it imports from here share the syntax tree with the compiler and nothing else, and so tell
whether the compiler is right. They decide flags, guards, timings and loops by themselves, draw by themselves, and know
nothing of variants, stages and kernels. Rounding differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from optgen.diagnostics import Source
from optgen.expressions import Call, Name, Number, walk
from optgen.lang.compose import flatten
from optgen.lang.parser import read_draft
from optgen.model import Dim, Equation, Flag, Input, Loop, Param, StateDecl, Timing
from tests.equations import draws
from tests.equations.expressions import Expressions, Known, Noise
from tests.equations.flags import holds
from tests.equations.values import Array, Axes, Shape, Value, scalar

RESERVED: Mapping[str, float | None] = {"lr": 0.01, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": None}
"""The params of every spec, and their defaults."""


@dataclass
class Member:
    """A parameter: its weight, its states, how often it has been updated, and the choices of its flags."""

    number: int
    shape: Shape
    w: Array
    params: dict[str, float | None]
    flags: dict[str, bool | str] = field(default_factory=dict)
    states: dict[str, Value] = field(default_factory=dict)
    entries: dict[str, list[Value]] = field(default_factory=dict)  # of histories before an update, the newest first
    added: dict[str, Value] = field(default_factory=dict)  # the entries of the last update
    drawn: dict[str, Value] = field(default_factory=dict)  # by the phases of this step
    t: int = 0


class Meaning:
    """A spec with arguments, bound to weights.

    `arguments` are params, a number or a list with one for each weight, and flags. With `noise`, results of operations
    differ at random by so much of their size, as those of other machines may.
    """

    def __init__(
        self, text: str, weights: Sequence[Array], seed: int = 0, noise: Noise | None = None, **arguments: Any
    ) -> None:
        draft = read_draft(flatten(Source("spec", text)).source)
        assert not draft.errors, draft.errors
        self.draft = draft
        self.seed = seed
        self.noise = noise
        self._waiting: list[StateDecl] = []  # that start in this phase, from what is not known yet
        self.trying = False  # to learn the axes of values, in equations of which some cannot be computed yet
        self.params = [x for x in draft.declarations if isinstance(x, Param)]
        self.states = [x for x in draft.declarations if isinstance(x, StateDecl)]
        self.flags = [x for x in draft.declarations if isinstance(x, Flag)]
        self.dims = [x for x in draft.declarations if isinstance(x, Dim)]
        self.inputs = [x for x in draft.declarations if isinstance(x, Input)]
        self.update_lines = [x for x in draft.update if isinstance(x, Equation)]
        self.evaluate_lines = [x for x in draft.evaluate if isinstance(x, Equation)]
        self.definitions = {d.name: (d.parameters, d.body) for d in draft.definitions}
        self.draws = self._numbers_of_draws()
        self.members = [self._member(k, w, arguments) for k, w in enumerate(weights)]

    # ------------------------------------------------------------ what is known before any update

    def _member(self, number: int, w: Array, arguments: Mapping[str, Any]) -> Member:
        params = {**RESERVED, **{p.name: p.default for p in self.params}}
        for name in params.keys() & arguments.keys():
            params[name] = _of_member(arguments[name], number)
        off = {p.name for p in self.params if p.zero_off and params[p.name] == 0}
        params |= dict.fromkeys(off)
        ints = {p.name: int(params[p.name] or 0) for p in self.params if p.is_int}
        shape = Shape(w.shape, bool(self.draft.axes), ints)
        for dim in self.dims:
            numbers = {name: scalar(math.nan if x is None else x) for name, x in {**params, **shape.sizes}.items()}
            (found,) = Expressions(self.definitions, {}, 0).values(
                dim.value, [Known(number, shape, 0, numbers, {}, {})]
            )
            params[dim.name] = ints[dim.name] = int(found.data)
        member = Member(number, shape, np.array(w, np.float64), params)
        member.flags = self._flags(member, arguments)
        for state in self.states:
            if state.guard is None or holds(state.guard, member.flags):
                self._make(state, member)
        return member

    def _flags(self, member: Member, arguments: Mapping[str, Any]) -> dict[str, bool | str]:
        flags: dict[str, bool | str] = {"sparse": False}
        for flag in self.flags:
            if flag.condition is not None:
                numbers = {**member.params, **member.shape.sizes}
                flags[flag.name] = holds(flag.condition, flags, numbers)
            else:
                default = flag.choices[0] if flag.choices else bool(flag.default)
                flags[flag.name] = _of_member(arguments.get(flag.name, default), member.number)
        return flags

    def _make(self, state: StateDecl, member: Member) -> None:
        """Make a state: with the value that is known, or with 0."""
        match state.init:
            case Number(value=x):
                start = scalar(x)
            case Name(id="w"):
                start = self._elements(member, member.w)
            case Name(id=name) if name in member.params:
                start = scalar(member.params[name])
            case _:
                start = scalar(0.0)
        axes = member.shape.axes_of(state.axes)
        count = state.entries if isinstance(state.entries, int) else member.shape.ints[state.entries]
        made = member.shape.filled(start, axes)
        if count:
            member.entries[state.name] = [made] * count
        else:
            member.states[state.name] = made

    def _starts(self, state: StateDecl) -> bool:
        """Whether a state starts from an expression in the first update."""
        own = {p.name for p in self.params if p.given or p.per_param}
        known = ({"w", *RESERVED} | {p.name for p in self.params}) - own
        return not (isinstance(state.init, Number) or (isinstance(state.init, Name) and state.init.id in known))

    def _numbers_of_draws(self) -> dict[int, int]:
        """The number of each draw in the file: those that states start from, then those of equations."""
        values = [s.init for s in self.states if self._starts(s)] + [e.value for e in self.update_lines]
        own = [e for value in values for e in walk(value) if isinstance(e, Call) and e.function in draws.NAMES]
        return {id(e): k for k, e in enumerate(own)}

    def _elements(self, member: Member, array: Array) -> Value:
        axes = member.shape.elements
        return Value(axes, np.array(array, np.float64).reshape(member.shape.lengths(axes)))

    def _given(self, member: Member, what: Input, array: Array) -> Value:
        axes = member.shape.axes_of(what.axes)
        return Value(axes, np.array(array, np.float64).reshape(member.shape.lengths(axes)))

    # ------------------------------------------------------------ updates

    def update(self, grads: Sequence[Array], phase: str | None = None, **given: Any) -> None:
        """One update of all weights, or one phase of it. `given` are inputs and params, which stay as they are set."""
        first = phase is None or phase == next(iter(self.draft.phases))
        inputs = {x.name for x in self.inputs}
        for member in self.members:
            if first:
                member.t += 1
                member.entries, member.added = self._entries(member), {}
            new = {name: _of_member(x, member.number) for name, x in given.items() if name not in inputs}
            member.params |= new
        step = max(member.t for member in self.members)
        known: list[Known] = []
        for member, grad in zip(self.members, grads, strict=True):
            own = self._known(member, step)
            own |= {x.name: self._given(member, x, given[x.name][member.number]) for x in self.inputs}
            own |= {} if first else member.drawn
            own["grad"] = self._elements(member, grad)
            scaled = own["grad"].data * member.params["rescale_grad"]
            clip = member.params["clip_gradient"]
            own["g"] = Value(own["grad"].axes, scaled if clip is None else np.clip(scaled, -clip, clip))
            known.append(Known(member.number, member.shape, member.t, own, member.entries, {}))
        lines = [e for e in self.update_lines if e.phase == phase]
        expressions = Expressions(self.definitions, self.draws, self.seed, self.noise)
        self._waiting = self._starting(phase)
        self._start(known, expressions)
        self._run(lines, known, 0, expressions)
        assert not self._waiting, self._waiting
        drawn = {e.target.id for e in lines if _is_draw(e) and not e.target.primed}
        for member, own in zip(self.members, known, strict=True):
            self._keep(member, own)
            member.drawn = {} if first else member.drawn
            member.drawn |= {name: own.values[name] for name in drawn & own.values.keys()}

    def _known(self, member: Member, step: int) -> dict[str, Value]:
        numbers = {"pi": np.pi, **member.params, **member.shape.sizes, "t": member.t, "step": step}
        known = {name: scalar(x) for name, x in numbers.items()} | {"machine_epsilon": scalar(2.0**-52)}
        return known | member.states | {"w": self._elements(member, member.w)}

    def _starting(self, phase: str | None) -> list[StateDecl]:
        """The states that start from an expression in a phase: the first one that sets them."""
        phases = list(self.draft.phases)
        found = []
        for state in filter(self._starts, self.states):
            setting = [e.phase for e in self.update_lines if e.target.id == state.name and e.target.primed]
            first = min((p for p in setting if p is not None), key=phases.index, default=None)
            found += [state] if first is None or phase == first else []
        return found

    def _start(self, known: Sequence[Known], expressions: Expressions) -> None:
        """Start the states that wait for their first update, and whose expressions read what is known by now."""
        for state in list(self._waiting):
            read = {e.id for e in walk(state.init) if isinstance(e, Name)}
            if any(state.name in k.values and read - k.values.keys() for k in known):
                continue
            self._waiting.remove(state)
            shared = state.kind.value == "shared"
            new = [k for k in known if state.name in k.values and (k.values["step"].data if shared else k.t) == 1]
            if new:
                axes = new[0].shape.axes_of(state.axes)
                for k, value in zip(new, expressions.values(state.init, new, axes=axes), strict=True):
                    k.values[state.name] = k.shape.filled(value, axes)

    def _run(self, lines: list[Equation], known: list[Known], level: int, expressions: Expressions) -> None:
        """Compute equations, those of a loop in each of its turns."""
        for loop, own in groupby(lines, key=lambda e: _around(e.loop)[level : level + 1]):
            if loop:
                self._repeat(loop[0], list(own), known, level, expressions)
                continue
            for _, cases in groupby(own, key=lambda e: e.target.key):
                self._equation(list(cases), known, expressions)
                if level == 0:
                    self._start(known, expressions)

    def _equation(self, cases: list[Equation], known: Sequence[Known], expressions: Expressions) -> None:
        """The first of the cases that holds and is due, for each parameter."""
        chosen = [(k, self._case(cases, k)) for k in known]
        for case in cases:
            own = [k for k, x in chosen if x is case]
            if not own:
                continue
            try:
                found = expressions.values(case.value, own, self._held(case, own))
            except (ValueError, IndexError, KeyError, AssertionError):
                if self.trying:
                    continue
                raise
            for k, value in zip(own, found, strict=True):
                k.set(case.target, self._as_state(case.target, value, k))
        for k, x in chosen:
            if x is None and cases[0].target.primed and self._exists(cases, k):
                k.values[cases[0].target.key] = k.values[cases[0].target.id]

    def _as_state(self, target: Name, value: Value, known: Known) -> Value:
        """The new value of a state or of the weight, which is repeated to fill it."""
        if target.primed and target.id == "w":
            return known.shape.filled(value, known.shape.elements)
        state = next((s for s in self.states if target.primed and s.name == target.id), None)
        return value if state is None else known.shape.filled(value, known.shape.axes_of(state.axes))

    def _case(self, cases: list[Equation], known: Known) -> Equation | None:
        flags = self.members[known.number].flags
        matches = [e for e in cases if e.guard is None or holds(e.guard, flags)]
        return next((e for e in matches if e.timing is None or _is_draw(e) or self._due(e.timing, known)), None)

    def _exists(self, cases: list[Equation], known: Known) -> bool:
        """Whether a parameter has one of these equations."""
        flags = self.members[known.number].flags
        return any(e.guard is None or holds(e.guard, flags) for e in cases)

    def _timing(self, timing: Timing, known: Known) -> tuple[int, int]:
        """The distance of the updates of a timing, and the first one."""
        each = timing.every, timing.start if timing.start is not None else timing.every
        every, start = (int(Expressions({}, {}, 0).values(x, [known])[0].data) for x in each)
        return every, start

    def _due(self, timing: Timing, known: Known) -> bool:
        every, start = self._timing(timing, known)
        return known.t >= start and (known.t - start) % every == 0

    def _held(self, case: Equation, known: Sequence[Known]) -> dict[int, int]:
        """By parameter, the update whose numbers a draw has that is held."""
        if case.timing is None:
            return {}
        found = {}
        for k in known:
            every, start = self._timing(case.timing, k)
            found[k.number] = start + (k.t - start) // every * every
        return found

    def _repeat(
        self, loop: Loop, own: list[Equation], known: list[Known], level: int, expressions: Expressions
    ) -> None:
        """Compute a loop. A value that it carries has in every turn, and behind it, the axes that it has in any."""
        known = [k for k in known if self._exists(own, k)]
        if not known:
            return
        set_here = [e for e in own if e.target.primed and e.loop == loop]
        carried = [{e.target.id for e in set_here if self._exists([e], k)} for k in known]
        before = [dict(k.values) for k in known]
        if self.trying and any(names - k.values.keys() for k, names in zip(known, carried, strict=True)):
            return
        first = [{x: k.values[x] for x in sorted(names)} for k, names in zip(known, carried, strict=True)]
        while (wider := self._widened(loop, own, known, first, level, expressions)) is not None:
            first = wider
        turns = int(expressions.values(loop.count, known)[0].data)
        last = first
        for turn in range(min(turns, 1) if self.trying else turns):
            self._turn(turn, loop, own, known, last, level, expressions)
            last = [
                {name: _filled(k, k.values.get(f"{name}'", x), x.axes) for name, x in values.items()}
                for k, values in zip(known, first, strict=True)
            ]
        for k, values, new in zip(known, before, last, strict=True):
            k.values = {**values, **{f"{name}'": x for name, x in new.items()}}

    def _widened(
        self, loop: Loop, own: list[Equation], known: list[Known], first: list[dict[str, Value]], level: int,
        expressions: Expressions,
    ) -> list[dict[str, Value]] | None:  # fmt: skip
        """The carried values before the first turn, with the axes that they have behind it, too; None if they have."""
        before, outer = [dict(k.values) for k in known], self.trying
        self.trying = True
        self._turn(0, loop, own, known, first, level, expressions)
        self.trying = outer
        found = [
            {name: _widened(k, x, k.values.get(f"{name}'", x)) for name, x in values.items()}
            for k, values in zip(known, first, strict=True)
        ]
        for k, values in zip(known, before, strict=True):
            k.values = values
        axes = [[{name: x.axes for name, x in own.items()} for own in each] for each in (first, found)]
        return None if axes[0] == axes[1] else found

    def _turn(
        self, turn: int, loop: Loop, own: list[Equation], known: list[Known], carried: Sequence[Mapping[str, Value]],
        level: int, expressions: Expressions,
    ) -> None:  # fmt: skip
        for k, values in zip(known, carried, strict=True):
            if loop.index is not None:
                k.values[loop.index] = scalar(turn)
            k.values |= values
        self._run(own, known, level + 1, expressions)

    def _keep(self, member: Member, known: Known) -> None:
        """Keep the new weight and the new states."""
        if "w'" in known.values:
            member.w = known.values["w'"].data.reshape(member.w.shape)
        for state in self.states:
            new = known.values.get(f"{state.name}'")
            if new is not None and state.name in member.entries:
                member.added[state.name] = new
            elif new is not None:
                member.states[state.name] = new

    def _entries(self, member: Member) -> dict[str, list[Value]]:
        """The entries of histories behind the last update."""
        own = member.entries.items()
        return {name: [member.added[name], *old[:-1]] if name in member.added else old for name, old in own}

    def evaluated(self) -> list[Array]:
        """The weights to evaluate a model with."""
        step = max(member.t for member in self.members)
        known = [Known(m.number, m.shape, m.t, self._known(m, step), self._entries(m), {}) for m in self.members]
        self._run(self.evaluate_lines, known, 0, Expressions(self.definitions, {}, 0, self.noise))
        pairs = zip(self.members, known, strict=True)
        return [k.values["w'"].data.reshape(m.w.shape) for m, k in pairs]

    def state(self, name: str, number: int) -> Array:
        """The array of a state as optgen keeps it: that of a history has the entry of update t at (t - 1) mod n."""
        member = self.members[number]
        if name not in member.entries:
            return member.states[name].data
        newest, n = self._entries(member)[name], len(member.entries[name])
        last = member.t - (name not in member.added)  # the update of the newest entry: in a first phase, the one before
        return np.stack([newest[(last - 1 - place) % n].data for place in range(n)])


def _of_member(x: Any, number: int) -> Any:
    return x[number] if isinstance(x, list | tuple) else x


def _widened(known: Known, old: Value, new: Value) -> Value:
    """The value before a turn, with the axes that it has together with the one behind it."""
    axes, _ = known.shape.meet([old, new])
    return old if axes == old.axes else _filled(known, old, axes)


def _filled(known: Known, value: Value, axes: Axes) -> Value:
    return value if value.axes == axes else known.shape.filled(value, axes)


def _is_draw(equation: Equation) -> bool:
    return isinstance(equation.value, Call) and equation.value.function in draws.NAMES


def _around(loop: Loop | None) -> list[Loop]:
    return [] if loop is None else [*_around(loop.outer), loop]
