"""`import_model`, `get_model_metadata`: a file becomes a graph and its parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime import symbol as sym
from runtime.base import MXNetError, did_you_mean
from runtime.ndarray import NDArray
from runtime.onnx.reading import READINGS
from runtime.onnx.reading.node import Known, Node, Value
from runtime.onnx.writer import MOST_BYTES, library
from runtime.symbol import Symbol

File = str | os.PathLike[str]


def import_model(model_file: File) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The graph of an ONNX file, its parameters and its auxiliary states by name.

    Inputs without values are variables of their names. ImportError if `onnx`, an extra, is missing. MXNetError for a
    file that is none, and for a node that cannot be read; it names the file and the node.
    """
    reader = _Reader(_loaded(model_file))
    try:
        graph = reader.graph()
    except MXNetError as error:
        raise MXNetError(f"import_model: '{os.fspath(model_file)}': {error}") from error
    states = set(graph.list_auxiliary_states())
    used = states.union(graph.list_arguments())
    arrays = {name: nd.array(x, dtype=x.dtype) for name, x in reader.parameters.items() if name in used}
    return graph, *({key: x for key, x in arrays.items() if (key in states) is part} for part in (False, True))


def get_model_metadata(model_file: File) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of inputs ('input_tensor_data') and outputs ('output_tensor_data'); open lengths are 0."""
    graph = _loaded(model_file).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    return {
        key: [(value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim)) for value in values]
        for key, values in (("input_tensor_data", inputs), ("output_tensor_data", graph.output))
    }


def _loaded(file: File) -> Any:
    onnx = library("import_model")
    try:
        return onnx.load_model(os.fspath(file))
    except OSError as error:
        raise MXNetError(f"import_model: {error}") from error
    except Exception as error:  # that of protobuf belongs to a package that need not be there
        raise MXNetError(f"'{os.fspath(file)}' is no ONNX file: {error}") from error


class _Reader:
    """Walks through the nodes of a file. `parameters` are the constants that its graph reads."""

    def __init__(self, model: Any) -> None:
        self.onnx = library("import_model")
        self.model, self.parameters = model, dict[str, np.ndarray]()
        self._values: dict[str, Value] = {"": None}
        self._opset = next((x.version for x in model.opset_import if x.domain in ("", "ai.onnx")), 1)
        self._made: dict[str, Symbol] = {}

    def graph(self) -> Symbol:
        proto, to_array = self.model.graph, self.onnx.numpy_helper.to_array
        self._known = self._inferred()
        self._values |= {tensor.name: to_array(tensor) for tensor in proto.initializer}
        for value in proto.input:
            self._values.setdefault(value.name, sym.var(value.name))
        for node in proto.node:
            for name, value in zip(node.output, self._read(node), strict=False):
                self._values[name] = value
        outputs = []
        for output in proto.output:
            value = self._value(output.name, "the graph")
            outputs.append(self._parameter(value, output.name) if isinstance(value, np.ndarray) else value)
        return outputs[0] if len(outputs) == 1 else sym.Group(outputs)

    def _value(self, name: str, reader: str) -> Value:
        if name not in self._values:
            raise MXNetError(
                f"{reader} needs '{name}', which no node before it computes, or only as a further output that cannot "
                "be read"
            )
        return self._values[name]

    def _parameter(self, array: np.ndarray, name: str) -> Symbol:
        """The variable of a constant; MXNet has no arrays without axes, nor of truth values."""
        found = self._made.get(name)
        if found is None:
            array = array.astype(np.float32) if array.dtype == bool else array
            self.parameters[name] = array.reshape(array.shape or (1,))
            found = self._made[name] = sym.var(name, shape=self.parameters[name].shape, dtype=array.dtype)
        return found

    def _inferred(self) -> dict[str, Known]:
        """What ONNX knows of the values."""
        inferred = self.onnx.shape_inference.infer_shapes(self.model).graph
        found = {}
        for value in (*inferred.input, *inferred.value_info, *inferred.output):
            tensor = value.type.tensor_type
            shape = tuple(d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
            dtype = self.onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else None
            found[value.name] = Known(shape if tensor.HasField("shape") else None, dtype)
        return found

    # ------------------------------------------------------------ nodes

    def _read(self, node: Any) -> Sequence[Value]:
        """What a node computes: constants, if all that it reads are."""
        values = [self._value(name, f"{node.op_type} '{node.name}'") for name in node.input]
        try:
            folded = self._folded(node, values)
            if folded is not None:
                return folded
            reading = READINGS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
            if reading is None:
                raise MXNetError(
                    f"the operator {node.domain and node.domain + '.'}{node.op_type} of node '{node.name}' cannot be "
                    f"read{did_you_mean(node.op_type, READINGS)}"
                )
            found = reading(self._node(node, values))
        except (MXNetError, ImportError):
            raise
        except Exception as error:  # NumPy's, or the evaluator's, of a node that breaks ONNX's rules
            raise MXNetError(f"{node.op_type} '{node.name}' cannot be read: {error}") from error
        return found if isinstance(found, list) else [found]

    def _node(self, node: Any, values: list[Value]) -> Node:
        known = {name: self._known.get(name, Known(None, None)) for name in (*node.input, *node.output)}
        return Node(
            node.op_type, node.name, _attributes(self.onnx, node), node.input, node.output, values, known,
            self._opset, self._parameter,
        )  # fmt: skip

    def _folded(self, node: Any, values: list[Value]) -> list[np.ndarray] | None:
        """The outputs of a node that no data decide, by ONNX's own evaluator; None for one that they do."""
        if node.op_type == "Shape":
            known = self._known.get(node.input[0], Known(None, None)).shape
            if known is not None and -1 not in known:
                values = [np.empty(known)]
        if any(isinstance(value, Symbol) for value in values) or node.op_type in _DRAWN:
            return None
        for name in node.output:
            known = self._known.get(name, Known(None, None))
            if math.prod(known.shape or ()) * (known.dtype or np.dtype(np.float32)).itemsize > MOST_BYTES:
                raise MXNetError(f"{node.op_type} '{node.name}' computes a constant of shape {known.shape}, over 2 GiB")
        from onnx.reference import ReferenceEvaluator

        helper = self.onnx.helper
        given = {name: value for name, value in zip(node.input, values, strict=True) if name}
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()
        ]
        outputs = [self.onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "constant", inputs, outputs)
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=self.model.opset_import))
        found = dict(zip([x.name for x in outputs], evaluator.run(None, given), strict=True))
        return [np.asarray(found[name]) if name else None for name in node.output]


_DRAWN = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")


def _attributes(onnx: Any, node: Any) -> Mapping[str, Any]:
    found = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
    return {key: x.decode() if isinstance(x, bytes) else x for key, x in found.items()}
