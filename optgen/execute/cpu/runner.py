"""A step on the CPU: one native call, whatever the number of kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from optgen.execute.buffers import Tensor
from optgen.execute.cpu.chain import Chain, ChainLink
from optgen.execute.cpu.exchange import ExchangeCallback
from optgen.execute.cpu.table import CpuTable
from optgen.execute.piece import Exchange
from optgen.execute.table import StepTable
from optgen.execute.transaction import Infallible
from optgen.threads.sharing import Sharing, Threads, shared


class NativeCall:
    """One native call, `run`, that advances update counts and runs the kernels of tables, while this object is alive.

    `counts` are those of all parameters; parameters without a table keep theirs.
    """

    def __init__(self, tables: Sequence[StepTable], counts: Tensor) -> None:
        self.run: Callable[[], Any] = _nothing
        only = tables[0] if len(tables) == 1 and tables[0].whole.shared_count is None else None
        if only is not None and only.members == list(range(counts.size)):  # it advances the counts itself
            only.use_counts(counts)
            self.run = functools.partial(only.kernel.run, only.address)
        elif tables:
            self._chain = Chain([ChainLink(table.kernel.address, table.whole) for table in tables], counts)
            self.run = functools.partial(self._chain.run, self._chain.address)


class GroupedCall:
    """A `NativeCall` in which some tables are cut into groups, which `threads` share."""

    def __init__(self, tables: Sequence[CpuTable], counts: Tensor, threads: Threads | None) -> None:
        links, groups, elements = [], [], 0
        for table in tables:
            kernel, cut = table.kernel.address, table.groups
            if cut is None:
                links.append(ChainLink(kernel, table.whole))
            else:
                rest, own = cut.parts(table.order)
                links += [ChainLink(kernel, part) for part in rest]
                groups += [ChainLink(kernel, part) for part in own]
                elements += cut.elements
        self._chain = Chain(links, counts, groups, elements, threads)
        self.run: Callable[[], Any] = functools.partial(self._chain.run, self._chain.address)


class CpuRunner(Infallible):
    """The kernels of a step's tables, on threads if the step is large enough for them."""

    launches = None

    def __init__(self, tables: Sequence[CpuTable], counts: Tensor, exchange: Exchange | None, sharing: Sharing) -> None:
        self._tables = tables  # kept alive
        for table in tables:
            table.use_exchange(exchange)
        elements = sum(int(table.sizes.sum()) for table in tables)
        threads = shared(sharing, elements)
        if threads is not None:
            for table in tables:
                table.use_threads(threads)
        if exchange is None:
            for table in tables:
                table.cut_into_groups(sharing.count())
        is_cut = any(table.groups is not None for table in tables)
        self._call = GroupedCall(tables, counts, threads) if is_cut else NativeCall(tables, counts)
        callbacks = [table.callback for table in tables if table.callback is not None]
        # Without an exchange no function of Python is called. No method of this: it would keep itself alive.
        run = self._call.run
        self.run = functools.partial(_run_with_exchange, run, callbacks) if callbacks else run


def _run_with_exchange(run: Callable[[], Any], callbacks: Sequence[ExchangeCallback]) -> None:
    run()
    for callback in callbacks:
        callback.check()


def _nothing() -> None:
    """A step of no tensors."""
