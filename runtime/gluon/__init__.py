"""Networks, their parameters, losses, data and training.

A line imports what is above it:

    utils.py           splitting, clipping, downloads
    parameter/         parameters with their gradients, dictionaries of parameters, parameter files
    block/             `Block` and `HybridBlock`: children, deferred shapes, parameter files, hooks
    nn/                layers
    loss/              losses
    rnn/               recurrent layers and cells
    data/              data sets, samplers, batches, workers; sets of images and their transforms in `vision/`
    store_choice.py    the kvstore of a Trainer, and whether it updates
    trainer_groups.py  settings of its parameters by patterns over their names
    trainer_params.py  what a Trainer is given: its parameters, and what it can do with them
    trainer_plan.py    what steps of it do with each parameter, as a table
    workers.py         steps of processes that train for themselves, and average weights
    step_arguments.py  what a step of it is given: the loss, and the phase
    trainer.py         `Trainer`: applies an optimizer to parameters
    contrib/           the estimator; further layers and cells
    model_zoo/         predefined networks
"""

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
