"""`mx.onnx.export_model` where MXNet has it."""

from runtime.onnx.export import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
