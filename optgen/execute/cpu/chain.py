"""Several kernels in one native call (`chain.ll`)."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from importlib import resources

from optgen.backends import target
from optgen.execute.buffers import Tensor
from optgen.execute.table import Table
from optgen.objectcode import cache, link


class _Link(ctypes.Structure):
    """%link of chain.ll."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("kernel", "step", "order", "shared_count"))


class _Chain(ctypes.Structure):
    """%chain of chain.ll."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("links", ctypes.c_void_p),
        ("tensors", ctypes.c_int64),
        ("counts", ctypes.c_void_p),
    )


@functools.cache
def _entry() -> Callable[[int], None]:
    text = resources.files("optgen.execute.cpu").joinpath("chain.ll").read_text()
    host = target.host()
    name = cache.key("chain", target.llvm_version(), host.triple, host.cpu, host.features)
    code = cache.get(name, lambda: target.compile_ir(text, host).object)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(link.link(code, "optgen_chain_run")["optgen_chain_run"])


class Chain:
    """The kernels of some tables; `run(address)` is a step of all of them, with `counts` of all tensors of a state."""

    def __init__(self, tables: Sequence[Table], counts: Tensor) -> None:
        self._links = (_Link * len(tables))(
            *(_Link(t.kernel.address, t.address, t.order.ctypes.data, t.shared_count) for t in tables)
        )
        self._chain = _Chain(len(tables), ctypes.addressof(self._links), counts.size, counts.address)
        self.run = _entry()
        self.address = ctypes.addressof(self._chain)
