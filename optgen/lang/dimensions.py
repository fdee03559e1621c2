"""The kinds of values, and how they are joined: how many numbers a value is, and when they are known."""

from __future__ import annotations

from dataclasses import dataclass

from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Dimensioned, Kind, When, join_known, shown

MEANING = {
    Kind.HOST: "a host value",
    Kind.SHARED: "shared by all parameters",
    Kind.TENSOR: "per tensor",
    Kind.ROW: "per row",
    Kind.COL: "per column",
    Kind.ELEM: "per element",
}


@dataclass(frozen=True)
class ValueKind(Dimensioned):
    """The kind of a value. `condition`: true or false, no number. A constant is a host value that is the same for all
    parameters."""

    axes: Axes = ()
    known: When = When.TENSOR
    condition: bool = False

    @property
    def kind(self) -> Kind:
        """The kind in the words of the language: that of a constant is host."""
        return Kind.HOST if self.is_constant else super().kind

    @property
    def is_constant(self) -> bool:
        return self.known is When.UNIFORM

    @property
    def lines(self) -> ValueKind:
        """Its kind when it is repeated for each row, or for each column, of a group."""
        return ValueKind((self.group.lines,)) if self.group is not None else self

    @property
    def meaning(self) -> str:
        """How many numbers it is, in words."""
        if self.group is not None:
            return f"per {self.group}"
        return shown(self.axes) if self.kind is Kind.MATRIX else MEANING[self.kind]


CONSTANT = ValueKind((), When.UNIFORM)


def join(a: ValueKind, b: ValueKind) -> ValueKind | None:
    """The kind of a value that is computed from both; None if their dimensions do not agree.

    A vector is repeated along the other dimension of a matrix. A square matrix has no other one. A value of groups is
    repeated for the rows, or the columns, of each.
    """
    if a.is_constant or b.is_constant:
        return b if a.is_constant else a
    if (a.axes, a.known) == (b.axes, b.known):
        return a
    if a.group is not None and b.group is not None:
        return join(a.lines, b.lines)
    if a.group is not None or b.group is not None:
        grouped, other = (a, b) if a.group is not None else (b, a)
        return join(grouped.lines, other) if other.axes else grouped
    if {a.axes, b.axes} == {ROWS, COLS}:
        return ValueKind(ELEMENTS)
    small, large = sorted((a, b), key=lambda value: len(value.axes))
    if not large.axes:
        return ValueKind((), join_known(a.known, b.known))
    agree = len(small.axes) < len(large.axes) and all(large.axes.count(axis) == 1 for axis in small.axes)
    return ValueKind(large.axes) if agree else None


def fits(value: ValueKind, kind: ValueKind) -> bool:
    """Whether a state of this kind can take the value, as it is or repeated."""
    if value.is_constant or (value.axes, value.known) == (kind.axes, kind.known):
        return True
    return kind.known is When.TENSOR and join(value, kind) == kind
