"""ONNX files as networks: modules that programs for MXNet import by their paths."""

from runtime.contrib.onnx.onnx2mx import import_model, import_to_gluon

__all__ = ["import_model", "import_to_gluon"]
