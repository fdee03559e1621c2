"""The types of values: along which dimensions there are numbers, of which dtype, and when a number is known."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Literal

import numpy as np

from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Dimensioned, Kind, When, join_known

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
class Type(Dimensioned):
    """Along which dimensions a value has numbers, of what type they are, and of one number when it is known."""

    axes: Axes
    dtype: DType
    known: When = When.TENSOR

    def of(self, dtype: DType) -> Type:
        """As many numbers, of another dtype."""
        return self if dtype == self.dtype else Type(self.axes, dtype, self.known)

    def __str__(self) -> str:
        kind = self.kind.value if self.kind is not Kind.MATRIX else "*".join(map(str, self.axes)).replace(" ", ".")
        return f"{kind} {self.dtype}"


@dataclass(frozen=True)
class Value:
    """An SSA value; `id` is unique in its kernel."""

    id: str
    type: Type

    def __str__(self) -> str:
        return f"%{self.id}"


def joined_axes(*axes: Axes) -> Axes:
    """The dimensions of a result. A value of rows and one of columns make elements."""
    return ELEMENTS if ROWS in axes and COLS in axes else max(axes, key=len, default=())


def joined(*types: Type) -> Type:
    """The type of a result that has a number wherever its operands have, and which is known when all of them are; its
    dtype is that of the first one."""
    if not types:
        return Type((), "f64", When.UNIFORM)
    first, *others = types
    if not others or all([t.axes == first.axes and t.known is first.known for t in others]):
        return first
    return Type(joined_axes(*[t.axes for t in types]), first.dtype, join_known(*[t.known for t in types]))
