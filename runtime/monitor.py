"""`Monitor`: statistics of what executors compute, every few batches."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.ndarray import NDArray

Statistic = Callable[[NDArray], NDArray | Sequence[NDArray]]


class Monitor:
    """Applies a statistic to outputs of operations, arguments and auxiliary states whose names match.

    Parameters
    ----------
    interval: how many batches there are from one that is looked at to the next.
    stat_func: the statistic, of an array an array or a list of them; by default the norm over the root of the size.
    pattern: a regular expression that the beginnings of names match.
    sort: whether `toc` sorts by name.
    monitor_all: whether inputs of operations are looked at as well.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Statistic | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval, self.sort, self.monitor_all = interval, sort, monitor_all
        self.stat_func = stat_func or _norm
        self.re_prog = re.compile(pattern)
        self.exes: list[Any] = []
        self.step = 0
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []

    def install(self, exe: Any) -> None:
        """Look at an Executor, too."""
        exe.set_monitor_callback(self._look, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Call it before a batch."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Call it after a batch. The number of the batch, the name and the statistic of all that was looked at."""
        if not self.activated:
            return []
        for exe in self.exes:
            for name, x in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self._look(name, x)
        self.activated = False
        found = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in found]

    def toc_print(self) -> None:
        """`toc`, to Python's root logger."""
        for step, name, value in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, value)

    def _look(self, name: str, x: NDArray) -> None:
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(x)))


def _norm(x: NDArray) -> NDArray:
    return nd.norm(x) / math.sqrt(x.size)


def _text(value: NDArray | Sequence[NDArray]) -> str:
    values = [value] if isinstance(value, NDArray) else value
    return "".join(str(x.asnumpy().reshape(())[()] if x.size == 1 else x.asnumpy()) + "\t" for x in values)
