"""`mx.onnx.import_model` where MXNet has it."""

from runtime.onnx import get_model_metadata, import_model

__all__ = ["get_model_metadata", "import_model"]
