"""Several kernels in one native call (`chain.c`)."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

from optgen.execute.buffers import Tensor
from optgen.execute.cpu import c_functions
from optgen.execute.table import StepTable


class _Link(ctypes.Structure):
    """`link` of chain.c."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("kernel", "step", "order", "shared_count"))


class _Chain(ctypes.Structure):
    """`chain` of chain.c."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("links", ctypes.c_void_p),
        ("tensors", ctypes.c_int64),
        ("counts", ctypes.c_void_p),
    )


@functools.cache
def _entry() -> Callable[[int], None]:
    address = c_functions.load("chain", "optgen_chain_run")["optgen_chain_run"]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


class Chain:
    """The kernels of some tables; `run(address)` is a step of all of them, with `counts` of all tensors of a state."""

    def __init__(self, tables: Sequence[StepTable], counts: Tensor) -> None:
        self._links = (_Link * len(tables))(
            *(_Link(t.kernel.address, t.address, t.order.ctypes.data, t.shared_count) for t in tables)
        )
        self._chain = _Chain(len(tables), ctypes.addressof(self._links), counts.size, counts.address)
        self.run = _entry()
        self.address = ctypes.addressof(self._chain)
