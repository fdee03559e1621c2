"""The tensors of one kernel as it reads them: the arrays behind an optgen_step."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optgen.arguments import UNSET
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu import pool
from optgen.execute.gradients import WHOLE, Rows
from optgen.execute.kernel import Kernel, Step
from optgen.execute.piece import Exchange, Piece, Share
from optgen.execute.state import Columns
from optgen.execute.storage import matrix_view

Values = Mapping[str, float | Sequence[float | None] | None]
"""Hyper-parameters by name: a number for all parameters, or one for each; None where unset."""


class Table:
    """Those of some parameters that share a kernel: `members` are their places among the parameters.

    `shapes` are those of whole tensors. `columns` hold the tensors of each buffer but the gradients, and `ids` and
    `pieces` what is so called, for all parameters. The counts are the table's own, all 0, until `use_counts`.
    """

    def __init__(
        self,
        kernel: Kernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        columns: Columns,
        ids: Sequence[int],
        pieces: Sequence[Piece | None] = (),
    ) -> None:
        self.kernel = kernel
        self.members = members
        parts = [pieces[i] if pieces else None for i in members]
        shapes = [params[i].shape if p is None else p.shape for i, p in zip(members, parts, strict=True)]
        self.shapes, n = shapes, len(members)
        self.order = np.array(members, np.int64)
        self.size = np.array([params[i].size for i in members], np.int64)
        self._cols = np.array([max(matrix_view(shape)[1], 1) for shape in shapes], np.int64)
        self._ids = np.array([ids[i] for i in members], np.int64)
        self.counts = np.zeros(n, np.int64)
        self._index = np.zeros(n, np.uintp)
        self._present = np.full(n, WHOLE, np.int64)
        self._pointers = np.zeros((n, len(kernel.columns)), np.uintp)
        for name, tensors in columns.items():
            self._point(name, tensors)
        self._hyper = np.full((max(len(kernel.rows), 1), n), UNSET)
        self._dimensions(shapes)
        self._first = np.array([0 if p is None else p.offset for p in parts], np.int64)
        self._whole = np.array([math.prod(shape) for shape in shapes], np.int64)
        in_pieces = any(p is not None for p in parts)
        self.share: Share | None = None
        self.step = Step(
            n=n,
            size=self.size.ctypes.data,
            buffers=self._pointers.ctypes.data,
            t=self.counts.ctypes.data,
            hyper=self._hyper.ctypes.data,
            cols=self._cols.ctypes.data,
            id=self._ids.ctypes.data,
            first=self._first.ctypes.data if in_pieces else None,
            whole=self._whole.ctypes.data if in_pieces else None,
        )
        self.address = ctypes.addressof(self.step)
        self._kept: list[Any] = []  # alive: whose memory gradients and row numbers are
        self._workspace = np.zeros(0)
        self._reserve()

    @property
    def shared_count(self) -> int | None:
        """Where the kernel reads `step`, if it does."""
        row = self.kernel.rows.get("step")
        return None if row is None else self._hyper[row].ctypes.data

    def use_counts(self, counts: Tensor) -> None:
        """Advance these, which are the counts of all its tensors in order, in place of its own."""
        self.step.t = counts.address

    def set(self, values: Values) -> None:
        """Hyper-parameters of all parameters."""
        for name, x in values.items():
            row = self.kernel.rows.get(name)
            if row is not None:
                each = [x[i] for i in self.members] if isinstance(x, Sequence) else [x]
                self._hyper[row] = [UNSET if v is None else v for v in each]

    def exchange_by(self, exchange: Exchange) -> None:
        """Have partial results of the other pieces from this function."""
        self.share = Share(exchange, self.members, self._whole.tolist())
        self.step.share = self.share.address

    def take(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        """For each member, the gradients to read, as many as the kernel reads, and the rows to update."""
        self._kept = [t.owner for tensors, _ in reads for t in tensors] + [rows.index for _, rows in reads]
        if self.kernel.gradients:
            self._pointers[:, self.kernel.gradients] = [[t.address for t in tensors] for tensors, _ in reads]
        self._present[:] = [rows.count for _, rows in reads]
        self._index[:] = [0 if rows.index is None else self._index_address(rows.index) for _, rows in reads]
        by_row = bool((self._present != WHOLE).any())
        self.step.present = self._present.ctypes.data if by_row else None
        self.step.index = self._index.ctypes.data if by_row else None
        if by_row:
            self._reserve()

    def _index_address(self, index: Array) -> int:
        """Where the kernel finds row numbers."""
        return int(index.ctypes.data)

    def run(self) -> None:
        """Run the kernel, once."""
        self.kernel.run(self.address)

    def use_threads(self) -> None:
        threads = pool.pool()
        threads.start()
        self.step.parallel, self.step.pool = threads.run, threads.address

    def _reserve(self) -> None:
        """Have as much workspace as the tensors, or these rows of them, need."""
        needed = self.kernel.workspace(self.step)
        if needed > self._workspace.size:
            self._workspace = buffers.aligned((needed,), "float64")
            self.step.workspace = self._workspace.ctypes.data

    def _point(self, name: str, tensors: Sequence[Tensor | None]) -> None:
        k = self.kernel.columns.get(name)
        if k is not None:
            found = [tensors[i] for i in self.members]
            self._pointers[:, k] = [t.address for t in found if t is not None]

    def _dimensions(self, shapes: Sequence[tuple[int, ...]]) -> None:
        views = [matrix_view(shape) for shape in shapes]
        values: dict[str, list[Any]] = {
            "rank": [len(shape) for shape in shapes],
            "size": [math.prod(shape) for shape in shapes],
            "rows": [rows for rows, _ in views],
            "cols": [cols for _, cols in views],
        }
        for name, row in self.kernel.rows.items():
            if name in values:
                self._hyper[row] = values[name]
