"""A training library with the imperative Gluon interface of MXNet 1.9.1, whose optimizers are compiled from equations.

`import runtime as mx`, or `from runtime import nd, autograd, gluon, optimizer, init`.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

from typing import Any

from runtime import (  # after what they are made of
    autograd,
    base,
    context,
    gluon,
    initializer,
    lr_scheduler,
    metric,
    name,
    ndarray,
    optimizer,
    random,
)
from runtime.base import MXNetError
from runtime.context import Context, cpu, current_context, gpu, num_gpus

init = initializer
nd = ndarray

_NOT_PROVIDED = {
    **dict.fromkeys(
        ("sym", "symbol", "mod", "module", "model"), "build networks from gluon.Block and train them with gluon.Trainer"
    ),
    **dict.fromkeys(("np", "npx", "numpy", "numpy_extension"), "use nd"),
    **dict.fromkeys(("image", "recordio", "io", "img"), "load data with gluon.data"),
    "onnx": "save parameters with Block.save_parameters",
}


def __getattr__(attribute: str) -> Any:
    if attribute in _NOT_PROVIDED:
        raise AttributeError(f"runtime does not provide '{attribute}': {_NOT_PROVIDED[attribute]}")
    raise AttributeError(f"module 'runtime' has no attribute '{attribute}'")
