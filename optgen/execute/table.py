"""The tensors of one kernel as its entry point reads them: a StepStruct, and the arrays that it points to."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optgen.arguments import UNSET
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.hyper import Values
from optgen.execute.kernel import NOT_BY_ROW, BufferTensors, LoadedKernel, Rows, StepStruct
from optgen.execute.piece import AnyPiece, Box, Piece
from optgen.execute.scaler import Scaler
from optgen.ir import GRADIENT_FACTOR
from optgen.shapes import matrix_view


@dataclass(frozen=True)
class TablePart:
    """Some tensors of a table, which a kernel updates in one call: addresses of their structure, of their numbers among
    all parameters, and of the `step` that the kernel reads for each of them (None if it does not)."""

    struct: int
    order: int
    shared_count: int | None


class StepTable:
    """The parameters that share a kernel: `members` are their numbers among all parameters.

    `tensors` has those of each buffer but the gradients. `tensors`, `ids` and `pieces` have an entry for each of all
    parameters. `shapes` and `whole_sizes` are those of whole tensors; `sizes` are those of the pieces of them that are
    here. `views` are the matrices, rows and columns of whole tensors. `counts` are the table's own, all 0, until
    `use_counts`. `address` is that of the structure, `step`.
    """

    def __init__(
        self,
        kernel: LoadedKernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        tensors: BufferTensors,
        ids: Sequence[int],
        pieces: Sequence[AnyPiece | None],
    ) -> None:
        self.kernel, self.members = kernel, members
        own_pieces = [pieces[i] for i in members]
        self.shapes = [params[i].shape if p is None else p.shape for i, p in zip(members, own_pieces, strict=True)]
        self.order = np.array(members, np.int64)
        self.sizes = np.array([params[i].size for i in members], np.int64)
        self.whole_sizes = np.array([math.prod(shape) for shape in self.shapes], np.int64)
        self._pieces = own_pieces
        self._offsets = np.array(list(map(_offset, own_pieces)), np.int64)
        own_shapes = [
            params[i].shape if isinstance(pieces[i], Box) else shape
            for i, shape in zip(members, self.shapes, strict=True)
        ]
        self.views, self._own_views = (
            [matrix_view(shape, kernel.native.last_two) for shape in shapes] for shapes in (self.shapes, own_shapes)
        )
        self._cols = np.array([cols for _, _, cols in self._own_views], np.int64)
        self._ids = np.array([ids[i] for i in members], np.int64)
        n = len(members)
        self.counts = np.zeros(n, np.int64)
        self._row_counts = np.full(n, NOT_BY_ROW, np.int64)
        self._row_numbers = np.zeros(n, np.uintp)
        self._goes_by_rows = False
        self._pointers = np.zeros((n, len(kernel.buffer_index)), np.uintp)
        for k, buffer in enumerate(kernel.native.buffers):
            if buffer.memory in tensors:
                own = [tensors[buffer.memory][i] for i in members]
                self._pointers[:, k] = [t.address for t in own if t is not None]
        self._hyper = np.full((max(len(kernel.hyper_index), 1), n), UNSET)
        self._set_dimensions()
        self.step = self._struct(in_pieces=any(p is not None for p in own_pieces))
        self.address = ctypes.addressof(self.step)

    def _struct(self, *, in_pieces: bool) -> StepStruct:
        return StepStruct(
            n=len(self.members),
            size=self.sizes.ctypes.data,
            buffers=self._pointers.ctypes.data,
            t=self.counts.ctypes.data,
            hyper=self._hyper.ctypes.data,
            cols=self._cols.ctypes.data,
            id=self._ids.ctypes.data,
            first=self._offsets.ctypes.data if in_pieces else None,
            whole=self.whole_sizes.ctypes.data if in_pieces else None,
        )

    def _set_dimensions(self) -> None:
        """Set the hyper-parameters that are the dimensions of whole tensors."""
        values: dict[str, list[int]] = {
            "rank": [len(shape) for shape in self.shapes],
            "size": [math.prod(shape) for shape in self.shapes],
            "rows": [rows for _, rows, _ in self.views],
            "cols": [cols for _, _, cols in self.views],
            "matrices": [matrices if cols else 0 for matrices, _, cols in self.views],
        }
        for name, row in self.kernel.hyper_index.items():
            if name in values:
                self._hyper[row] = values[name]

    def boxes(self) -> list[Box]:
        """The tensors as boxes; one that is no box is the only one."""
        return [
            piece if isinstance(piece, Box) else Box(shape, (((0,) * len(shape), shape),), 0)
            for piece, shape in zip(self._pieces, self.shapes, strict=True)
        ]

    @property
    def whole(self) -> TablePart:
        """All tensors. Kernels with a value that all parameters share read `step`, the largest count of all."""
        row = self.kernel.hyper_index.get("step")
        shared = None if row is None else self._hyper[row].ctypes.data
        return TablePart(self.address, self.order.ctypes.data, shared)

    def use_counts(self, counts: Tensor) -> None:
        """Advance `counts`, those of the members in order, in place of the table's own."""
        self.step.t = counts.address

    def read_counts(self, counts: Array) -> None:
        """Read counts there, those of the members in order, for a kernel that does not advance them."""
        self.counts = counts
        self.step.t = counts.ctypes.data

    def set_hyper(self, values: Values) -> None:
        """Set hyper-parameters; sequences have an entry for each of all parameters."""
        for name, x in values.items():
            row = self.kernel.hyper_index.get(name)
            if row is not None:
                each = [x[i] for i in self.members] if isinstance(x, Sequence) else [x]
                self._hyper[row] = [UNSET if v is None else v for v in each]

    def set_seed(self, seed: int) -> None:
        """Set the seed of draws."""
        self.step.seed = seed

    def set_scaler(self, scaler: Scaler) -> None:
        """Set what gradients are multiplied by, if the kernel does that."""
        self.set_hyper({GRADIENT_FACTOR: scaler.factor})

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        """Read these gradients, for each member as many as the kernel reads, and update these rows of it.

        The caller keeps them alive.
        """
        for j, k in enumerate(self.kernel.gradients):
            self._pointers[:, k] = [tensors[j].address for tensors, _ in reads]
        by_row, was_by_row = any(rows.count != NOT_BY_ROW for _, rows in reads), self._goes_by_rows
        if by_row or was_by_row:  # a GPU reads them in both cases
            self._row_counts[:] = [rows.count for _, rows in reads]
            self._row_numbers[:] = [0 if rows.index is None else self._address_of_rows(rows.index) for _, rows in reads]
        self._goes_by_rows = by_row
        self.step.present = self._row_counts.ctypes.data if by_row else None
        self.step.index = self._row_numbers.ctypes.data if by_row else None

    def move_gradients(self, addresses: Array) -> None:
        """Read gradients of the same sizes and rows at these addresses, one for each member."""
        for k in self.kernel.gradients:
            self._pointers[:, k] = addresses

    def set_pointers(self, buffers: Sequence[int], addresses: Array | int) -> None:
        """Have the kernel find buffers, by their numbers, at other addresses, the same for each tensor."""
        self._pointers[:, buffers] = addresses

    def _address_of_rows(self, index: Array) -> int:
        """The address at which the kernel finds row numbers."""
        return buffers.address_of(index)

    def hyper_addresses(self, name: str) -> list[int]:
        """Where the kernel reads a hyper-parameter, for each tensor: doubles."""
        n = len(self.members)
        first = self._hyper.ctypes.data + 8 * n * self.kernel.hyper_index[name]
        return [first + 8 * i for i in range(n)]

    def run(self) -> None:
        """Run the kernel once; on a GPU, wait for it."""
        self.kernel.run(self.address)


def _offset(piece: AnyPiece | None) -> int:
    """The number of a piece's first element in the tensor."""
    if isinstance(piece, Piece):
        return piece.offset
    return 0 if piece is None else int(piece.runs()[1][0])
