"""Takes products and functions of matrices out of expressions: each becomes a call, with a name for its result.

What is left of an equation is elementwise, over arrays in their one orientation (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from optgen.diagnostics import Span
from optgen.expressions import (
    Binary,
    Call,
    Expr,
    Name,
    Number,
    Transpose,
    children,
    is_grouped,
    walk,
    with_children,
)
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import elementwise_of, is_reduction, reduction_of
from optgen.groups import is_group, length, lines_of, repeats
from optgen.lang.dimensions import ValueKind, of_axes
from optgen.lang.kinds import silent, value_of
from optgen.lang.loops import loop_at
from optgen.model import Equation, Loop
from optgen.stages.folding import TreeFolding
from optgen.stages.plan import GROUPED, PARAMETER, Axes, CallStage, Operand, home


@dataclass
class Element:
    """`key = value`, elementwise, over matrices of dimensions `domain`; () if it is a number or a vector that is
    computed from others. `reduces`: it has a reduction. `narrow`: a vector for a call, which has the dtype of elements.
    `columns`: one number for each column of a square matrix, which other kernels take for its rows."""

    key: str
    value: Expr
    domain: Axes
    reduces: bool = False
    narrow: bool = False
    columns: bool = False


@dataclass
class Turns:
    """The nodes of a loop."""

    loop: Loop
    nodes: list[Node]


Node = Element | CallStage | Turns


@dataclass
class Orientation:
    """The one orientation of arrays: the axes by which a pair of dimensions is stored. Other pairs have the order of
    their first use."""

    stored: dict[frozenset[str], Axes] = field(default_factory=lambda: {frozenset(PARAMETER): PARAMETER})

    def of(self, axes: Axes) -> Axes:
        """The axes that a value of these dimensions is stored with."""
        return self.stored.setdefault(frozenset(axes), axes) if len(axes) == 2 and axes[0] != axes[1] else axes

    def is_turned(self, axes: Axes) -> bool:
        """Whether a value of these dimensions is stored as its transpose."""
        return self.of(axes) != axes


class Normalizer:
    """Makes nodes of equations. `kinds` are those of all names, by key; it gets those of new ones. `exact` are the
    arrays of the caller that a call can take as they are."""

    def __init__(
        self,
        kinds: dict[str, ValueKind | None],
        orientation: Orientation,
        exact: frozenset[str],
        equations: Sequence[Equation],
    ) -> None:
        self.kinds, self.orientation, self.exact = kinds, orientation, exact
        self.computed = {e.target.key for e in equations}
        self.carried = {e.target.id for e in equations if e.loop is not None and e.target.primed}
        self.same: dict[str, Name] = {}  # a name -> that of the same array, which may be an entry of a history
        self.symmetric: set[str] = set()
        self.nodes: list[Node] = []
        self._materialized: dict[str, str] = {}
        self._made: set[str] = set()  # the results of calls
        self._calls: dict[CallStage, str] = {}  # calls without their targets -> the keys of their results
        self._lines: dict[Expr, str] = {}  # what groups reduce -> the keys of its rows or columns
        self._count = 0
        self._groups = any(kind is not None and kind.group is not None for kind in kinds.values()) or any(
            map(is_grouped, (x for e in equations for x in walk(e.value)))
        )

    def run(self, equations: Sequence[Equation], level: int = 0) -> list[Node]:
        """The nodes of equations, of which those in the `level`-th loop around them stand together."""
        outer, self.nodes = self.nodes, []
        for loop, own in groupby(equations, key=lambda e: loop_at(e.loop, level)):
            if loop is None:
                for equation in own:
                    self.equation(equation)
            else:
                known = self._materialized, self._calls, self._lines
                # What a turn reads of these is not what was there before the loop.
                self.symmetric -= self.carried
                self._materialized = {k: x for k, x in self._materialized.items() if k not in self.carried}
                self._calls, self._lines = {}, {}
                body = self.run(list(own), level + 1)
                self._materialized, self._calls, self._lines = known
                self.nodes.append(Turns(loop, body))
        nodes, self.nodes = self.nodes, outer
        return nodes

    # ------------------------------------------------------------ equations

    def equation(self, equation: Equation) -> None:
        key, value = equation.target.key, equation.value
        if isinstance(value, Name) and key == value.key + "'" and value.key not in self.computed:
            self.same[key] = value  # a state that is kept
            return
        kind = self.kinds[key]
        is_repeated = kind is not None and kind.axes != self.axes(value)  # such as a value of each row, in each element
        if is_repeated or self.call(value, key) is None:
            self.element(key, value, keeps=equation.target.primed or key in self.carried)

    def element(self, key: str, value: Expr, *, keeps: bool, narrow: bool = False) -> None:
        """Add an elementwise node. One that only names another array is none, unless it `keeps` its value."""
        axes = self.kind(_name(key, value.span)).axes
        claim = _Claim(self.orientation.of(axes) if len(axes) == 2 else (), axes, group=group_of(axes))
        plain = self.visit(value, claim)
        if isinstance(plain, Name) and not keeps and self.axes(value):
            self.same[key] = plain
            self.symmetric |= {key} if plain.key in self.symmetric else set()
            return
        if self._is_symmetric(plain, value):
            self.symmetric.add(key)
        own = home(axes) if len(axes) == 1 and (keeps or narrow) else ()
        self.nodes.append(Element(key, plain, claim.domain or own, claim.reduces, narrow))

    def fresh(self, kind: ValueKind) -> str:
        self._count += 1
        key = f"#{self._count}"
        self.kinds[key] = kind
        return key

    # ------------------------------------------------------------ kinds

    def kind(self, expr: Expr) -> ValueKind:
        found = value_of(expr, self.kinds, silent, draw_allowed=True)
        assert found is not None, expr
        return found

    def axes(self, expr: Expr) -> Axes:
        return self.kind(expr).axes

    def home(self, expr: Expr) -> Axes:
        """The dimensions of the kernel that an array is computed in."""
        axes = self.axes(expr)
        return self.orientation.of(axes) if len(axes) == 2 else home(axes)

    def stored(self, name: Name) -> Name:
        """The name of the array that a name stands for."""
        return self.same.get(name.key, name)

    # ------------------------------------------------------------ elementwise expressions

    def visit(self, expr: Expr, claim: _Claim) -> Expr:
        """The expression without calls and transposes. `claim` learns the dimensions that it reduces over."""
        group = group_of(self.axes(expr)) if self._groups else ""
        is_compared = not isinstance(expr, Name) and bool(group) and self.kind(expr).condition  # its parts are repeated
        if group and group != claim.group and not is_compared:
            return _name(self.spread(expr, group), expr.span)
        match expr:
            case Name():
                return replace(self.stored(expr), span=expr.span)
            case Transpose(operand=x):
                return self.transpose(expr, x, claim)
            case Binary(op="@"):
                return self.result(expr)
            case Call(function=function) if function in MATRIX_FUNCTIONS:
                return self.result(expr)
            case Call() if is_grouped(expr):
                return self.grouped(expr)
            case Call() if is_reduction(expr):
                return self.reduction(expr, claim)
            case Call(function="triu" | "tril" as kept, args=(x,)) if self.orientation.is_turned(self.axes(x)):
                expr = replace(expr, function="tril" if kept == "triu" else "triu")
        return with_children(expr, [self.visit(x, claim) for x in children(expr)])

    def transpose(self, expr: Transpose, operand: Expr, claim: _Claim) -> Expr:
        axes = self.axes(operand)
        if axes[0] != axes[1] or self.is_symmetric(operand):
            return self.visit(operand, claim)
        key = self.fresh(self.kind(expr))
        self.nodes.append(CallStage("transpose", (self.operand(operand),), key))
        return _name(key, expr.span)

    def reduction(self, call: Call, claim: _Claim) -> Expr:
        """A reduction, in this kernel if that is over the same dimensions."""
        joined = call.args[0] if len(call.args) == 1 else Binary("*", call.args[0], call.args[1], call.span)
        axes = self.axes(joined)
        over = self.home(joined) if axes else claim.domain
        divided = call.scope == "col" and len(set(axes)) < len(axes)
        foreign = bool(over) and not set(claim.axes) <= set(over)
        if (claim.domain and claim.domain != over) or divided or foreign:
            key = self.fresh(self.kind(call))
            own = _Claim(over, self.axes(call), True, group_of(axes))
            self.nodes.append(Element(key, self._reduced(call, axes, own), over, True, columns=divided))
            return _name(key, call.span)
        claim.domain, claim.reduces = over, True
        outer, claim.group = claim.group, group_of(axes)
        found = self._reduced(call, axes, claim)
        claim.group = outer
        return found

    def _reduced(self, call: Call, axes: Axes, claim: _Claim) -> Call:
        scope = call.scope
        if self.orientation.is_turned(axes):
            scope = {"row": "col", "col": "row"}.get(scope or "", scope)
        return replace(call, args=tuple(self.visit(x, claim) for x in call.args), scope=scope)

    # ------------------------------------------------------------ groups of rows or columns

    def grouped(self, call: Call) -> Expr:
        """A reduction of groups: that of each row or column first, and then of those of a group."""
        assert call.scope is not None
        x, function = call.args[0], call.function
        if function == "std":
            mean = Call("mean", (x,), call.scope, call.span)
            apart = Binary("-", x, mean, call.span)
            return self.grouped(replace(call, function="rms", args=(apart,)))
        if function in ("norm", "rms"):
            squares = self.of_groups("sum" if function == "norm" else "mean", (x, x), call.scope, call.span)
            return Call("sqrt", (squares,), None, call.span)
        reduction = reduction_of(call)
        if function not in GROUPED and reduction is not None and len(call.args) == 1:
            folding = TreeFolding(lambda how, y: self.grouped(replace(call, function=how, args=(y,))), call.span)
            tree: Expr = reduction.operations(folding, x)
            return tree
        return self.of_groups("sum" if function == "dot" else function, call.args, call.scope, call.span)

    def of_groups(self, function: str, args: tuple[Expr, ...], group: str, span: Span) -> Name:
        """A sum, a mean, a largest or a smallest number of groups; of two arguments, that of their products."""
        lines = lines_of(group)
        joined = args[0] if len(args) == 1 else Binary("*", args[0], args[1], span)
        of_elements, across = len(self.axes(joined)) == 2, {"rows": "cols", "cols": "rows"}[lines]
        if of_elements:
            inner = "dot" if len(args) == 2 else "sum" if function == "mean" else function
            joined = Call(inner, args, lines[:-1], span)
        if joined not in self._lines:
            self._lines[joined] = self.fresh(of_axes(lines))
            self.element(self._lines[joined], joined, keeps=True)
        key = self._lines[joined]
        each = Name(across, False, span) if of_elements else Number(1.0, "1", span)
        numbers = (*_sizes(group), each) if function == "mean" else _sizes(group)
        return _name(self.made(CallStage(function, (Operand(key),), "", numbers), of_axes(group)), span)

    def spread(self, expr: Expr, group: str) -> str:
        """The key of a value of groups that is repeated for the rows, or the columns, of each."""
        found = self.grouped(expr) if isinstance(expr, Call) and is_grouped(expr) else expr
        known = self.stored(found).key if isinstance(found, Name) else ""
        is_array = known in self.exact or known in self._made or (known in self.computed and known.endswith("'"))
        key = known if is_array else self._materialize(found, narrow=False)
        return self.made(CallStage("spread", (Operand(key),), "", _sizes(group)), of_axes(lines_of(group)))

    def made(self, call: CallStage, kind: ValueKind) -> str:
        """The key of the result of a call, which is made once."""
        if call not in self._calls:
            key = self._calls[call] = self.fresh(kind)
            self._made.add(key)
            self.nodes.append(replace(call, target=key))
        return self._calls[call]

    # ------------------------------------------------------------ calls

    def result(self, expr: Expr) -> Name:
        """The name of the result of a call."""
        key = self.call(expr, None)
        assert key is not None
        return _name(key, expr.span)

    def call(self, expr: Expr, wanted: str | None) -> str | None:
        """Add the call that an expression is, and return the key of its result; None if it is none. `wanted` is the
        key to use."""
        match expr:
            case Binary(op="@", left=a, right=b):
                made = self.product(a, b)
            case Call(function=function, args=args) if function in MATRIX_FUNCTIONS:
                arrays = tuple(self.operand(x) for x in args if self.axes(x))
                numbers = tuple(x for x in args if not self.axes(x))
                name = "diagonal" if function == "diag" and len(self.axes(args[0])) == 2 else function
                made = CallStage(name, arrays, "", numbers)
            case _:
                return None
        kind = self.kind(expr)
        key = wanted or self.fresh(kind)
        turned = self.orientation.is_turned(kind.axes)
        if made.function == "product" and turned:  # (X @ Y)^T = Y^T @ X^T
            made = replace(made, operands=tuple(self._turned(x) for x in made.operands[::-1]))
        elif turned and made.function != "identity":
            made = replace(made, turned=True)
        known = self._calls.setdefault(made, key)
        if known == key:
            self.nodes.append(replace(made, target=key))
        elif wanted is not None and wanted.endswith("'"):
            self.nodes.append(Element(key, _name(known, expr.span), self.home(expr) if kind.axes else ()))
        else:
            self.same[key] = _name(known, expr.span)
        key = known
        self._made.add(key)
        is_square = kind.axes[:1] == kind.axes[1:]
        if made.symmetric or made.function in ("inverse_root", "diag") or (made.function == "identity" and is_square):
            self.symmetric.add(key)
        return key

    def _turned(self, operand: Operand) -> Operand:
        """The transpose of an operand."""
        return operand if operand.key in self.symmetric else replace(operand, transposed=not operand.transposed)

    def product(self, left: Expr, right: Expr) -> CallStage:
        a, b = self.operand(left), self.operand(right)
        same = a.key == b.key
        is_symmetric = same and (a.key in self.symmetric or a.transposed != b.transposed)
        vectors = tuple(k for k, side in enumerate((left, right)) if len(self.axes(side)) == 1)
        return CallStage("product", (a, b), "", symmetric=is_symmetric, vectors=vectors)

    def operand(self, expr: Expr) -> Operand:
        """An array that a call takes, computed before if it is none yet."""
        axes, times = self.axes(expr), 0
        while isinstance(expr, Transpose):
            expr, times = expr.operand, times + 1
        inner = self.axes(expr)
        turned = (times % 2 == 1) != self.orientation.is_turned(inner)
        if len(axes) == 1:
            made = self.stored(expr).key if isinstance(expr, Name) else ""
            return Operand(made if made in self._made else self._materialize(expr, narrow=True))
        key = self.call(expr, None)
        if key is None and isinstance(expr, Name):
            stored = self.stored(expr)
            known = stored.key in self.exact or self._is_computed(stored.key)
            key = stored.key if known else self._materialize(stored, narrow=False)
        elif key is None:
            key = self._materialize(expr, narrow=False)
        return Operand(key, turned and not (inner[0] == inner[1] and key in self.symmetric))

    def _is_computed(self, key: str) -> bool:
        return key.startswith("#") or key in self.computed

    def _materialize(self, expr: Expr, *, narrow: bool) -> str:
        """An array with the values of an expression."""
        known = expr.key if isinstance(expr, Name) and not narrow else ""
        if known in self._materialized:
            return self._materialized[known]
        kind = self.kind(expr)
        key = self.fresh(kind)
        self.element(key, expr, keeps=True, narrow=narrow)
        if known:
            self._materialized[known] = key
        return key

    # ------------------------------------------------------------ symmetry

    def is_symmetric(self, expr: Expr) -> bool:
        """Whether a square matrix is known to be symmetric to the bit."""
        if isinstance(expr, Name):
            return self.stored(expr).key in self.symmetric
        return False

    def _is_symmetric(self, plain: Expr, value: Expr) -> bool:
        """Whether an elementwise expression of symmetric matrices is one itself."""
        axes = self.axes(value)
        if len(axes) != 2 or axes[0] != axes[1]:
            return False
        if any(isinstance(e, Call) and (x := elementwise_of(e)) and x.takes_matrix for e in walk(plain)):
            return False
        leaves = [e for e in walk(plain) if isinstance(e, Name) and self.axes(e)]
        return bool(leaves) and all(e.key in self.symmetric for e in leaves)


@dataclass
class _Claim:
    """The dimensions that an equation is over, as far as they are known. They have those of its value, `axes`. Values
    of `group` are read as they are, and those of other groups as they are repeated for rows or columns."""

    domain: Axes
    axes: Axes
    reduces: bool = False
    group: str = ""


def group_of(axes: Axes) -> str:
    """The group of rows or columns that a value of these dimensions has a number for each of; empty if it has none."""
    return axes[0] if len(axes) == 1 and is_group(axes[0]) else ""


def _sizes(group: str) -> tuple[Name, ...]:
    """The numbers of a call of groups."""
    return tuple(Name(name, False, Span(0, 0, 0)) for name in (group, length(group), repeats(group)))


def names_of(value: Expr) -> Iterator[str]:
    """The keys that an expression reads. All elements of an array that a loop fills have one key."""
    return (e.id if is_array(e) else e.key for e in walk(value) if isinstance(e, Name))


ARRAY = "[]"
"""What the key of an array that a loop fills ends with."""


def is_array(name: Name) -> bool:
    """Whether a name is an element of an array that a loop fills."""
    return name.id.endswith(ARRAY)


def _name(key: str, span: Span) -> Name:
    return Name(key.removesuffix("'"), key.endswith("'"), span)
