"""The tensors of one kernel as it reads them: the arrays behind an optgen_step."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optgen.arguments import UNSET
from optgen.execute import buffers, pool
from optgen.execute.buffers import Tensor
from optgen.execute.gradients import WHOLE, Rows
from optgen.execute.kernel import Kernel, Step
from optgen.execute.state import Columns
from optgen.execute.storage import matrix_view

Values = Mapping[str, float | Sequence[float | None] | None]
"""Hyper-parameters by name: a number for all parameters, or one for each; None where unset."""


class Table:
    """Those of some parameters that share a kernel: `members` are their places among the parameters.

    `columns` hold the tensors of each buffer but "grad", and `ids`, for all parameters. The counts are the table's own,
    all 0, until `use_counts`.
    """

    def __init__(
        self, kernel: Kernel, members: Sequence[int], params: Sequence[Tensor], columns: Columns, ids: Sequence[int]
    ) -> None:
        self.kernel = kernel
        self.members = members
        shapes = [params[i].shape for i in members]
        n = len(members)
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
        self.step = Step(
            n=n,
            size=self.size.ctypes.data,
            buffers=self._pointers.ctypes.data,
            t=self.counts.ctypes.data,
            hyper=self._hyper.ctypes.data,
            cols=self._cols.ctypes.data,
            id=self._ids.ctypes.data,
        )
        self.address = ctypes.addressof(self.step)
        self._reads: list[tuple[Tensor | None, Rows]] = []  # keeps them alive
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

    def take(self, reads: Sequence[tuple[Tensor | None, Rows]]) -> None:
        """For each member, the gradient to read, if the kernel reads one, and the rows to update."""
        self._reads = list(reads)
        k = self.kernel.columns.get("grad")
        if k is not None:
            self._pointers[:, k] = [0 if t is None else t.address for t, _ in reads]
        self._present[:] = [rows.count for _, rows in reads]
        self._index[:] = [0 if rows.index is None else rows.index.ctypes.data for _, rows in reads]
        by_row = bool((self._present != WHOLE).any())
        self.step.present = self._present.ctypes.data if by_row else None
        self.step.index = self._index.ctypes.data if by_row else None
        if by_row:
            self._reserve()

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
            "size": self.size.tolist(),
            "rows": [rows for rows, _ in views],
            "cols": [cols for _, cols in views],
        }
        for name, row in self.kernel.rows.items():
            if name in values:
                self._hyper[row] = values[name]
