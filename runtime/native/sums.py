"""Sums of the rows of a matrix, element by element."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array
from runtime.native.vectors import accumulate, clear

COLUMNS_PER_TASK = 256


@kernel
def sum_rows(task: int, x: Array, y: Array, rows: int, columns: int) -> None:
    """y, (columns,): the sum of the rows of x, added up in order. One task for each COLUMNS_PER_TASK columns."""
    first = task * COLUMNS_PER_TASK
    n = min(COLUMNS_PER_TASK, columns - first)
    to = y + first
    clear(to, n)
    for r in range(rows):
        accumulate(to, x + (r * columns + first), n)
