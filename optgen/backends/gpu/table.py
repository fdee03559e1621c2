"""The table of a step, which is all that a launch is told: one array of 8-byte words in the memory of the device.

    n | seed                            HEAD words
    one column of n words for each of COLUMNS
    one column for each of AREAS        addresses in the workspace, where phases leave partial results for later ones
    [tensor][buffer]                    addresses, in the kernel's order; 0 for what only the host reads
    [launch][n + 1]                     where the units of each tensor begin; the last word: how many there are in all
    shared values | [slot][tensor]      doubles, as in layout.py; the host fills in those of the host phase
    one more column of n words          if tensors are batches of matrices: how many of them, at least 1

All of it is written anew before each step, and nothing else tells two steps apart. So a captured graph of launches can
be replayed with other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from optgen.axes import Kind
from optgen.backends.layout import WorkspaceLayout
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Kernel, Word

N, SEED = 0, 1
HEAD = 2
COLUMNS = ("size", "rows", "cols", "by_rows", "index", "first", "blocks", "id", "t", "lead", "vectors")
"""Of each tensor, as it is seen by the step:

size, rows, cols    its elements, the rows that are visited, the length of a row
by_rows, index      1 where rows are updated one by one; the address of their numbers (int64), 0: all rows
first, blocks       of a piece, its first element; how many blocks of the reduction tree the whole tensor has
id, t               by which draws differ; the count of updates, this one included
vectors, lead       1 where element -lead of each buffer, and of its rows, is at a multiple of 16 bytes (and 4 elements)
"""
AREAS = ("partials", "folds", "row_partials", "rows_at", "cols_at", "sums")
"""The parts of the workspace: in the column of each, the address of a tensor's share."""
LINE_AREAS = {Kind.ROW: "rows_at", Kind.COL: "cols_at"}
"""The area of row values and that of column values."""
THREADS = 256
"""Threads of a block."""
MAX_GROUP = 4
"""The most neighbours that a thread of any GPU computes at once, which `vectors` is about; a counter's words, too."""
MAX_ACCESS_BYTES = 16
"""What a thread can read or write at once."""
FOLD_SEGMENT = 64
"""How many partial results a warp folds to one, at least."""
MAX_FOLD_PASSES = 8
"""How many passes of folding FOLD_SEGMENT numbers to one are enough for any tensor."""

Unit = Literal["elements", "blocks", "row blocks", "column tiles", "rows", "cols", "matrices", "tensor", "step"]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Launch:
    """One function of a module, and the units of work it goes over; blocks have THREADS threads.

    `elements`: `length` of a tensor, or of a row where a tensor is updated by rows, for a warp. `blocks`: BLOCK of a
    tensor, for a warp. `row blocks`: BLOCK of a row, for a warp. `column tiles`: ROW_BLOCK rows of LANES columns, for a
    warp. `rows`, `cols`, `matrices`: one, for a thread. `tensor`: one, for a block. `step`: all there is, for one
    block. A launch may have fewer blocks than there is work: they go on until all is done. `folds`: it begins with the
    partial results of blocks, those of pieces that are elsewhere among them.
    """

    name: str
    unit: Unit
    length: int = 0
    folds: bool = False

    def per_block(self, width: int) -> int:
        """How many units a block takes at a time whose warps have `width` threads."""
        lines = dict.fromkeys(("rows", "cols", "matrices"), THREADS)
        return (lines | {"tensor": 1, "step": 1}).get(self.unit, THREADS // width)

    def units(self, column: Mapping[str, Array]) -> Any:
        """How many units each tensor has; `column`: those of COLUMNS, and `matrices`, by name."""
        rows, cols, by_rows = column["rows"], column["cols"], column["by_rows"] != 0
        matrices = column["matrices"]
        match self.unit:
            case "elements":
                flat = _ceil_div(column["size"] + column["lead"] * (column["size"] > 0), self.length)
                return np.where(by_rows, rows * _ceil_div(cols, self.length), flat)
            case "blocks":
                return _ceil_div(column["size"], BLOCK)
            case "row blocks":
                return rows * _ceil_div(cols, BLOCK)
            case "column tiles":
                return matrices * _ceil_div(rows // matrices, ROW_BLOCK) * _ceil_div(cols, LANES)
            case "rows":
                return rows
            case "cols":
                return matrices * cols
            case "matrices":
                return matrices
            case "tensor":
                return np.ones_like(rows)
            case "step":
                return np.eye(1, len(rows), dtype=np.int64)[0]


def _ceil_div(x: Any, size: int) -> Any:
    return -(-x // size)


@dataclass(frozen=True)
class Counts:
    """What the sizes of a kernel's table and workspace follow from.

    `stride`, `row_partials` and `sums` are numbers of reductions of one sweep, side by side. `rows`, `cols`, `shared`
    and `slots` are numbers of values of that kind that cross phases. `tree`: arrays of row or column values are
    reduced. `leads`: groups of elements need not begin where the tensor begins. `last_two`: tensors are batches.
    """

    buffers: int
    partials: bool
    stride: int
    row_partials: int
    rows: int
    cols: int
    sums: int
    tree: bool
    shared: int
    slots: int
    leads: bool
    last_two: bool

    @classmethod
    def of(cls, kernel: Kernel) -> Counts:
        layout = WorkspaceLayout(kernel)
        return cls(
            len(kernel.buffers),
            layout.partials > 0,
            layout.stride,
            layout.row_partials,
            len(layout.rows),
            len(layout.cols),
            layout.column_sums,
            layout.tree,
            len(layout.shared),
            len(layout.slots),
            allows_misaligned_head(kernel),
            kernel.last_two,
        )

    def areas(self, column: Mapping[str, Array]) -> Array:
        """How many doubles each tensor needs in each of AREAS: [area][tensor]."""
        rows, cols, blocks = column["rows"], column["cols"], column["blocks"] * self.partials
        matrices = column["matrices"]
        columns = matrices * cols
        tree = _ceil_div(np.maximum(rows, columns), BLOCK) * self.tree
        sizes = {
            "partials": blocks * self.stride,
            "folds": tree + np.maximum(blocks, tree) // (FOLD_SEGMENT - 1) + MAX_FOLD_PASSES,
            "row_partials": rows * _ceil_div(cols, BLOCK) * (self.stride if self.row_partials else 0),
            "rows_at": rows * self.rows,
            "cols_at": columns * self.cols,
            "sums": _ceil_div(rows // matrices, ROW_BLOCK) * columns * self.sums,
        }
        return np.array([sizes[name] for name in AREAS])


def allows_misaligned_head(kernel: Kernel) -> bool:
    """Whether groups of elements may begin before the tensor: nothing is made for a group, or a block, at once."""
    states = any(b.is_quantized or b.format.needs_draws for b in kernel.buffers)
    return not states and not any(isinstance(i.op, Word) for i in kernel.instrs())


def description() -> dict[str, Any]:
    """What programs other than this one have to know of a table, for manifests."""
    return {
        "columns": list(COLUMNS),
        "areas": list(AREAS),
        "threads": THREADS,
        "block": BLOCK,
        "row_block": ROW_BLOCK,
        "lanes": LANES,
        "fold_segment": FOLD_SEGMENT,
        "fold_passes": MAX_FOLD_PASSES,
    }


@dataclass(frozen=True)
class TableWord:
    """Word number `constant + per_tensor*n` of the table of n tensors."""

    constant: int
    per_tensor: int

    def of(self, n: int) -> int:
        return self.constant + self.per_tensor * n


@dataclass(frozen=True)
class TableLayout:
    """The words at which the parts of a kernel's table begin."""

    counts: Counts
    launches: int

    def column(self, name: str) -> TableWord:
        """The place of one of COLUMNS or AREAS."""
        return TableWord(HEAD, (COLUMNS + AREAS).index(name))

    @property
    def pointers(self) -> TableWord:
        return TableWord(HEAD, len(COLUMNS) + len(AREAS))

    def units(self, launch: int) -> TableWord:
        return TableWord(HEAD + launch, self.pointers.per_tensor + self.counts.buffers + launch)

    @property
    def values(self) -> TableWord:
        """The place of the shared values, behind which are the slots."""
        return self.units(self.launches)

    def shared(self, k: int) -> TableWord:
        return TableWord(self.values.constant + k, self.values.per_tensor)

    def slot(self, k: int) -> TableWord:
        return TableWord(self.values.constant + self.counts.shared, self.values.per_tensor + k)

    @property
    def matrices(self) -> TableWord:
        """The place of the column of batches; the end of the table where there is none."""
        return self.slot(self.counts.slots)

    @property
    def end(self) -> TableWord:
        return self.slot(self.counts.slots + self.counts.last_two)
