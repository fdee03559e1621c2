"""Networks, their parameters, losses, data and training."""

from __future__ import annotations

from runtime.gluon import data, loss, nn
from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from runtime.gluon.trainer import Trainer

__all__ = [
    "Block",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "Trainer",
    "data",
    "loss",
    "nn",
]
