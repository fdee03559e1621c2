"""The expressions of a checked spec, in the order in which they were written: they are lowered as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from optgen.diagnostics import Span

REDUCTIONS = ("sum", "mean", "norm", "rms", "std", "max", "min")
"""The functions that, of one argument, compute one number from many."""
DRAWS = ("normal", "uniform", "rademacher")
"""The functions whose results are random."""


@dataclass(frozen=True)
class Number:
    """A literal. `text` is how it was written (`1e-8`), for `fmt` and LaTeX."""

    value: float
    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Name:
    """A use of a name. `primed`: `m'`, the value after this step."""

    id: str
    primed: bool
    span: Span = field(compare=False)

    @property
    def key(self) -> str:
        return self.id + "'" if self.primed else self.id


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
    """`op` is one of `+ - * / ^ < <= > >= == != and or`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class IsSet:
    """`p set`: whether a parameter that may be none has a value."""

    name: Name
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Call:
    """A call. `scope` is that of a reduction: `row` for `mean(s, per row)`, `params` for `sum(x, over params)`, `col`
    or `matrix`; None for none."""

    function: str
    args: tuple[Expr, ...]
    scope: str | None
    span: Span = field(compare=False)


Expr = Number | Name | Text | Unary | Binary | IsSet | Call


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order of evaluation."""
    match expr:
        case Unary(operand=x):
            return (x,)
        case Binary(left=a, right=b):
            return (a, b)
        case Call(args=args):
            return args
        case IsSet(name=name):
            return (name,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Every subexpression, children before parents."""
    for child in children(expr):
        yield from walk(child)
    yield expr
