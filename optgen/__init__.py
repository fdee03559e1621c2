"""optgen: an optimizer, written once as the equations of its paper, as fused kernels.

import optgen
adam = optgen.load("adam", amsgrad=True)
state = adam.init(params)
step = adam.bind(params, grads, state)
step(lr=1e-3, wd=0.01)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from optgen import forks  # noqa: F401 (before any thread may import a part of the package while another one forks)

if TYPE_CHECKING:
    from optgen.api import load, parse
    from optgen.diagnostics import Diagnostic, Source, SpecErrors
    from optgen.execute.piece import Box, Layout, Piece
    from optgen.execute.rule import UpdateRule
    from optgen.execute.state import State
    from optgen.execute.steps.step import BoundStep
    from optgen.execute.tensors.sparse import RowSparse
    from optgen.precision import Precision
    from optgen.threads.pool import num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "BoundStep",
    "Box",
    "Diagnostic",
    "Layout",
    "Piece",
    "Precision",
    "RowSparse",
    "Source",
    "SpecErrors",
    "State",
    "UpdateRule",
    "load",
    "num_threads",
    "parse",
    "race",
    "set_num_threads",
]

_MODULES = {
    **dict.fromkeys(("load", "parse"), "api"),
    **dict.fromkeys(("Diagnostic", "Source", "SpecErrors"), "diagnostics"),
    **dict.fromkeys(("num_threads", "set_num_threads"), "threads.pool"),
    **dict.fromkeys(("Box", "Layout", "Piece"), "execute.piece"),
    "Precision": "precision",
    "UpdateRule": "execute.rule",
    "RowSparse": "execute.tensors.sparse",
    "State": "execute.state",
    "BoundStep": "execute.steps.step",
    "race": "races.in_process",
}
"""Where each name is. A name is imported when it is first asked for: a part of the package, such as `optgen.loops`, can
be imported without the compiler of optimizers and LLVM."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'optgen' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"optgen.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
