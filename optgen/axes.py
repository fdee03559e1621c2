"""What a value is: along which dimensions it has numbers, and when a number is known (docs/language.md, "kinds")."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from optgen.groups import is_group

Axis = str
Axes = tuple[Axis, ...]
ROWS: Axes = ("rows",)
COLS: Axes = ("cols",)
ELEMENTS: Axes = ("rows", "cols")
"""The dimensions of the parameter, and of what has a number for each of its rows or columns."""


class When(Enum):
    """When a number is known, and for what there is one."""

    UNIFORM = "uniform"  # a host value that is the same for all parameters; no state is declared so
    HOST = "host"  # one double per parameter and step, known before any element is read
    SHARED = "shared"  # one double per step for all parameters
    TENSOR = "tensor"  # one double per parameter, from a reduction


class Kind(Enum):
    """How many numbers a value is, and when they are known, in one word: that of the language."""

    UNIFORM = "uniform"
    HOST = "host"
    SHARED = "shared"
    TENSOR = "tensor"
    ROW = "row"
    COL = "col"
    ELEM = "elem"
    MATRIX = "matrix"  # of other dimensions, which its declaration names


AXES: Mapping[Kind, Axes] = {Kind.ROW: ROWS, Kind.COL: COLS, Kind.ELEM: ELEMENTS}
"""The dimensions of the kinds that have them always."""
_OF_NUMBERS = {known: Kind(known.value) for known in When}
_OF_AXES = {axes: kind for kind, axes in AXES.items()}
_ORDER = {known: k for k, known in enumerate(When)}


def kind_of(axes: Axes, known: When = When.TENSOR) -> Kind:
    """The kind of what has numbers along these axes, or of one number that is known then."""
    return _OF_AXES.get(axes, Kind.MATRIX) if axes else _OF_NUMBERS[known]


class Dimensioned:
    """What has a number for each place along its `axes`, or one number without axes. `known` says when it is known: of
    axes, as `TENSOR` is."""

    axes: Axes
    known: When

    @property
    def kind(self) -> Kind:
        """How many numbers, and when they are known, in one word."""
        return kind_of(self.axes, self.known)

    @property
    def is_element(self) -> bool:
        """Whether there is a number for each element of a matrix."""
        return len(self.axes) == 2

    @property
    def group(self) -> str | None:
        """The group of rows or columns (`optgen.groups`) that there is a number for each of; None if there is none."""
        return self.axes[0] if len(self.axes) == 1 and is_group(self.axes[0]) else None

    @property
    def declared(self) -> str:
        """As a state of it is declared."""
        return " x ".join(self.axes) if self.kind is Kind.MATRIX else self.kind.value


def of_kind(kind: Kind, dims: Axes = ()) -> tuple[Axes, When]:
    """The axes of a kind, which for MATRIX are `dims`, and when its numbers are known."""
    axes = AXES.get(kind, dims)
    return axes, When.TENSOR if axes else When(kind.value)


def join_known(*known: When) -> When:
    """When a number is known that is computed from others. One that is shared and one that differs between tensors make
    one of each tensor."""
    last = max(known, key=_ORDER.__getitem__, default=When.UNIFORM)
    return When.TENSOR if last is When.SHARED and When.HOST in known else last
