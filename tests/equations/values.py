"""Numbers by the names of their axes: a value of rows meets one of columns, whatever their lengths are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Axes = tuple[str, ...]
LINES = {"axis": "cols", "block": "rows"}
"""What a value of a group is repeated for: the columns of each index of an axis, the rows of each block."""


@dataclass(frozen=True)
class Value:
    """An array and the name of each of its axes. A parameter that is unset has None for an array."""

    axes: Axes
    data: Any

    @property
    def group(self) -> str | None:
        """The group that it has a number for each of, as `axis 1` or `block n`."""
        return self.axes[0] if len(self.axes) == 1 and self.axes[0].split()[0] in LINES else None


def scalar(x: Any) -> Value:
    return Value((), x if x is None else np.asarray(x)[()])


@dataclass(frozen=True)
class Shape:
    """The sizes of a parameter. `last_two`: it is a batch of matrices of its last two axes. `ints` are the int params,
    which are sizes of other axes."""

    shape: tuple[int, ...]
    last_two: bool
    ints: Mapping[str, int]

    @cached_property
    def sizes(self) -> dict[str, int]:
        shape = self.shape
        rows = shape[0] if shape else 1
        cols, matrices = math.prod(shape[1:]), 1
        if self.last_two and len(shape) > 2:
            rows, cols = shape[-2:]
            matrices = math.prod(shape[:-2])
        return {"rank": len(shape), "size": math.prod(shape), "rows": rows, "cols": cols, "matrices": matrices}

    @property
    def elements(self) -> Axes:
        return (*self.batch, "rows", "cols")

    @property
    def batch(self) -> Axes:
        return ("matrices",) if self.last_two else ()

    def axes_of(self, declared: Sequence[object]) -> Axes:
        """The axes of a state that is declared with these."""
        return (*self.batch, *map(str, declared)) if declared else ()

    def extent(self, axis: str) -> int:
        """The length of an axis."""
        word, _, number = axis.partition(" ")
        if word == "axis":
            return self.shape[int(number)]
        if word == "block":
            return self.sizes["rows"] // int(self.ints.get(number, 0) or number)
        return self.sizes[axis] if axis in self.sizes else int(self.ints[axis])

    def lengths(self, axes: Axes) -> tuple[int, ...]:
        return tuple(map(self.extent, axes))

    # ------------------------------------------------------------ groups

    def lines(self, value: Value) -> Value:
        """A value of a group, repeated for the columns or the rows that belong to it."""
        if value.group is None:
            return value
        word, _, number = value.group.partition(" ")
        if word == "block":
            return Value(("rows",), np.repeat(value.data, self.extent("rows") // len(value.data)))
        axis = int(number) % len(self.shape)
        if axis == 0:
            return Value(("rows",), value.data)
        own = [-1 if k == axis else 1 for k in range(1, len(self.shape))]
        return Value(("cols",), np.broadcast_to(value.data.reshape(own), self.shape[1:]).reshape(-1))

    def by_group(self, value: Value, group: str) -> Array:
        """The numbers of elements, columns or rows, those of each group in a line of their own."""
        word, _, number = group.partition(" ")
        if word == "block":
            return np.asarray(value.data).reshape(self.extent(group), -1)
        axis = int(number) % len(self.shape)
        if value.axes == ("cols",):
            return np.moveaxis(value.data.reshape(self.shape[1:]), axis - 1, 0).reshape(self.shape[axis], -1)
        return np.moveaxis(value.data.reshape(self.shape), axis, 0).reshape(self.shape[axis], -1)

    # ------------------------------------------------------------ meeting

    def meet(self, values: Sequence[Value]) -> tuple[Axes, list[Any]]:
        """Values that an operation takes together: their common axes, and arrays that NumPy then repeats."""
        if len({v.axes for v in values if v.axes}) > 1:
            values = [self.lines(v) for v in values]
        axes = max((v.axes for v in values), key=len)
        if any(set(v.axes) - set(axes) for v in values):  # of rows and of columns
            axes = self.elements
        return axes, [self._along(v, axes) for v in values]

    def _along(self, value: Value, axes: Axes) -> Any:
        if value.data is None or not value.axes or value.axes == axes:
            return value.data
        assert len(set(axes)) == len(axes) and set(value.axes) <= set(axes), (value.axes, axes)
        return np.asarray(value.data)[tuple(slice(None) if axis in value.axes else None for axis in axes)]

    def filled(self, value: Value, axes: Axes) -> Value:
        """A value of which a state takes its own number for each of its elements."""
        own = value if value.axes == axes else self.lines(value)
        return Value(axes, np.array(np.broadcast_to(self._along(own, axes), self.lengths(axes)), np.float64))

    def apply(self, function: Callable[..., Any], *values: Value) -> Value:
        """A function of elements, of values that meet."""
        axes, arrays = self.meet(values)
        return Value(axes, function(*arrays))
