"""`export_model`, where MXNet had it before `mx.onnx`. Networks are not read from ONNX files."""

from __future__ import annotations

from typing import NoReturn

from runtime.base import not_provided
from runtime.onnx import export_model

__all__ = ["export_model"]

_NOT_PROVIDED = dict.fromkeys(
    ("get_model_metadata", "import_model", "import_to_gluon", "onnx2mx"), "run ONNX files with onnxruntime"
)


def __getattr__(key: str) -> NoReturn:
    if key in _NOT_PROVIDED:
        raise AttributeError(not_provided("runtime.contrib.onnx", key, _NOT_PROVIDED[key]))
    raise AttributeError(f"module 'runtime.contrib.onnx' has no attribute '{key}'")
