"""What becomes an ONNX file: nodes and constants with names, until `model` makes the messages of the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from runtime.base import MXNetError, __version__

OPSET = 17
"""The version of ONNX's operators."""
_FORMAT = 8
"""The version of the file format that came with them."""
MOST_BYTES = (1 << 31) - (1 << 20)
"""A message of protobuf, which a file is, must be below 2 GiB."""


def library(name: str = "export_model") -> Any:
    """The package `onnx`; ImportError says how to install it for the function `name`."""
    try:
        import onnx
        import onnx.checker
        import onnx.printer
        import onnx.shape_inference
    except ImportError as error:
        from optgen import extras

        raise ImportError(f"{name} needs ONNX: {extras.install('onnx')}; {error}") from error
    return onnx


class Value(NamedTuple):
    """An input or output of the graph. A length of -1 or None is open, and may have a name; so is a shape of None."""

    name: str
    shape: tuple[int | str | None, ...] | None
    dtype: np.dtype


@dataclass(frozen=True)
class Step:
    """A node of the file. An array among the attributes becomes a tensor."""

    operator: str
    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: dict[str, Any]


class Writer:
    """Collects steps in their order. Each value is made once, and has a name of its own."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self._steps: list[Step] = []
        self._constants: dict[str, np.ndarray] = {}
        self._shared: dict[tuple, str] = {}
        self._taken: set[str] = set()
        self.made: set[str] = set()
        self._renamed: dict[str, str] = {}

    def unique(self, wanted: str) -> str:
        """A name that nothing else has: the wanted one, or one with a number after it."""
        name, i = wanted, 0
        while name in self._taken:
            i += 1
            name = f"{wanted}_{i}"
        self._taken.add(name)
        return name

    def constant(self, wanted: str, array: np.ndarray) -> str:
        """The name of a constant."""
        name = self.unique(wanted)
        self._constants[name] = array
        return name

    def shared(self, wanted: str, array: np.ndarray) -> str:
        """The name of a constant that no variable is. Equal small ones are one."""
        if array.size > 16:
            return self.constant(wanted, array)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._shared:
            self._shared[key] = self.constant(wanted, array)
        return self._shared[key]

    def step(self, operator: str, wanted: str, inputs: Sequence[str], count: int, attributes: dict) -> list[str]:
        """Append a node, and return the names of its outputs."""
        outputs = [self.unique(f"{wanted}/{operator}{i or ''}") for i in range(count)]
        self._steps.append(Step(operator, outputs[0], inputs, outputs, attributes))
        self.made.update(outputs)
        return outputs

    def rename(self, value: str, wanted: str) -> None:
        """Give the output of a step the name that it has in the graph; another value keeps its own."""
        if value in self.made and value not in self._renamed:
            self._renamed[value] = self.unique(wanted)

    def bytes(self) -> int:
        """The size of the constants of the file."""
        return sum(array.nbytes for array in self._read().values())

    def _read(self) -> dict[str, np.ndarray]:
        """The constants that some step reads."""
        read = {x for step in self._steps for x in step.inputs}
        return {name: array for name, array in self._constants.items() if name in read}

    def model(self, name: str) -> Any:
        """The message `ModelProto`."""
        onnx = library()
        graph = onnx.helper.make_graph(
            [self._node(onnx, step) for step in self._steps],
            name,
            [_value(onnx, x) for x in self.inputs],
            [_value(onnx, x._replace(name=self._final(x.name))) for x in self.outputs],
            [_tensor(onnx, array, key) for key, array in self._read().items()],
        )
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        return onnx.helper.make_model(
            graph, opset_imports=opsets, ir_version=_FORMAT, producer_name="optgen", producer_version=__version__
        )

    def _final(self, value: str) -> str:
        return self._renamed.get(value, value)

    def _node(self, onnx: Any, step: Step) -> Any:
        attributes = {
            key: _tensor(onnx, x, "") if isinstance(x, np.ndarray) else x for key, x in step.attributes.items()
        }
        inputs, outputs = ([self._final(x) for x in part] for part in (step.inputs, step.outputs))
        return onnx.helper.make_node(step.operator, inputs, outputs, name=step.name, **attributes)


def tensor_type(dtype: np.dtype) -> int:
    """ONNX's number of an element type."""
    try:
        return _TYPES[dtype.name]
    except KeyError:
        raise MXNetError(
            f"{dtype.name} cannot be written as ONNX here: cast the network, net.cast('float32')"
        ) from None


_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
}


def _tensor(onnx: Any, array: np.ndarray, name: str) -> Any:
    data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return onnx.helper.make_tensor(name, tensor_type(array.dtype), array.shape, data, raw=True)


def _value(onnx: Any, value: Value) -> Any:
    shape = None if value.shape is None else [None if n == -1 else n for n in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, tensor_type(value.dtype), shape)
