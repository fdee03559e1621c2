"""optgen: an optimizer, written once as the equations of its paper, as fused kernels.

import optgen
adam = optgen.load("adam", amsgrad=True)
state = adam.init(params)
step = adam.bind(params, grads, state)
step(lr=1e-3, wd=0.01)
"""

from __future__ import annotations

from optgen.api import load, parse
from optgen.diagnostics import Diagnostic, Source, SpecErrors
from optgen.execute.piece import Piece
from optgen.execute.pool import num_threads, set_num_threads
from optgen.execute.rule import UpdateRule
from optgen.execute.sparse import RowSparse
from optgen.execute.state import State
from optgen.execute.step import BoundStep

__all__ = [
    "BoundStep",
    "Diagnostic",
    "Piece",
    "RowSparse",
    "Source",
    "SpecErrors",
    "State",
    "UpdateRule",
    "load",
    "num_threads",
    "parse",
    "set_num_threads",
]
