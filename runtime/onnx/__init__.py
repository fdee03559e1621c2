"""Trained networks as files of the format ONNX, which other programs run.

Read `call` first, what a translation sees and does; each file of `translations` has those of a family of operators.
`convert` walks through a graph, `writer` collects what becomes the file, and `export` is what users call. The package
`onnx`, an extra, writes the format.
"""

from runtime.onnx.export import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
