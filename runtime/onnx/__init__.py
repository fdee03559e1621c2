"""Trained networks as files of the format ONNX, which other programs run, and networks from such files.

Read `call` first, what a translation sees and does; each file of `translations` has those of a family of operators.
`convert` walks through a graph, `writer` collects what becomes the file, and `export` is what users call. The other
way, `imports` walks through a file, and `reading` has what its nodes become; `tests/runtime/onnx_nodes` has a random
node of each operator there. The package `onnx`, an extra, reads and writes the format.
"""

from runtime.onnx.export import export_model, get_operator_support
from runtime.onnx.imports import get_model_metadata, import_model

__all__ = ["export_model", "get_model_metadata", "get_operator_support", "import_model"]
