"""The updates of a spec by its equations as they are written, over any arithmetic: many settings at once in float64
(`reals.py`), or numbers of a prime field, which tell whether two formulas are the same (`field.py`).

It is no definition: `optgen.ir.interp` is. What it cannot tell, such as values per block, is a `CannotTellError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from optgen import arguments
from optgen.axes import COLS, ROWS, Axes, Kind, length_of
from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary, walk
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import elementwise_of, is_draw, is_reduction, reduction_of
from optgen.lang.builtins import CONSTANTS
from optgen.model import EPSILON, PHASE, Equation, Flags, Loop, Optimizer, Program, StateDecl, Timing

Numbers = Any
"""An array of an arithmetic: of settings or points, rows and columns."""


class CannotTellError(ValueError):
    """The equations have something that is not computed here."""


class NumberSystem(Protocol):
    """Numbers of three axes: settings, rows, columns."""

    def constant(self, text: str) -> Numbers: ...
    def binary(self, op: str, a: Numbers, b: Numbers) -> Numbers: ...
    def function(self, name: str, *args: Numbers) -> Numbers: ...
    def where(self, condition: Any, a: Numbers, b: Numbers) -> Numbers: ...
    def fold(self, how: str, x: Numbers, axes: tuple[int, ...]) -> Numbers: ...
    def expanded(self, x: Numbers, shape: tuple[int, int]) -> Numbers: ...
    def shape(self, x: Numbers) -> tuple[int, ...]: ...
    def transposed(self, x: Numbers) -> Numbers: ...
    def product(self, a: Numbers, b: Numbers) -> Numbers: ...
    def drawn(self, seed: str, shape: tuple[int, int]) -> Numbers: ...
    def mixed(self, name: str, x: Numbers, *numbers: Numbers) -> Numbers: ...


SHAPE = (2, 3)
"""The rows and columns of the parameter that stands for all."""
_AXES = (("rows", "cols"), ())
"""The dimensions of a matrix and of a number."""
_LOGIC = {"and": np.logical_and, "or": np.logical_or}


def reduces(optimizer: Optimizer) -> bool:
    """Whether elements of a parameter depend on one another, so that a single one does not stand for all."""
    values = [*(e.value for e in (*optimizer.update, *optimizer.evaluate)), *optimizer.starts()]
    calls = [e for value in values for e in walk(value) if isinstance(e, Call)]
    return optimizer.has_products or bool(optimizer.groups) or any(is_reduction(c) for c in calls)


def shape_of(*optimizers: Optimizer) -> tuple[int, int]:
    """The shape that specs are tried with: one element, where elements do not depend on one another."""
    return SHAPE if any(map(reduces, optimizers)) else (1, 1)


def sizes(shape: tuple[int, int]) -> dict[str, int]:
    """The sizes of a matrix, by their names in specs."""
    rows, cols = shape
    return {"rank": 2, "size": rows * cols, "rows": rows, "cols": cols, "matrices": 1}


@dataclass(frozen=True)
class LateUpdate:
    """Some update after the first ones. `count`: its number, of the arithmetic. `due`: the timings, each the numbers
    of its first update and of updates between two, that it belongs to."""

    count: Numbers
    due: frozenset[tuple[int, int]]


@dataclass
class Steps:
    """A parameter, a matrix of `shape`, that a variant of a spec updates.

    `values` are the params, numbers of the arithmetic, None for those that are unset; `whole` the same as Python's
    floats, where all settings have one value. `states` and `w` change with each update. `late` is what stands for an
    update that is not among the first ones; None for the updates from `t` on.
    """

    optimizer: Optimizer
    flags: Flags
    arithmetic: NumberSystem
    shape: tuple[int, int]
    values: dict[str, Numbers | None]
    whole: Mapping[str, float | None]
    w: Numbers
    t: int = 0
    states: dict[str, Numbers] = field(default_factory=dict)
    programs: dict[Any, Program] = field(default_factory=dict)  # that were needed; of one spec, all can share them
    late: LateUpdate | None = None
    _draws: int = 0

    def __post_init__(self) -> None:
        if self.optimizer.groups or any(s.entries for s in self.optimizer.states):
            raise CannotTellError("groups and histories")
        try:
            dims = arguments.lengths(self.optimizer, self.flags, self.whole, self.shape)
        except ValueError as error:
            raise CannotTellError("dimensions that a small matrix does not have") from error
        self._sizes = sizes(self.shape) | dims
        if self.t == 0 and self.late is None:
            self.states = {s.name: self._made(s) for s in self.optimizer.states_of(self.flags)}

    def shape_of(self, state: StateDecl) -> tuple[int, int]:
        """The numbers of rows and columns of a state."""
        if state.kind is Kind.ROW:
            return self.shape[0], 1
        if state.kind is Kind.COL:
            return 1, self.shape[1]
        if state.kind is Kind.MATRIX:
            return self._lengths(state.axes)
        return self.shape if state.kind is Kind.ELEM else (1, 1)

    def _lengths(self, dims: Axes) -> tuple[int, int]:
        if len(dims) != 2:
            raise CannotTellError("vectors of own dimensions")
        known = {**self.whole, **self._sizes}
        a, b = (length_of(dim, known) for dim in dims)
        return a, b

    def _made(self, state: StateDecl) -> Numbers:
        """A state before the first update: with the value that is known, or 0."""
        if self.optimizer.start(state) is not None:
            value = self.arithmetic.constant("0")
        elif isinstance(state.init, Name) and state.init.id == "w":
            value = self.w
        else:
            value = self._value(state.init, dict(self.values))
        return self.arithmetic.expanded(value, self.shape_of(state))

    # ------------------------------------------------------------ updates

    def step(self, gradients: Sequence[Numbers], given: Mapping[str, Numbers]) -> None:
        """One update; `gradients` has one for each phase, and `given` the inputs."""
        self.t += 1
        for phase, gradient in zip(self.optimizer.phases or (None,), gradients, strict=True):
            flags = self.flags if phase is None else {**self.flags, PHASE: phase}
            program = self._program(flags)
            env = self._known() | {"grad": gradient, "g": gradient, **given}
            self._draws = 0
            starts = self.optimizer.late_starts(program) if self.t == 1 and self.late is None else {}
            shapes = {s.name: self.shape_of(s) for s in program.states}
            for states, equations in program.cut_by(starts):
                env |= {x: self.arithmetic.expanded(self._value(starts[x], env), shapes[x]) for x in states}
                self._run(equations, env)
            self._keep(program, env)

    def _program(self, flags: Flags) -> Program:
        due = self._due()
        key = tuple(flags.items()), tuple(map(self.optimizer.timings.index, due))
        if key not in self.programs:
            self.programs[key] = self.optimizer.program(flags, due=due)
        return self.programs[key]

    def evaluated(self) -> Numbers:
        """The weights to evaluate a model with."""
        if not self.optimizer.evaluate:
            return self.w
        env = self._known()
        self._run(self.optimizer.program(self.flags, evaluate=True).equations, env)
        return self.arithmetic.expanded(env["w'"], self.shape)

    def _known(self) -> dict[str, Numbers | None]:
        numbers = {**self._sizes, "t": self.t, "step": self.t}
        own = {name: self.arithmetic.constant(str(x)) for name, x in numbers.items()}
        if self.late is not None:
            own |= {"t": self.late.count, "step": self.late.count}
        own |= {name: self.arithmetic.constant(repr(x)) for name, x in CONSTANTS.items()}
        own[EPSILON] = self.arithmetic.constant(repr(2.0**-52))
        return {**own, **self.values, **self.states, "w": self.w}

    def _due(self) -> list[Timing]:
        return [timing for timing in self.optimizer.timings if self._is_due(*self.when(timing))]

    def when(self, timing: Timing) -> tuple[int, int]:
        """The number of the first update of a timing, and how many updates lie from one to the next."""
        known = {**self.whole, **self._sizes}
        every = int(arguments.number(timing.every, known))
        return every if timing.start is None else int(arguments.number(timing.start, known)), every

    def _is_due(self, start: int, every: int) -> bool:
        if self.late is not None:
            return (start, every) in self.late.due
        return self.t >= start and (self.t - start) % every == 0

    def _keep(self, program: Program, env: Mapping[str, Numbers | None]) -> None:
        for state in program.states:
            new = env.get(f"{state.name}'", env[state.name])
            self.states[state.name] = self.arithmetic.expanded(new, self.shape_of(state))
        self.w = self.arithmetic.expanded(env.get("w'", self.w), self.shape)

    def _run(self, equations: Sequence[Equation], env: dict[str, Numbers | None], depth: int = 0) -> None:
        for loop, own in groupby(equations, key=lambda e: _around(e.loop)[depth : depth + 1]):
            if loop:
                self._repeat(loop[0], list(own), env, depth + 1)
                continue
            for equation in own:
                if equation.target.at is not None:
                    raise CannotTellError("arrays")
                env[equation.target.key] = self._value(equation.value, env)

    def _repeat(self, loop: Loop, own: list[Equation], env: dict[str, Numbers | None], depth: int) -> None:
        """Compute a loop; what it carries is the new value in the next turn."""
        carried = {e.target.id for e in own if e.target.primed and e.loop == loop}
        before = {name: env[name] for name in carried}
        for turn in range(int(arguments.number(loop.count, {**self.whole, **self._sizes}))):
            if loop.index is not None:
                env[loop.index] = self.arithmetic.constant(str(turn))
            self._run(own, env, depth)
            env.update({name: env[f"{name}'"] for name in carried})
        env.update({f"{name}'": env[name] for name in carried})
        env.update(before)

    # ------------------------------------------------------------ expressions

    def _value(self, expr: Expr, env: dict[str, Numbers | None]) -> Numbers:
        a = self.arithmetic
        match expr:
            case Number(text=text):
                return a.constant(text)
            case Name(key=key):
                if expr.at is not None or env.get(key) is None:
                    raise CannotTellError(key)
                return env[key]
            case Unary(op="-", operand=x):
                return a.binary("-", a.constant("0"), self._value(x, env))
            case Unary(op="not", operand=x):
                return np.logical_not(self._value(x, env))
            case Transpose(operand=x):
                return a.transposed(self._value(x, env))
            case Binary(op="@", left=left, right=right):
                return a.product(self._value(left, env), self._value(right, env))
            case Binary(op=op, left=left, right=right) if op in _LOGIC:
                return _LOGIC[op](self._value(left, env), self._value(right, env))
            case Binary(op=op, left=left, right=right):
                return a.binary(op, self._value(left, env), self._value(right, env))
            case Call(function="clip"):
                return self._clip(expr, env)
            case Call() if is_draw(expr):
                return self._draw(expr)
            case Call(function="identity", args=args):
                rows, cols = self._lengths(tuple(x.id for x in (*args, *args)[:2] if isinstance(x, Name)))
                return self._eye(rows, cols)
            case Call():
                return self._call(expr, [self._value(x, env) for x in expr.args])
        raise CannotTellError(str(expr))

    def _eye(self, rows: int, cols: int) -> Numbers:
        one, nought = (self.arithmetic.expanded(self.arithmetic.constant(x), (rows, cols)) for x in "10")
        return self.arithmetic.where(np.eye(rows, cols, dtype=bool)[None], one, nought)

    def _draw(self, call: Call) -> Numbers:
        """The numbers of a draw: those of the same draw of another spec."""
        if call.args:
            raise CannotTellError("draws that are held")
        known: dict[Axes, tuple[int, int]] = {ROWS: (self.shape[0], 1), COLS: (1, self.shape[1]), (): self.shape}
        shape = known[call.dims] if call.dims in known else self._lengths(call.dims)
        self._draws += 1
        return self.arithmetic.drawn(f"{call.function} {self._draws} {self.t}", shape)

    def _clip(self, call: Call, env: dict[str, Numbers | None]) -> Numbers:
        a, (x, *bounds) = self.arithmetic, call.args
        found = self._value(x, env)
        low, high = bounds if len(bounds) == 2 else (Unary("-", bounds[0], call.span), bounds[0])
        bare = low.operand if isinstance(low, Unary) else low
        if not (isinstance(bare, Name) and env.get(bare.key, 0) is None):
            found = a.function("max", found, self._value(low, env))
        if not (isinstance(high, Name) and env.get(high.key, 0) is None):
            found = a.function("min", found, self._value(high, env))
        return found

    def _call(self, call: Call, args: list[Numbers]) -> Numbers:
        a, name = self.arithmetic, call.function
        if (reduction := reduction_of(call)) is not None:
            folding = _Folding(a, self._axes(call))
            return reduction.operations(folding, reduction.terms(folding, *args))
        if name == "where":
            return a.where(*args)
        if name == "trace":
            rows, cols = a.shape(args[0])[1:]
            return a.fold("sum", a.binary("*", args[0], self._eye(rows, cols)), (1, 2))
        if (known := elementwise_of(call)) is not None and known.takes_matrix:
            kept = known.meaning(np.ones(a.shape(args[0])[1:])) != 0
            return a.where(kept[None], args[0], a.constant("0"))
        matrices = MATRIX_FUNCTIONS.get(name)
        if matrices is None:
            return a.function(name, *args)
        if matrices.axes(*_AXES[: len(args)]) != _AXES[0]:
            raise CannotTellError(name)
        return a.mixed(name, *args)

    def _axes(self, call: Call) -> tuple[int, ...]:
        """The axes of numbers that a reduction is over."""
        if call.scope not in (None, "row", "col", "matrix", "params"):
            raise CannotTellError(f"{call.function} per {call.scope}")
        return {"row": (2,), "col": (1,)}.get(call.scope or "", (1, 2))


class _Folding:
    """The `Folding` of an arithmetic, over some axes of numbers."""

    def __init__(self, arithmetic: NumberSystem, axes: tuple[int, ...]) -> None:
        self.arithmetic, self.axes = arithmetic, axes

    def const(self, x: float) -> Numbers:
        return self.arithmetic.constant(repr(x))

    def add(self, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.binary("+", x, y)

    def sub(self, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.binary("-", x, y)

    def mul(self, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.binary("*", x, y)

    def div(self, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.binary("/", x, y)

    def sqrt(self, x: Numbers) -> Numbers:
        return self.math("sqrt", x)

    def abs(self, x: Numbers) -> Numbers:
        return self.math("abs", x)

    def lt(self, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.binary("<", x, y)

    def select(self, condition: Numbers, x: Numbers, y: Numbers) -> Numbers:
        return self.arithmetic.where(condition, x, y)

    def math(self, function: str, x: Numbers) -> Numbers:
        return self.arithmetic.function(function, x)

    def fold(self, how: str, x: Numbers) -> Numbers:
        return self.arithmetic.fold(how, x, self.axes)

    def count(self, x: Numbers) -> Numbers:
        return self.arithmetic.constant(str(int(np.prod([self.arithmetic.shape(x)[axis] for axis in self.axes]))))


def _around(loop: Loop | None) -> list[Loop]:
    """The loops around an equation, the outer ones first."""
    return [] if loop is None else [*_around(loop.outer), loop]
