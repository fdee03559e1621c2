"""The types of values: a kind, which says how many there are, and a dtype."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Literal

import numpy as np

from optgen.model import Kind

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
    """`kind`: how many numbers a value is; `dtype`: of what type they are."""

    kind: Kind
    dtype: DType

    def __str__(self) -> str:
        return f"{self.kind.value} {self.dtype}"


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
