"""The walk through a graph: what parameters alone determine is computed, and the rest translated, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import cpu
from runtime.ndarray import NDArray
from runtime.onnx.call import Call
from runtime.onnx.translations import TRANSLATIONS
from runtime.onnx.writer import Value, Writer
from runtime.symbol import functions
from runtime.symbol.evaluate import depends_on_readers, with_shape
from runtime.symbol.graph import Entry, Node, order
from runtime.symbol.infer import shapes_of, types_of

_LOSSES = (
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "SVMOutput",
)
"""Operators whose second input, a label, their outputs do not depend on."""
_RANDOM = ("_random_", "_sample_", "_shuffle", "_image_random_", "Dropout")


class Input(NamedTuple):
    """A variable that who runs the file gives: a value of the file, and its shape, in which -1 is an open length."""

    value: Value
    shape: tuple[int, ...]


def inputs_of(entries: Sequence[Entry], params: Mapping[str, NDArray]) -> list[str]:
    """The names of the variables that are read and have no parameters; labels of losses are not read."""
    return [node.name for node in _needed(entries) if node.operator is None and node.name not in params]


def _needed(entries: Sequence[Entry]) -> list[Node]:
    """The nodes that the entries depend on when a network predicts, each after those that it reads."""
    nodes = order(entries)
    read = {x.node for x in entries}
    for node in reversed(nodes):
        if node in read:
            read.update(x.node for x in _read(node))
    return [node for node in nodes if node in read]


def _read(node: Node) -> Sequence[Entry]:
    """The inputs that the translation of a node reads: no labels, and no states that are zeros, as ONNX's are."""
    if node.operator is None or node.operator.name not in (*_LOSSES, "RNN"):
        return node.inputs
    if node.operator.name in _LOSSES:
        return node.inputs[:1]
    states = [x for x, (name, _) in zip(node.inputs, node.input_names, strict=True) if name.startswith("state")]
    if all(x.node.operator is not None and x.node.operator.name == "_zeros" for x in states):
        return [x for x in node.inputs if x not in states]
    return node.inputs


def convert(entries: Sequence[Entry], params: Mapping[str, NDArray], inputs: Sequence[Input]) -> Writer:
    """What a graph becomes, given arrays for some of its variables, and shapes and types of the others."""
    nodes = _needed(entries)
    variables = {node.name: node for node in nodes if node.operator is None}
    params = {name: x for name, x in params.items() if name in variables}
    shapes = {variables[x.value.name]: x.shape for x in inputs}
    shapes |= {variables[name]: x.shape for name, x in params.items()}
    types = {variables[x.value.name]: x.value.dtype for x in inputs}
    types |= {variables[name]: np.dtype(x.dtype) for name, x in params.items()}
    walk = _Walk(shapes_of(entries, shapes), types_of(entries, types))
    for given, _ in inputs:
        walk.writer.inputs.append(given)
        walk.names[Entry(variables[given.name])] = walk.writer.unique(given.name)
    for name, x in params.items():
        walk.arrays[Entry(variables[name])] = x.asnumpy()
    for node in nodes:
        if node.operator is not None:
            walk.visit(node)
    for entry in entries:
        walk.end(entry)
    return walk.writer


@dataclass(frozen=True)
class _Walk:
    """What is known of the entries of the graph: `names` of their values, or `arrays` of those that are constant."""

    shapes: Mapping[Entry, tuple[int, ...] | None]
    types: Mapping[Entry, np.dtype]
    writer: Writer = field(default_factory=Writer)
    names: dict[Entry, str] = field(default_factory=dict)
    arrays: dict[Entry, np.ndarray] = field(default_factory=dict)

    def visit(self, node: Node) -> None:
        assert node.operator is not None
        if self._is_constant(node):
            self._compute(node)
            return
        translation = TRANSLATIONS.get(node.operator.name)
        if translation is None:
            raise MXNetError(f"{node.operator.name} '{node.name}' cannot be written as ONNX: there is no translation")
        inputs = [self._name(x) for x in _read(node)]
        found = translation(Call(node, inputs, self.writer, self.shapes, self.types, self.arrays))
        for entry, value in zip(node.entries(), [found] if isinstance(found, str) else found, strict=False):
            self.writer.rename(value, entry.name)
            self.names[entry] = value

    def end(self, entry: Entry) -> None:
        """Make an entry an output of the file."""
        name = self._name(entry)
        if name not in self.writer.made or any(x.name == name for x in self.writer.outputs):
            name = self.writer.step("Identity", entry.name, [name], 1, {})[0]
        self.writer.outputs.append(Value(name, self.shapes[entry], self.types[entry]))

    def _name(self, entry: Entry) -> str:
        """The name of an entry's value; a constant gets one when it is first read."""
        if entry not in self.names:
            if entry not in self.arrays:
                assert entry.node.operator is not None
                raise MXNetError(
                    f"{entry.node.operator.name} '{entry.node.name}' cannot be written as ONNX: its output "
                    f"'{entry.name}' is not translated"
                )
            self.names[entry] = self.writer.constant(entry.name, self.arrays[entry])
        return self.names[entry]

    def _is_constant(self, node: Node) -> bool:
        """Whether parameters alone determine the outputs of a node."""
        assert node.operator is not None
        shapes = [self.shapes[x] for x in node.entries()]
        if any(shape is None or -1 in shape for shape in shapes) or node.operator.name.startswith(_RANDOM):
            return False
        return all(x in self.arrays for x in node.inputs)

    def _compute(self, node: Node) -> None:
        """Compute a node whose inputs are constant, as prediction does."""
        entries = node.entries()
        if not node.inputs and depends_on_readers(node):
            node = with_shape(node, self.shapes[entries[0]] or ())
        with autograd.pause(), cpu():
            inputs = [nd.array(x, dtype=x.dtype) for x in map(self.arrays.__getitem__, node.inputs)]
            outputs = functions.compute(node, inputs)
        self.arrays.update(zip(entries, (y.asnumpy() for y in outputs), strict=False))
