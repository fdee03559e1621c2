"""Networks, their parameters, losses, data and training."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.gluon import data, loss, nn, rnn, utils
from runtime.gluon.block import Block, HybridBlock, SymbolBlock
from runtime.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from runtime.gluon.trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "data",
    "loss",
    "nn",
    "rnn",
    "tensor_types",
    "utils",
]


def __getattr__(key: str) -> Any:
    """Import `contrib` and `model_zoo` when they are first used."""
    if key in ("contrib", "model_zoo"):
        return importlib.import_module(f"runtime.gluon.{key}")
    raise AttributeError(f"module 'runtime.gluon' has no attribute '{key}'")
