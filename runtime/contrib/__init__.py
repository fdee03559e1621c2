"""Parts of MXNet that are not for everyone: texts with embeddings, mixed precision, 8 bits, other names of modules."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.base import not_provided

_MODULES = {
    **{name: name for name in ("amp", "autograd", "io", "ndarray", "onnx", "quantization")},
    **{name: name for name in ("svrg_optimization", "symbol", "text")},
    "nd": "ndarray",
    "quant": "quantization",
    "sym": "symbol",
}

_NOT_PROVIDED = {
    "tensorboard": "call the SummaryWriter of a library for it from an event handler or a batch_end_callback",
}

__all__ = [
    "amp", "autograd", "io", "nd", "ndarray", "onnx", "quant", "quantization", "svrg_optimization", "sym", "symbol",
    "text",
]  # fmt: skip


def __getattr__(key: str) -> Any:
    """What few programs use is imported when it is asked for."""
    if key in _MODULES:
        return importlib.import_module(f"runtime.contrib.{_MODULES[key]}")
    if key in _NOT_PROVIDED:
        raise AttributeError(not_provided("runtime.contrib", key, _NOT_PROVIDED[key]))
    raise AttributeError(f"module 'runtime.contrib' has no attribute '{key}'")
