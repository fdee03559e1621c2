"""What a reading sees and does.

A reading is a function of a Node, one node of a file: it returns the Symbol, or a list of them, that the node computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from runtime import symbol as sym
from runtime.base import MXNetError
from runtime.symbol import Symbol

Value = Symbol | np.ndarray | None
"""What a node reads: a Symbol, a constant, or None where an optional input is left out."""


@dataclass(frozen=True)
class Known:
    """What is known of a value before it is computed: its lengths, -1 for open ones, and its element type."""

    shape: tuple[int, ...] | None
    dtype: np.dtype | None


@dataclass(frozen=True)
class Node:
    """A node of a file, of the version `opset` of ONNX's operators.

    `parameter(array, name)` is the variable of a value of the file that is a constant. `made(array, name, ending)` is
    one of an array that is made of the value called `name`, which has the same ending whenever it is made. `read` are
    the attributes that were asked for.
    """

    operator: str
    name: str
    attributes: Mapping[str, Any]
    input_names: Sequence[str]
    output_names: Sequence[str]
    values: Sequence[Value]
    known: Mapping[str, Known]
    opset: int
    parameter: Callable[[np.ndarray, str], Symbol]
    made: Callable[[np.ndarray, str, str], Symbol]
    read: set[str] = field(default_factory=set)

    # ------------------------------------------------------------ inputs

    @property
    def x(self) -> Symbol:
        """The first input."""
        return self.symbol(0)

    def has(self, i: int) -> bool:
        """Whether there is such an input."""
        return i < len(self.values) and self.values[i] is not None

    def symbol(self, i: int) -> Symbol:
        """An input as a Symbol; a constant becomes a parameter."""
        value = self.values[i] if self.has(i) else self.fail(f"it has no input {i}")
        return self.parameter(value, self.input_names[i]) if isinstance(value, np.ndarray) else value

    def symbols(self) -> list[Symbol]:
        return [self.symbol(i) for i in range(len(self.values))]

    def constant(self, i: int) -> np.ndarray | None:
        """An input that no data decide; None for any other."""
        value = self.values[i] if self.has(i) else None
        return value if isinstance(value, np.ndarray) else None

    def array(self, i: int, what: str) -> np.ndarray:
        """An input that no data may decide."""
        found = self.constant(i)
        return self.fail(f"{what}, its input {i}, depends on the data") if found is None else found

    def ints(self, name: str, i: int | None = None) -> tuple[int, ...] | None:
        """Whole numbers that are an attribute, or in later versions the input `i`; None if neither is there."""
        if i is not None and self.has(i):
            return tuple(int(n) for n in self.array(i, name).ravel())
        found = self.get(name)
        if found is None:
            return None
        numbers = np.atleast_1d(found)
        if numbers.dtype.kind not in "iub" and numbers.size:
            self.fail(f"its attribute {name} is {found}, and must be of whole numbers")
        return tuple(int(n) for n in numbers)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        self.read.add(name)
        return self.attributes.get(name, default)

    # ------------------------------------------------------------ what is known

    def shape(self, i: int = 0) -> tuple[int, ...] | None:
        """The lengths of an input, -1 for open ones; None if not even their number is known."""
        value = self.values[i]
        return value.shape if isinstance(value, np.ndarray) else self.known[self.input_names[i]].shape

    def rank(self, i: int = 0) -> int:
        """How many axes an input has."""
        shape = self.shape(i)
        return self.fail(f"how many axes '{self.input_names[i]}' has is not known") if shape is None else len(shape)

    def closed(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an input, of which all lengths must be known."""
        return self._closed(self.shape(i), self.input_names[i])

    def length(self, axis: int) -> int:
        """The length of the first input along an axis, which must be known."""
        shape = self.shape()
        found = -1 if shape is None else shape[axis]
        return (
            found if found != -1 else self.fail(f"the length of axis {axis} of '{self.input_names[0]}' must be known")
        )

    def output_shape(self) -> tuple[int, ...]:
        """The shape of the first output, of which all lengths must be known."""
        return self._closed(self.known[self.output_names[0]].shape, self.output_names[0])

    def _closed(self, shape: tuple[int, ...] | None, name: str) -> tuple[int, ...]:
        if shape is None or -1 in shape:
            self.fail(f"the shape of '{name}', {shape}, must be known")
        return shape

    def dtype(self, i: int = 0) -> np.dtype:
        """The element type of an input, float32 if it is not known."""
        value = self.values[i]
        found = value.dtype if isinstance(value, np.ndarray) else self.known[self.input_names[i]].dtype
        return np.dtype(np.float32) if found is None else found

    def axis(self, default: int, name: str = "axis") -> int:
        """An attribute that is an axis of the first input, counted from the front where the rank is known."""
        axis = self.get(name, default)
        return axis if axis >= 0 else axis + self.rank()

    # ------------------------------------------------------------ helpers

    def broadcast(self, i: int, shape: Sequence[int]) -> Symbol:
        """An input in a shape that it is broadcast to."""
        found = self.constant(i)
        if found is not None:
            return self.made(np.ascontiguousarray(np.broadcast_to(found, shape)), self.output_names[0], f"input{i}")
        x = self.symbol(i)
        for _ in range(len(shape) - self.rank(i)):
            x = sym.expand_dims(x, axis=0)
        return sym.broadcast_to(x, shape=tuple(shape))

    def fail(self, reason: str) -> NoReturn:
        """Raise the error that says why the node cannot be read."""
        raise MXNetError(
            f"{self.operator} '{self.name or self.output_names[0]}' of the ONNX file cannot be read: {reason}"
        )


Reading = Callable[[Node], Symbol | list[Symbol]]
