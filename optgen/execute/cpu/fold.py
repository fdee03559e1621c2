"""The folds of the reduction tree with NumPy, for what boxes of a tensor have exchanged: the bits of the kernels."""

from __future__ import annotations

import numpy as np

from optgen.execute.buffers import Array
from optgen.ir import IDENTITY, LANES
from optgen.ir.ops import ReduceOp
from optgen.ir.reductions import fold


def fold_rows(op: ReduceOp, rows: Array) -> Array:
    """The rows of an array, one after the other, folded into one."""
    total: Array = np.full(rows.shape[1:], IDENTITY[op])
    for row in rows:
        total = fold(op, total, row)
    return total


def fold_blocks(op: ReduceOp, terms: Array) -> Array:
    """The result of each block; `terms` has a row of BLOCK terms for each, filled up with identities."""
    lanes = fold_rows(op, terms.reshape(len(terms), -1, LANES).swapaxes(0, 1))
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = fold(op, lanes[:, :half], lanes[:, half:])
    return lanes[:, 0]
