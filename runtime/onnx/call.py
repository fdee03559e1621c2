"""What a translation sees and does.

A translation is a function of a Call, one node of the graph: it appends ONNX's nodes by `call.add`, and returns the
name of the value that takes the place of the node's output, or a list of names for several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from runtime.base import MXNetError
from runtime.onnx.writer import Writer, tensor_type
from runtime.symbol.graph import Entry, Node

Given = str | np.ndarray | None
"""What ONNX's nodes take: a value by its name, a constant, or None where an optional input is left out."""


def ints(values: int | Sequence[int]) -> np.ndarray:
    """A constant of whole numbers, as ONNX's nodes take shapes, axes and positions."""
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Call:
    """A node of the graph. `inputs` are the names of the values that it reads."""

    node: Node
    inputs: Sequence[str]
    writer: Writer
    shapes: Mapping[Entry, tuple[int, ...] | None]
    types: Mapping[Entry, np.dtype]
    arrays: Mapping[Entry, np.ndarray]

    # ------------------------------------------------------------ what is known of the node

    @property
    def x(self) -> str:
        """The first input."""
        return self.inputs[0]

    @property
    def values(self) -> Mapping[str, Any]:
        """The attributes, as Python values."""
        return self.node.values

    @property
    def dtype(self) -> np.dtype:
        """The element type of the first input."""
        return self.types[self.node.inputs[0]]

    def dtype_of_output(self, i: int = 0) -> np.dtype:
        return self.types[Entry(self.node, i)]

    def lengths(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an input, in which -1 stands for a length that is left open."""
        return self._known(self.node.inputs[i])

    def output_lengths(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an output, in which -1 stands for a length that is left open."""
        return self._known(Entry(self.node, i))

    def _known(self, entry: Entry) -> tuple[int, ...]:
        found = self.shapes[entry]
        if found is None:
            self.fail(f"how many axes '{entry.name}' has does not follow from the shapes of the inputs")
        return found

    def shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an input, of which all lengths must be known."""
        return self._closed(self.node.inputs[i])

    def output_shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an output, of which all lengths must be known."""
        return self._closed(Entry(self.node, i))

    def _closed(self, entry: Entry) -> tuple[int, ...]:
        found = self._known(entry)
        if -1 in found:
            self.fail(f"the lengths of '{entry.name}' must be known, but its shape is {found}; state more of in_shapes")
        return found

    def length(self, axis: int, i: int = 0) -> int:
        """The length of an input along an axis, which must be known."""
        found = self.lengths(i)[axis]
        if found == -1:
            self.fail(f"the length of axis {axis} of '{self.node.inputs[i].name}' must be known; state it in in_shapes")
        return found

    def output_length(self, axis: int) -> int:
        """The length of the first output along an axis, which must be known."""
        found = self.output_lengths()[axis]
        return found if found != -1 else self._closed(Entry(self.node))[axis]

    def rank(self, i: int = 0) -> int:
        """How many axes an input has."""
        return len(self.lengths(i))

    def axis(self, key: str = "axis") -> int:
        """An attribute that is an axis of the first input, counted from the front."""
        return self.values[key] % self.rank()

    def constant(self, i: int) -> np.ndarray | None:
        """The elements of an input that parameters alone determine; None for one that depends on the data."""
        return self.arrays.get(self.node.inputs[i])

    # ------------------------------------------------------------ what it becomes

    def add(self, operator: str, *inputs: Given, **attributes: Any) -> str:
        """Append a node of ONNX with one output, and return the output's name."""
        return self.add_many(operator, 1, *inputs, **attributes)[0]

    def add_many(self, operator: str, outputs: int, *inputs: Given, **attributes: Any) -> list[str]:
        """Append a node of ONNX with several outputs, and return their names."""
        names = [self._name(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        return self.writer.step(operator, self.node.name, names, outputs, attributes)

    def _name(self, given: Given) -> str:
        if isinstance(given, np.ndarray):
            return self.writer.shared(f"{self.node.name}/constant", given)
        return given or ""

    def number(self, value: float, dtype: np.dtype | None = None) -> np.ndarray:
        """A constant of the element type of the first input."""
        dtype = self.dtype if dtype is None else dtype
        if dtype.kind in "iu" and value != int(value):
            self.fail(f"{value} is not of its input's type, {dtype}")
        return np.array(value, dtype)

    def cast(self, x: Given, dtype: Any) -> str:
        """A value in another element type."""
        return self.add("Cast", x, to=tensor_type(np.dtype(dtype)))

    def reshape(self, x: Given, shape: Sequence[int]) -> str:
        """A value in another shape, of which one length may be -1, and lengths of 0 are those that it has."""
        return self.add("Reshape", x, ints(shape))

    def fitted(self, x: str, i: int = 0) -> str:
        """A value in the shape of an output, of which one length may be open."""
        shape = self.output_lengths(i)
        return self.reshape(x, shape if shape.count(-1) <= 1 else self.output_shape(i))

    def transpose(self, x: Given, axes: Sequence[int]) -> str:
        return self.add("Transpose", x, perm=list(axes))

    def slice(self, x: Given, axis: int, begin: int, end: int) -> str:
        """The elements of a value from `begin` to before `end` along an axis."""
        return self.add("Slice", x, ints([begin]), ints([end]), ints([axis]))

    def fail(self, reason: str) -> NoReturn:
        """Raise the error that says why the node cannot be written."""
        assert self.node.operator is not None
        raise MXNetError(f"{self.node.operator.name} '{self.node.name}' cannot be written as ONNX: {reason}")


Translation = Callable[[Call], str | list[str]]
