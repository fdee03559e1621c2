"""Networks as ONNX files and back, where MXNet had these functions before `mx.onnx`."""

from runtime.contrib.onnx.onnx2mx.import_model import get_model_metadata, import_model
from runtime.contrib.onnx.onnx2mx.import_to_gluon import import_to_gluon
from runtime.onnx import export_model

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]
