"""A training library with the imperative Gluon interface of MXNet 1.9.1, whose optimizers are compiled from equations.

`import runtime as mx`, or `from runtime import nd, autograd, gluon, optimizer, init`.
"""

from __future__ import annotations

from typing import Any

from runtime import autograd, base, context, initializer, lr_scheduler, metric, name, nd, random
from runtime import gluon, optimizer  # after what they are made of
from runtime.base import MXNetError
from runtime.context import Context, cpu, current_context, gpu, num_gpus

init = initializer
ndarray = nd

_NOT_PROVIDED = {
    **dict.fromkeys(("sym", "symbol", "mod", "module", "model"), "build networks from gluon.Block and train them with gluon.Trainer"),
    **dict.fromkeys(("np", "npx", "numpy", "numpy_extension"), "use nd"),
    **dict.fromkeys(("image", "recordio", "io", "img"), "load data with gluon.data"),
    "onnx": "save parameters with Block.save_parameters",
}


def __getattr__(name: str) -> Any:
    if name in _NOT_PROVIDED:
        raise AttributeError(f"runtime has no '{name}': that interface is not provided; {_NOT_PROVIDED[name]}")
    raise AttributeError(f"module 'runtime' has no attribute '{name}'")
