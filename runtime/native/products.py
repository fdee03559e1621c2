"""Products of matrices, in blocks that the threads share."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, Array, gemm


@kernel
def multiply(
    task: int, a: Array, b: Array, c: Array, turn_a: int, turn_b: int, m: int, n: int, k: int, lda: int, ldb: int,
    rows: int, columns: int,
) -> None:  # fmt: skip
    """A block of c = a b, as `gemm` has it: `rows` by `columns`, less at the edges. A task for each, row by row."""
    across = (n + columns - 1) // columns
    i = task // across * rows
    j = task % across * columns
    gemm(
        turn_a, turn_b, min(rows, m - i), min(columns, n - j), k,
        a + (i * lda if turn_a == NO_TRANS else i), lda,
        b + (j if turn_b == NO_TRANS else j * ldb), ldb,
        0.0, c + (i * n + j), n,
    )  # fmt: skip
