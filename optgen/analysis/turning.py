"""Which values of a spec turn with weight and gradient, where these are rotated, as its equations prove it.

A rotation of the rows makes Q@X of a weight X, one of the columns X@R^T. Along each of its two axes a value turns by
the rotation of the rows or of the columns, or does not turn. Sums are of values that turn alike, products of one that
turns with one that is the same all along the axis, and contractions of two that turn alike: they no longer turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from optgen.analysis.subject import Subject
from optgen.axes import Axes
from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.record import Reduction
from optgen.functions.table import elementwise_of, is_draw, reduction_of
from optgen.groups import LineGroup
from optgen.model import Program, StateDecl

ROWS, COLS = "rows", "cols"


@dataclass(frozen=True)
class Axis:
    """An axis of a value. `length`: along which dimension it has several numbers, None for one. `turns`: it turns by
    the rotation of this dimension."""

    length: str | None = None
    turns: bool = False


@dataclass(frozen=True)
class Turning:
    """How a value turns. `is_zero`: it is 0, which turns as anything. `is_known` is false where no rule tells."""

    rows: Axis = Axis()
    cols: Axis = Axis()
    is_zero: bool = False
    is_known: bool = True

    @property
    def is_still(self) -> bool:
        """Whether it does not turn at all."""
        return self.is_known and not (self.rows.turns or self.cols.turns)


STILL, ZERO, UNKNOWN = Turning(), Turning(is_zero=True), Turning(is_known=False)


def turns_with_weight(subject: Subject, rotated: Collection[str], *, as_vector: bool = False) -> bool:
    """Whether the new weight turns with weights and gradients, where `rotated` dimensions are; `as_vector`: where all
    elements are one vector, which is rotated in any way."""
    if subject.spec.last_two or subject.spec.inputs:
        return False
    found = _Turnings(subject, rotated, as_vector=as_vector)
    return found.of_new_weight() == found.weight


class _Turnings:
    """How all names turn, found anew until that of states and of loops no longer changes."""

    def __init__(self, subject: Subject, rotated: Collection[str], *, as_vector: bool) -> None:
        self.subject, self.rotated, self.as_vector = subject, rotated, as_vector
        self.weight = Turning(Axis(ROWS, ROWS in rotated), Axis(COLS, COLS in rotated))
        self.kept: dict[str, Turning] = {"w": self.weight}
        self.carried: dict[str, Turning] = {}
        self.known: dict[str, Turning] = {}
        for program in subject.programs:
            self.kept |= {state.name: self._made(state) for state in program.states}

    def of_new_weight(self) -> Turning:
        while True:
            before = {**self.kept, **self.carried}
            for program in self.subject.programs:
                self._run(program)
            if {**self.kept, **self.carried} == before:
                return self.kept["w"]

    def _made(self, state: StateDecl) -> Turning:
        match state.init:
            case Name(id="w"):
                return self.weight
            case Number(value=0):
                return ZERO
            case Number() | Name():
                return self._spread(state.axes) if state.axes else STILL
        return ZERO

    def _spread(self, axes: Axes) -> Turning:
        """A value that does not turn, with numbers along these dimensions."""
        if len(axes) == 2:
            return Turning(Axis(str(axes[0])), Axis(str(axes[1])))
        return Turning(Axis(ROWS)) if axes == (ROWS,) else Turning(Axis(), Axis(COLS)) if axes == (COLS,) else UNKNOWN

    def _run(self, program: Program) -> None:
        self.known = dict(self.carried)
        for equation, (_, value) in zip(program.equations, self._folded(program), strict=True):
            target, found = equation.target, self.of(value)
            key = target.array_key
            if equation.loop is not None or target.at is not None:
                found = self.join(self.known.get(key, ZERO), found)
            if equation.loop is None and key in self.carried:  # where a loop begins, later turns go on
                found = self.join(found, self.carried[key])
            self.known[key] = found
            if equation.loop is not None and target.primed and target.id not in self.kept:
                self.carried[target.id] = self.known[target.id] = self.join(self.known.get(target.id, ZERO), found)
            elif equation.loop is not None and target.primed:
                self.kept[target.id] = self.join(self.kept[target.id], found)
        for state, start in self.subject.spec.late_starts(program).items():  # which may read local values
            self.kept[state] = self.join(self.kept[state], self.of(start))
        for name in self.kept:
            if f"{name}'" in self.known:
                self.kept[name] = self.join(self.kept[name], self.known[f"{name}'"])

    def _folded(self, program: Program) -> list[tuple[str, Expr]]:
        return self.subject.phases[self.subject.programs.index(program)]

    # ------------------------------------------------------------ several values

    def join(self, a: Turning, b: Turning) -> Turning:
        """How a sum of two turns, or one of the two."""
        if a.is_zero or b.is_zero:
            return b if a.is_zero else a
        if not (a.is_known and b.is_known):
            return UNKNOWN
        axes = []
        for x, y in ((a.rows, b.rows), (a.cols, b.cols)):
            if x.turns != y.turns or (x.turns and x.length != y.length):
                return UNKNOWN
            axes.append(Axis(x.length or y.length, x.turns))
        return Turning(axes[0], axes[1])

    def _product(self, a: Turning, b: Turning) -> Turning:
        if a.is_zero or b.is_zero:
            return ZERO
        if not (a.is_known and b.is_known):
            return UNKNOWN
        axes = []
        for x, y in ((a.rows, b.rows), (a.cols, b.cols)):
            if (x.turns and y.length is not None) or (y.turns and x.length is not None):
                return UNKNOWN
            axes.append(Axis(x.length or y.length, x.turns or y.turns))
        return Turning(axes[0], axes[1])

    def _contracted(self, a: Turning, b: Turning) -> Turning:
        """The product of matrices."""
        if a.is_zero or b.is_zero:
            return ZERO
        if not (a.is_known and b.is_known) or self.as_vector:
            return UNKNOWN
        same = a.cols.turns == b.rows.turns and (not a.cols.turns or a.cols.length == b.rows.length)
        return Turning(a.rows, b.cols) if same else UNKNOWN

    def _reduced(self, scope: str | LineGroup | None, a: Turning, b: Turning | None) -> Turning:
        """A sum over elements, of a rows or columns: of a value, or of the products of two."""
        if a.is_zero or (b is not None and b.is_zero):
            return ZERO
        if not a.is_known or (b is not None and not b.is_known) or scope not in (None, "row", "col", "params"):
            return UNKNOWN
        if self.as_vector and scope in ("row", "col") and not (a.is_still and (b is None or b.is_still)):
            return UNKNOWN
        gone = (scope != "row", scope != "col")
        others = (None, None) if b is None else (b.rows, b.cols)
        axes = [_left(x, y, is_gone=x_gone) for x_gone, x, y in zip(gone, (a.rows, a.cols), others, strict=True)]
        rows, cols = axes
        return UNKNOWN if rows is None or cols is None else Turning(rows, cols)

    # ------------------------------------------------------------ expressions

    def of(self, expr: Expr) -> Turning:
        match expr:
            case Number(value=x):
                return ZERO if x == 0 else STILL
            case Name():
                return self._name(expr)
            case Unary(op="-", operand=x):
                return self.of(x)
            case Transpose(operand=x):
                found = self.of(x)
                return UNKNOWN if self.as_vector else Turning(found.cols, found.rows, found.is_zero, found.is_known)
            case Binary(op="+" | "-", left=a, right=b):
                return self.join(self.of(a), self.of(b))
            case Binary(op="*", left=a, right=b):
                return self._product(self.of(a), self.of(b))
            case Binary(op="/", left=a, right=b):
                below = self.of(b)
                return self._product(self.of(a), below) if below.is_still and not below.is_zero else UNKNOWN
            case Binary(op="@", left=a, right=b):
                return self._contracted(self.of(a), self.of(b))
            case Call(function="where", args=(condition, a, b)):
                return self._product(self._of_still([self.of(condition)]), self.join(self.of(a), self.of(b)))
            case Call():
                return self._call(expr)
            case Unary(operand=x):
                return self.of(x) if self.of(x).is_still else UNKNOWN
            case Binary(left=a, right=b):
                return self._of_still([self.of(a), self.of(b)])
        return STILL

    def _name(self, name: Name) -> Turning:
        key = name.array_key
        if key in ("g", "grad"):
            return self.weight if key == "grad" or self.subject.values["clip_gradient"] is None else UNKNOWN
        for table in (self.known, self.kept):
            if key in table:
                return table[key]
        return UNKNOWN if name.primed else STILL

    def _of_still(self, values: list[Turning]) -> Turning:
        """What any function makes of values: it does not turn if they do not."""
        found = STILL
        for value in values:
            if not (value.is_still or value.is_zero):
                return UNKNOWN
            found = self.join(found, value)
        return found

    def _identity(self, args: tuple[Expr, ...]) -> Turning:
        match args:
            case (Name(id="rows" | "cols" as length),) if not self.as_vector:
                return Turning(Axis(length, length in self.rotated), Axis(length, length in self.rotated))
        return UNKNOWN

    def _call(self, expr: Call) -> Turning:
        function, args = expr.function, expr.args
        if (reduction := reduction_of(expr)) is not None:
            return self._reduction(expr, reduction)
        if is_draw(expr):
            return UNKNOWN
        if (known := elementwise_of(expr)) is not None:
            if known.rounds != "no":
                return self.of(args[0])
            return UNKNOWN if known.takes_matrix else self._of_still([self.of(x) for x in args])
        if function == "identity":
            return self._identity(args)
        found = self.of(args[0])
        if function == "trace":
            return STILL if found.is_known and found.rows == found.cols else UNKNOWN
        if function == "inverse_root":
            return found if found.is_known and not found.is_zero and found.rows == found.cols else UNKNOWN
        assert function in MATRIX_FUNCTIONS, function
        return UNKNOWN  # there is no rule for it

    def _reduction(self, expr: Call, what: Reduction) -> Turning:
        """A sum of products, or of squares, turns as a contraction of their factors."""
        args = expr.args
        if what.of_squares:
            return self._reduced(expr.scope, self.of(args[0]), self.of(args[0]))
        if len(args) == 2:
            return self._reduced(expr.scope, self.of(args[0]), self.of(args[1]))
        if what.is_linear:
            match args[0]:
                case Binary(op="*", left=a, right=b):
                    return self._reduced(expr.scope, self.of(a), self.of(b))
                case Binary(op="^", left=a, right=Number(value=2)):
                    return self._reduced(expr.scope, self.of(a), self.of(a))
            return self._reduced(expr.scope, self.of(args[0]), None)
        value = self.of(args[0])
        return self._reduced(expr.scope, value, None) if value.is_still else UNKNOWN


def _left(x: Axis, y: Axis | None, *, is_gone: bool) -> Axis | None:
    """The axis of a sum over it, if it `is_gone`, of a value or of products; None where it would turn otherwise."""
    if y is None:
        return None if is_gone and x.turns else Axis() if is_gone else x
    if is_gone:
        return Axis() if x.turns == y.turns and (not x.turns or x.length == y.length) else None
    if x.turns or y.turns:
        return (x if x.turns else y) if None in (x.length, y.length) else None
    return Axis(x.length or y.length)
