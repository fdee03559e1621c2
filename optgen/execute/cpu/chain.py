"""Several kernels in one native call (`chain.c`)."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optgen.execute.buffers import Tensor
from optgen.execute.table import TablePart
from optgen.objectcode import c_functions
from optgen.threads.sharing import Threads


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
        ("groups", ctypes.c_int64),
        ("elements", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    )


@functools.cache
def _entry() -> Callable[[int], None]:
    address = c_functions.load(__file__, "optgen_chain_run")["optgen_chain_run"]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


@dataclass(frozen=True)
class ChainLink:
    """A kernel, by its entry point, and the tensors that it updates."""

    kernel: int
    part: TablePart


class Chain:
    """Kernels one after the other; `run(address)` is a step of all links, with `counts` of all tensors of a state.

    `groups` are shared among `threads`: one thread runs a link. Together they have so many `elements`.
    """

    def __init__(
        self,
        links: Sequence[ChainLink],
        counts: Tensor,
        groups: Sequence[ChainLink] = (),
        elements: int = 0,
        threads: Threads | None = None,
    ) -> None:
        own = [_Link(x.kernel, x.part.struct, x.part.order, x.part.shared_count) for x in (*links, *groups)]
        self._links = (_Link * len(own))(*own)
        shared = (None, None) if threads is None else (threads.run, threads.address)
        self._chain = _Chain(
            len(own), ctypes.addressof(self._links), counts.size, counts.address, len(groups), elements, *shared
        )
        self.run = _entry()
        self.address = ctypes.addressof(self._chain)
