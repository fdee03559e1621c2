"""The expressions of a checked spec, in the order in which they were written: they are lowered as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from optgen.axes import Axes
from optgen.diagnostics import Span
from optgen.groups import LineGroup


@dataclass(frozen=True)
class Number:
    """A literal. `text` is how it was written (`1e-8`), for `fmt` and LaTeX."""

    value: float
    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Index:
    """Which entry of a history, or which element of a local array: a sum of a whole number and of names, each times a
    whole number. The names are those of int params and of the numbers of turns."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """As a spec has it: `-1 - i`."""
        parts = [(k, name if abs(k) == 1 else f"{abs(k)}*{name}") for name, k in self.terms]
        parts = [(self.constant, str(abs(self.constant))), *parts] if self.constant or not parts else parts
        (sign, first), *rest = sorted(parts, key=lambda part: part[0] < 0)
        return f"{'-' if sign < 0 else ''}{first}" + "".join(f" {'-' if k < 0 else '+'} {x}" for k, x in rest)


@dataclass(frozen=True)
class Name:
    """A use of a name. `primed`: `m'`, the value after this step. `at`: an entry of a history, `h[-1]`."""

    id: str
    primed: bool
    span: Span = field(compare=False)
    at: Index | None = None

    @property
    def key(self) -> str:
        if self.at is not None:
            return f"{self.id}[{self.at}]".replace(" ", "")
        return self.id + "'" if self.primed else self.id

    @property
    def array_key(self) -> str:
        """The key of what all entries have in common, such as their kind; of another name, its own key."""
        return self.id if self.at is not None else self.key


@dataclass(frozen=True)
class Text:
    """A quoted choice in a flag condition: `f == 'power2'`."""

    value: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Unary:
    """`op` is `-` or `not`."""

    op: str
    operand: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Binary:
    """`op` is one of `+ - * / @ ^ < <= > >= == != and or`; `@` is the product of matrices."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Transpose:
    """`X^T`."""

    operand: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class IsSet:
    """`p set`: whether a parameter that may be none has a value."""

    name: Name
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Call:
    """A call. `scope` is that of a reduction: `row` for `mean(s, per row)`, `params` for `sum(x, over params)`, `col`,
    `matrix`, `workers`, or a group (`optgen.groups`); None for none. `dims` are the dimensions of a draw, none where it
    is for elements; a draw that is held has two arguments, the distance of updates and the first one."""

    function: str
    args: tuple[Expr, ...]
    scope: str | LineGroup | None
    span: Span = field(compare=False)
    dims: Axes = ()


Expr = Number | Name | Text | Unary | Binary | Transpose | IsSet | Call


def is_grouped(expr: Expr) -> bool:
    """Whether a node is a reduction of groups of rows or columns."""
    return isinstance(expr, Call) and isinstance(expr.scope, LineGroup)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order of evaluation."""
    match expr:
        case Unary(operand=x) | Transpose(operand=x):
            return (x,)
        case Binary(left=a, right=b):
            return (a, b)
        case Call(args=args):
            return args
        case IsSet(name=name):
            return (name,)
        case _:
            return ()


def with_children(expr: Expr, new: Sequence[Expr]) -> Expr:
    """The expression with other direct subexpressions."""
    match expr:
        case Unary() | Transpose():
            return replace(expr, operand=new[0])
        case Binary():
            return replace(expr, left=new[0], right=new[1])
        case Call():
            return replace(expr, args=tuple(new))
        case _:
            return expr


WORKERS = "workers"
"""The scope of a mean over the processes that train."""


def is_over_workers(expr: Expr) -> bool:
    """Whether a node is a mean over workers."""
    return isinstance(expr, Call) and expr.scope == WORKERS


def of_one_worker(expr: Expr) -> Expr:
    """What an expression is where there is one worker: means over workers are what they are the means of."""
    if isinstance(expr, Call) and expr.scope == WORKERS:
        return of_one_worker(expr.args[0])
    return with_children(expr, [of_one_worker(x) for x in children(expr)])


def walk(expr: Expr) -> Iterator[Expr]:
    """Every subexpression, children before parents."""
    for child in children(expr):
        yield from walk(child)
    yield expr
