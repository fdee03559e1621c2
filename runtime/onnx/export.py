"""`export_model`: a graph and its parameters become a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError
from runtime.core import files
from runtime.core.dtypes import element_type
from runtime.ndarray import NDArray, serialization
from runtime.onnx.convert import Input, convert, inputs_of
from runtime.onnx.translations import TRANSLATIONS
from runtime.onnx.writer import MOST_BYTES, Value, library
from runtime.symbol import Symbol, load

Shape = Sequence[int | str | None]
Params = str | os.PathLike[str] | Mapping[str, NDArray] | Sequence[Mapping[str, NDArray]]


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """The names of the operators that `export_model` translates. It writes one version of ONNX's operators, 17."""
    return sorted(TRANSLATIONS)


def export_model(
    sym: Symbol | str | os.PathLike[str],
    params: Params,
    in_shapes: Sequence[Shape] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Shape] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[Shape] | None = None,
) -> str:
    """Write a network, as it predicts, as an ONNX file, and return the file's name.

    `sym` and `params` are objects or the names of files that `HybridBlock.export` or `model.save_checkpoint` wrote, or
    MXNet. `params` may be a list of arguments and auxiliary states. `in_shapes` has the shape of each input, in the
    order of `sym.list_inputs()`, and `in_types` the element type of each, or one for all. Labels of losses are no
    inputs. With `dynamic`, lengths that are None or names in `dynamic_input_shapes`, or all lengths, are left to who
    runs the file. `verbose` prints the file's nodes. `run_shape_inference` adds the shapes of all values.
    `input_shape` and `input_type` are older names.

    ONNX checks the result before it is written; a file that was there stays until the new one is complete. ImportError
    if `onnx`, an extra, is missing. MXNetError names an operator that cannot be written, and its node.
    """
    onnx = library()
    graph = sym if isinstance(sym, Symbol) else load(sym)
    arrays = _arrays(params)
    shapes = in_shapes if input_shape is None else input_shape
    types = in_types if input_type is None else input_type
    inputs = _inputs(graph, arrays, shapes, types, dynamic, dynamic_input_shapes)
    writer = convert(graph._entries, arrays, inputs)
    if writer.bytes() > MOST_BYTES:
        raise MXNetError(f"{writer.bytes() >> 20} MiB of parameters are more than an ONNX file holds, 2 GiB")
    model = writer.model(graph.name or "graph")
    if verbose:
        print(onnx.printer.to_text(model.graph))
    onnx.checker.check_model(model)
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    files.write(onnx_file_path, model.SerializeToString())
    return os.fspath(onnx_file_path)


def _arrays(params: Params) -> dict[str, NDArray]:
    """Parameters by the names of their variables."""
    if isinstance(params, (str, os.PathLike)):
        params = serialization.load_named(params)
    parts = [params] if isinstance(params, Mapping) else params
    return {key: x for part in parts for key, x in serialization.without_kinds(part).items()}


def _inputs(
    graph: Symbol,
    arrays: Mapping[str, NDArray],
    shapes: Sequence[Shape] | None,
    types: Any,
    dynamic: bool,
    dynamic_shapes: Sequence[Shape] | None,
) -> list[Input]:
    """The inputs of the graph with their shapes and types."""
    names = inputs_of(graph._entries, arrays)
    if dynamic and dynamic_shapes is not None:
        shapes = dynamic_shapes
    shapes = [] if shapes is None else shapes
    types = list(types) if isinstance(types, (list, tuple)) else [types] * len(shapes)
    for what, given in (("shapes", shapes), ("types", types)):
        if len(given) != len(names):
            raise ArgumentError(
                f"export_model: {len(given)} {what} for {len(names)} inputs, the variables that have no parameters: "
                f"{', '.join(names) or 'none'}"
            )
    found = []
    for name, shape, dtype in zip(names, shapes, types, strict=True):
        if not isinstance(shape, (tuple, list)):
            raise TypeError(f"export_model: the shape of '{name}' must be a tuple of lengths, not {shape!r}")
        if not dynamic and not all(shape):
            raise ArgumentError(f"export_model: the shape of '{name}', {tuple(shape)}, is not complete; use dynamic")
        stated = (None,) * len(shape) if dynamic and dynamic_shapes is None else tuple(shape)
        stated = tuple(int(n) if isinstance(n, np.integer) else n for n in stated)
        lengths = tuple(n if isinstance(n, int) else -1 for n in stated)
        found.append(Input(Value(name, stated, element_type(dtype)), lengths))
    return found
