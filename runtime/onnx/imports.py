"""`import_model`, `get_model_metadata`: a file becomes a graph and its parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime import symbol as sym
from runtime.base import MXNetError, did_you_mean
from runtime.ndarray import NDArray
from runtime.onnx.reading import READINGS
from runtime.onnx.reading.node import Known, Node, Value
from runtime.onnx.writer import library
from runtime.symbol import Symbol

File = str | os.PathLike[str]


def import_model(model_file: File) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """The graph of an ONNX file, its parameters and its auxiliary states by name.

    Inputs without values are variables of their names. ImportError if `onnx`, an extra, is missing. MXNetError for a
    file that is none, and for an operator that cannot be read, which it names.
    """
    model = _loaded(model_file)
    reader = _Reader(model)
    graph = reader.graph()
    states = set(graph.list_auxiliary_states())
    used = states.union(graph.list_arguments())
    arrays = {name: nd.array(x, dtype=x.dtype) for name, x in reader.parameters.items() if name in used}
    return graph, *({key: x for key, x in arrays.items() if (key in states) is part} for part in (False, True))


def get_model_metadata(model_file: File) -> dict[str, list[tuple[Any, ...]]]:
    """Inputs ('input_tensor_data') as names, shapes and ONNX's numbers of types, and outputs ('output_tensor_data') as
    names and shapes; open lengths are 0."""
    graph = _loaded(model_file).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    return {
        "input_tensor_data": [(x.name, _shape(x), x.type.tensor_type.elem_type) for x in inputs],
        "output_tensor_data": [(x.name, _shape(x)) for x in graph.output],
    }


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(d.dim_value for d in value.type.tensor_type.shape.dim)


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
        self._variables: dict[str | tuple[str, str], Symbol] = {}
        self._computed = 0  # elements of constants that were computed

    def graph(self) -> Symbol:
        proto, to_array = self.model.graph, self.onnx.numpy_helper.to_array
        if not proto.output:
            raise MXNetError("import_model: the file has no graph with outputs")
        with _named("the shapes of the ONNX file"):
            self._known = self._inferred()
        listed = (value.name for value in (*proto.input, *proto.initializer))
        self._names = {*listed, *(name for node in proto.node for name in node.output)}
        for tensor in proto.initializer:
            with _named(f"the constant '{tensor.name}' of the ONNX file"):
                self._values[tensor.name] = to_array(tensor)
        for value in proto.input:
            self._values.setdefault(value.name, sym.var(value.name))
        for node in proto.node:
            with _named(f"{node.op_type} '{node.name or next(iter(node.output), '')}' of the ONNX file"):
                found = self._read(node)
            self._values |= zip(node.output, found, strict=False)
        outputs = [self._symbol(value.name) for value in proto.output]
        return outputs[0] if len(outputs) == 1 else sym.Group(outputs)

    def _value(self, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        makers = [node for node in self.model.graph.node if name in node.output]
        if not makers:
            raise MXNetError(f"import_model: '{name}' is read, and nothing in the file gives it")
        if name in makers[0].output[:1]:
            raise MXNetError(
                f"import_model: '{name}' is read before {makers[0].op_type} '{makers[0].name}' computes it: the nodes "
                "are a cycle, or not in order"
            )
        raise MXNetError(f"import_model: '{name}', a further output of a node, cannot be read")

    def _symbol(self, name: str) -> Symbol:
        value = self._value(name)
        return self._parameter(value, name) if isinstance(value, np.ndarray) else value

    def _parameter(self, array: np.ndarray, name: str) -> Symbol:
        """The variable of a constant; MXNet has no arrays without axes, nor of truth values."""
        if name not in self._variables:
            self._variables[name] = self._variable(array, name)
        return self._variables[name]

    def _made_of(self, array: np.ndarray, name: str, ending: str) -> Symbol:
        """The variable of a constant that is made of the value `name`; it is called so that no other has its name."""
        if (name, ending) not in self._variables:
            own = f"{name}_{ending}"
            while own in self._names or own in self.parameters:
                own += "_"
            self._variables[name, ending] = self._variable(array, own)
        return self._variables[name, ending]

    def _variable(self, array: np.ndarray, name: str) -> Symbol:
        array = array.astype(np.float32) if array.dtype == bool else array
        self.parameters[name] = array.reshape(array.shape or (1,))
        return sym.var(name, shape=self.parameters[name].shape, dtype=array.dtype)

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
        values = [self._value(name) for name in node.input]
        folded = self._folded(node, values)
        if folded is not None:
            return folded
        reading = READINGS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if reading is None:
            raise MXNetError(
                f"import_model: the operator {node.domain and node.domain + '.'}{node.op_type} of node "
                f"'{node.name}' cannot be read{did_you_mean(node.op_type, READINGS)}"
            )
        given = self._node(node, values)
        found = reading(given)
        for key in given.attributes.keys() - given.read - HARMLESS:
            if given.attributes[key] != self._default(node.op_type, key):
                given.fail(f"nothing computes its attribute {key}={given.attributes[key]}")
        return found if isinstance(found, list) else [found]

    def _default(self, operator: str, key: str) -> Any:
        """The default of an attribute; None if it has none."""
        schema = self.onnx.defs.get_schema(operator, self._opset, "")
        known = schema.attributes.get(key)
        value = known and self.onnx.helper.get_attribute_value(known.default_value)
        return value.decode() if isinstance(value, bytes) else value

    def _node(self, node: Any, values: list[Value]) -> Node:
        known = {name: self._known.get(name, Known(None, None)) for name in (*node.input, *node.output)}
        return Node(
            node.op_type, node.name, _attributes(self.onnx, node), node.input, node.output, values, known,
            self._opset, self._parameter, self._made_of,
        )  # fmt: skip

    def _folded(self, node: Any, values: list[Value]) -> list[np.ndarray] | None:
        """The outputs of a node that no data decide, by ONNX's own evaluator; None for one that they do, and for one
        that is not worth its time or memory."""
        if node.op_type == "Shape":
            known = self._known.get(node.input[0], Known(None, None)).shape
            if known is not None and -1 not in known:
                bounds = _attributes(self.onnx, node)
                return [np.array(known[slice(bounds.get("start"), bounds.get("end"))], np.int64)]
        if any(isinstance(value, Symbol) for value in values) or node.op_type not in _FOLDED:
            return None
        from onnx.reference import ReferenceEvaluator

        helper = self.onnx.helper
        given = {name: value for name, value in zip(node.input, values, strict=True) if name}
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()
        ]
        outputs = [self.onnx.ValueInfoProto(name=name) for name in node.output if name]
        small = [self.onnx.numpy_helper.from_array(x, name) for name, x in given.items() if x.size <= _MAX_LENGTHS]
        graph = helper.make_graph([node], "constant", inputs, outputs, small)
        model = helper.make_model(graph, opset_imports=self.model.opset_import)
        self._computed += self._size(model, sum(x.size for x in given.values()))
        if self._computed > MAX_COMPUTED:
            raise MXNetError(
                f"import_model: {node.op_type} '{node.name or node.output[0]}' makes more than {MAX_COMPUTED} elements "
                "of constants, with those before it"
            )
        del graph.initializer[:]
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=self.model.opset_import))
        found = dict(zip([x.name for x in outputs], evaluator.run(None, given), strict=True))
        return [np.asarray(found[name]) if name else None for name in node.output]

    def _size(self, model: Any, read: int) -> int:
        """How many elements a model of one node computes, which reads `read` elements."""
        inferred = self.onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
        if inferred.node[0].op_type in _FILTERS:
            return read * _MAX_AXES
        size = 0
        for value in inferred.output:
            shape = value.type.tensor_type.shape
            if not value.type.tensor_type.HasField("shape") or not all(d.HasField("dim_value") for d in shape.dim):
                raise MXNetError(f"import_model: the shape of '{value.name}', a constant, must be known")
            size += math.prod(d.dim_value for d in shape.dim)
        return size


@contextmanager
def _named(what: str) -> Iterator[None]:
    """MXNetError that names `what`, for all that can go wrong with what a file has."""
    try:
        yield
    except MXNetError:
        raise
    except Exception as error:  # of ONNX, of its evaluator, or of values that are none
        reason = f"KeyError {error}" if isinstance(error, KeyError) else error
        raise MXNetError(f"{what} cannot be read: {reason}") from error


HARMLESS = frozenset(
    (
        *("broadcast", "consumed_inputs", "is_test"),  # of first versions: shapes broadcast, and graphs predict
        *("num_outputs", "sorted", "storage_order", "stash_type", "seed"),  # TopK's results are sorted
        *("saturate", "round_mode"),  # of casts to types that are not there
        *("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"),  # of sizes that are refused
    )
)
"""Attributes that change nothing of what can be read; any other one that no reading asks for must have its default."""
MAX_COMPUTED = 1 << 27
"""The most elements of constants that are computed while a file is read: no few bytes are to fill the memory."""
_MAX_LENGTHS = 1024
"""The most elements of constants that shapes are inferred from."""
_MAX_AXES = 8
_FILTERS = ("Compress", "NonZero", "Unique")
"""Their results have no more elements than are read, or indices along a few axes of them."""
_FOLDED = frozenset(
    (
        *("Abs", "Add", "And", "ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Clip", "Concat", "Constant"),
        *("ConstantOfShape", "CumSum", "DequantizeLinear", "Div", "Equal", "Erf", "Exp", "Expand", "EyeLike"),
        *("Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Gemm", "Greater", "GreaterOrEqual"),
        *("Identity", "Less"),
        *("LessOrEqual", "Log", "MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Range"),
        *("Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Round"),
        *("ScatterElements", "ScatterND", "Shape", "Sigmoid", "Sign", "Size", "Slice", "Split", "Sqrt", "Squeeze"),
        *("Sub", "Sum", "Tanh", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor", *_FILTERS),
    )
)
"""What lengths, masks and weights are computed with, in a time that their results tell."""


def _attributes(onnx: Any, node: Any) -> Mapping[str, Any]:
    found = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
    return {key: x.decode() if isinstance(x, bytes) else x for key, x in found.items()}
