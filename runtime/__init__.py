"""A training library with the imperative Gluon interface of MXNet 1.9.1, whose optimizers are compiled from equations.

`import runtime as mx`, or `from runtime import nd, autograd, gluon, optimizer, init`.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

import importlib
from typing import Any

from runtime import (
    attribute,
    autograd,
    base,
    context,
    engine,
    error,
    gluon,
    initializer,
    lr_scheduler,
    metric,
    name,
    ndarray,
    optimizer,
    random,
    util,
)
from runtime.attribute import AttrScope
from runtime.base import MXNetError, __version__
from runtime.compat import alias
from runtime.context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from runtime.util import is_np_array, is_np_shape, np_array, np_shape, set_np_shape, use_np, use_np_array, use_np_shape

alias.install()
init = initializer
nd = ndarray
rnd = random

_ON_FIRST_USE = {
    **{
        module: module
        for module in (
            "callback",
            "checkpoint",
            "contrib",
            "executor",
            "image",
            "io",
            "kvstore",
            "libinfo",
            "library",
            "log",
            "misc",
            "model",
            "module",
            "monitor",
            "onnx",
            "operator",
            "profiler",
            "recordio",
            "rnn",
            "runtime",
            "symbol",
            "symbol_doc",
            "test_utils",
            "visualization",
        )
    },
    "kv": "kvstore",
    "img": "image",
    "mod": "module",
    "mon": "monitor",
    "sym": "symbol",
    "viz": "visualization",
}

__all__ = [
    key for key in (*globals(), *_ON_FIRST_USE) if key[0] != "_" and key not in ("Any", "annotations", "importlib")
]

_NOT_PROVIDED = {
    **dict.fromkeys(("np", "npx", "numpy", "numpy_extension"), "use nd"),
    "executor_manager": "use mod.Module",
    "notebook": "print or draw what metrics hold from a batch_end_callback",
    "rtc": "compile kernels from source by CuPy's RawKernel",
}


def __getattr__(key: str) -> Any:
    if key in _ON_FIRST_USE:
        module = importlib.import_module(f"runtime.{_ON_FIRST_USE[key]}")
        globals()[key] = module
        return module
    if key in _NOT_PROVIDED:
        raise AttributeError(base.not_provided("runtime", key, _NOT_PROVIDED[key]))
    raise AttributeError(f"module 'runtime' has no attribute '{key}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_FIRST_USE})
