"""The reductions of the IR with NumPy: what is folded with what, and in which order, which is the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from optgen import ir
from optgen.ir import BLOCK, IDENTITY, LANES, ROW_BLOCK

Array = np.ndarray[Any, Any]


def fold(op: ir.ReduceOp, a: Any, b: Any) -> Any:
    """Two numbers folded, or two arrays element by element. A NaN stays."""
    if op == "sum":
        return np.add(a, b)
    return np.where((a != a) | (a > b if op == "max" else a < b), a, b)[()]


def tree_reduce(op: ir.ReduceOp, x: Array) -> np.float64:
    """The fixed tree: each lane in index order, lanes by halves, blocks pairwise. Missing elements are skipped."""
    blocks = []
    for begin in range(0, x.size, BLOCK):
        lanes = np.full(LANES, IDENTITY[op])
        for row in range(begin, min(begin + BLOCK, x.size), LANES):
            present = x[row : min(row + LANES, x.size)]
            lanes[: present.size] = fold(op, lanes[: present.size], present)
        while lanes.size > 1:
            half = lanes.size // 2
            lanes = fold(op, lanes[:half], lanes[half:])
        blocks.append(lanes[0])
    return np.float64(_pairwise(op, blocks))


def fold_in_order(op: ir.ReduceOp, x: Array) -> Array:
    """The reduction of each matrix, whose values are along the last axis, in their order: shape (matrices, 1, 1)."""
    total = np.full(x.shape[:-1], IDENTITY[op])
    for k in range(x.shape[-1]):
        total = fold(op, total, x[..., k])
    return total[..., None, None]


def column_reduce(op: ir.ReduceOp, x: Array) -> Array:
    """The reduction of each column: blocks of ROW_BLOCK rows in order, the blocks pairwise."""
    blocks = []
    for begin in range(0, len(x), ROW_BLOCK):
        total = np.full(x.shape[1], IDENTITY[op])
        for row in x[begin : begin + ROW_BLOCK]:
            total = fold(op, total, row)
        blocks.append(total)
    return np.broadcast_to(_pairwise(op, blocks), (1, x.shape[1]))


def _pairwise(op: ir.ReduceOp, blocks: list[Any]) -> Any:
    while len(blocks) > 1:
        pairs = [fold(op, a, b) for a, b in zip(blocks[::2], blocks[1::2], strict=False)]
        blocks = pairs + blocks[len(pairs) * 2 :]
    return blocks[0] if blocks else IDENTITY[op]
