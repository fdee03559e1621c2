"""What a value is: along which dimensions it has numbers, and when a number is known (docs/language.md, "kinds")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from optgen.groups import LineGroup

Axis = str | int | LineGroup
"""A dimension: `rows`, `cols` or an int param, by name; a number; or groups of rows or columns."""
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


def shown(axes: Axes) -> str:
    """`rows x block 4`."""
    return " x ".join(map(str, axes))


def axis_of(text: str) -> Axis:
    """The dimension of its text in a file: `rows`, `8` or `block n`."""
    word, _, of = text.partition(" ")
    return LineGroup("axis" if word == "axis" else "block", count_of(of)) if of else count_of(word)


def count_of(text: str) -> int | str:
    """A number, or the name of a param, of its text in a file."""
    return int(text) if text.removeprefix("-").isdigit() else text


def param_of(axis: Axis) -> str | None:
    """The int param that a dimension names, or says how many rows a block has; None if there is none."""
    name = axis.of if isinstance(axis, LineGroup) else axis
    return name if isinstance(name, str) and name not in ELEMENTS else None


def sized(axis: Axis, sizes: Mapping[str, int]) -> Axis:
    """A dimension with a number in the place of a param of these."""
    name = param_of(axis)
    if name is None or name not in sizes:
        return axis
    return replace(axis, of=sizes[name]) if isinstance(axis, LineGroup) else sizes[name]


def length_of(axis: Axis, values: Mapping[str, float | None]) -> int:
    """The length of a dimension; `values` has sizes, params, and the numbers of groups, by name."""
    return axis if isinstance(axis, int) else int(values[str(axis)] or 0)


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
    def group(self) -> LineGroup | None:
        """The group of rows or columns that there is a number for each of; None if there is none."""
        return self.axes[0] if len(self.axes) == 1 and isinstance(self.axes[0], LineGroup) else None

    @property
    def declared(self) -> str:
        """As a state of it is declared."""
        return shown(self.axes) if self.kind is Kind.MATRIX else self.kind.value


def of_kind(kind: Kind, dims: Axes = ()) -> tuple[Axes, When]:
    """The axes of a kind, which of MATRIX are `dims`, and when its numbers are known. ValueError for MATRIX alone."""
    axes = AXES.get(kind, dims)
    return axes, When.TENSOR if axes else When(kind.value)


def join_known(*known: When) -> When:
    """When a number is known that is computed from others. One that is shared and one that differs between tensors make
    one of each tensor."""
    last = max(known, key=_ORDER.__getitem__, default=When.UNIFORM)
    return When.TENSOR if last is When.SHARED and When.HOST in known else last
