"""The kinds of values, and how they are joined: how many numbers a value is, and when they are known."""

from __future__ import annotations

from dataclasses import dataclass

from optgen.groups import is_group, lines_of
from optgen.model import AXES, Kind, kind_of_dims

MEANING = {
    Kind.HOST: "a host value",
    Kind.SHARED: "shared by all parameters",
    Kind.TENSOR: "per tensor",
    Kind.ROW: "per row",
    Kind.COL: "per column",
    Kind.ELEM: "per element",
}


@dataclass(frozen=True)
class ValueKind:
    """The kind of a value, and its dimensions if that is MATRIX. `uniform`: host, and the same for all parameters.
    `condition`: true or false, no number."""

    kind: Kind
    uniform: bool = False
    condition: bool = False
    dims: tuple[str, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The dimensions, whatever the kind."""
        return self.dims or AXES.get(self.kind, ())

    @property
    def group(self) -> str | None:
        """The groups of rows or columns for each of which it has one number; None if it has no such groups."""
        return self.dims[0] if len(self.dims) == 1 and is_group(self.dims[0]) else None

    @property
    def lines(self) -> ValueKind:
        """Its kind when it is repeated for each row, or for each column, of a group."""
        return of_axes(lines_of(self.group)) if self.group is not None else self

    @property
    def meaning(self) -> str:
        """How many numbers it is, in words."""
        if self.group is not None:
            return f"per {self.group}"
        return " x ".join(self.dims) if self.kind is Kind.MATRIX else MEANING[self.kind]

    @property
    def declared(self) -> str:
        """As a state of it is declared."""
        return " x ".join(self.dims) or self.kind.value


CONSTANT = ValueKind(Kind.HOST, uniform=True)


def of_axes(*axes: str) -> ValueKind:
    """The kind of a value with a number for each of these dimensions."""
    kind, dims = kind_of_dims(axes)
    return ValueKind(kind, dims=dims)


def join(a: ValueKind, b: ValueKind) -> ValueKind | None:
    """The kind of a value that is computed from both; None if their dimensions do not agree.

    A vector is repeated along the other dimension of a matrix. A square matrix has no other one. A value of groups is
    repeated for the rows, or the columns, of each.
    """
    if a.uniform or b.uniform:
        return b if a.uniform else a
    if (a.kind, a.dims) == (b.kind, b.dims):
        return a
    if a.group is not None and b.group is not None:
        return join(a.lines, b.lines)
    if a.group is not None or b.group is not None:
        grouped, other = (a, b) if a.group is not None else (b, a)
        return join(grouped.lines, other) if other.axes else grouped
    kinds = {a.kind, b.kind}
    if Kind.MATRIX in kinds:
        small, large = sorted((a, b), key=lambda value: len(value.axes))
        agree = len(small.axes) < len(large.axes) and all(large.axes.count(axis) == 1 for axis in small.axes)
        return large if agree else None
    if Kind.ELEM in kinds or kinds == {Kind.ROW, Kind.COL}:
        return ValueKind(Kind.ELEM)
    return ValueKind(next((k for k in (Kind.ROW, Kind.COL) if k in kinds), Kind.TENSOR))


def fits(value: ValueKind, kind: ValueKind) -> bool:
    """Whether a state of this kind can take the value, as it is or repeated."""
    if value.uniform or (value.kind, value.dims) == (kind.kind, kind.dims):
        return True
    return kind.kind not in (Kind.HOST, Kind.SHARED) and join(value, kind) == kind
