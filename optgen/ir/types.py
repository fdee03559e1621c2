"""The types of values: a kind, which says how many there are, and a dtype."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Literal

import numpy as np

from optgen.groups import is_group
from optgen.model import AXES, Kind, kind_of_dims

DType = Literal["f64", "f32", "i64", "i32", "b1"]

COMPUTE: dict[str, DType] = {"float32": "f32", "float64": "f64", "float16": "f32", "bfloat16": "f32"}
"""The dtype in which elements are computed, by the dtype of the parameters."""

EPSILONS: dict[str, float] = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The machine epsilon of each dtype: the distance from 1 to the next larger number."""


LEAST_NORMAL = 2.0**-126
"""The smallest magnitude of a float32 but 0: nothing smaller is stored, computed or read in a sweep."""
LEAST_ROUNDED = 2.0**-126 - 2.0**-151
"""The smallest magnitude that becomes LEAST_NORMAL or more once it is rounded to 24 bits."""


def constant_f32(x: float) -> float:
    """x as a float32 constant: rounded to nearest even, or a zero of its sign where that is below LEAST_NORMAL."""
    with np.errstate(over="ignore"):
        return float(np.float32(x)) if not abs(x) < LEAST_ROUNDED else copysign(0.0, x)


@dataclass(frozen=True)
class Type:
    """`kind`: how many numbers a value is; `dtype`: of what type they are. `dims` are the dimensions of a value of
    other ones than the parameter's, whose kind is matrix."""

    kind: Kind
    dtype: DType
    dims: tuple[str, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The dimensions, whatever the kind; () of a number."""
        return self.dims or AXES.get(self.kind, ())

    @property
    def group(self) -> str:
        """The group of rows or columns (`optgen.groups`) that there is a number for each of; empty if there is none."""
        return self.dims[0] if len(self.dims) == 1 and is_group(self.dims[0]) else ""

    @property
    def is_element(self) -> bool:
        """Whether there is a number for each element of a matrix."""
        return self.kind is Kind.ELEM or len(self.dims) == 2

    def of(self, dtype: DType) -> Type:
        """As many numbers, of another dtype."""
        return self if dtype == self.dtype else Type(self.kind, dtype, self.dims)

    def __str__(self) -> str:
        return f"{'*'.join(self.dims).replace(' ', '.') or self.kind.value} {self.dtype}"


@dataclass(frozen=True)
class Value:
    """An SSA value; `id` is unique in its kernel."""

    id: str
    type: Type

    def __str__(self) -> str:
        return f"%{self.id}"


_ORDER = {
    kind: k for k, kind in enumerate((Kind.UNIFORM, Kind.HOST, Kind.SHARED, Kind.TENSOR, Kind.ROW, Kind.COL, Kind.ELEM))
}


def join(*kinds: Kind) -> Kind:
    """The kind of a result: the largest of the operands' kinds.

    A row value and a column value make an element. A shared value and one that differs between tensors make a tensor
    value.
    """
    if Kind.ROW in kinds and Kind.COL in kinds:
        return Kind.ELEM
    largest = max(kinds, key=_ORDER.__getitem__, default=Kind.UNIFORM)
    return Kind.TENSOR if largest is Kind.SHARED and Kind.HOST in kinds else largest


def joined(*types: Type) -> Type:
    """The type of a result that has a number wherever its operands have; its dtype is that of the first one."""
    if not types:
        return Type(Kind.UNIFORM, "f64")
    first, *others = types
    if not others or all([t.kind is first.kind and t.dims == first.dims for t in others]):
        return first
    kinds = [t.kind for t in types]
    if Kind.MATRIX not in kinds:
        return Type(join(*kinds), first.dtype)
    return of_axes(max((t.axes for t in types), key=len), first.dtype)


def of_axes(axes: tuple[str, ...], dtype: DType) -> Type:
    """The type of a value with a number for each place along these dimensions."""
    kind, dims = kind_of_dims(axes)
    return Type(kind, dtype, dims)
