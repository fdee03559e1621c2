"""ONNX files as blocks."""

from __future__ import annotations

import os
from collections.abc import Sequence

from runtime import gluon
from runtime import symbol as sym
from runtime.context import Context
from runtime.gluon.parameter.loading import load_into
from runtime.onnx import get_model_metadata, import_model

__all__ = ["import_to_gluon"]


def import_to_gluon(
    model_file: str | os.PathLike[str], ctx: Context | Sequence[Context] | None = None
) -> gluon.SymbolBlock:
    """The network of an ONNX file as a block, with its parameters in `ctx`; errors are those of `import_model`."""
    graph, arguments, states = import_model(model_file)
    inputs = [sym.var(name) for name, *_ in get_model_metadata(model_file)["input_tensor_data"]]
    block = gluon.SymbolBlock(graph, inputs)
    values = {**arguments, **states}
    load_into(block.collect_params(), values, f"'{os.fspath(model_file)}'", ctx, cast_dtype=True, dtype_source="saved")
    return block
