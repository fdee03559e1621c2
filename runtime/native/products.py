"""Products of matrices, in blocks that the threads share."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import NO_TRANS, Array, gemm


@kernel
def multiply(
    task: int, a: Array, b: Array, c: Array, trans_a: int, trans_b: int, m: int, n: int, k: int, lda: int, ldb: int,
    rows: int, columns: int,
) -> None:  # fmt: skip
    """c = op(a) op(b) of shape (m, n), as `gemm` has it, in blocks of `rows` by `columns`, fewer at the ends. One task
    for each block, row by row."""
    across = (n + columns - 1) // columns
    i = task // across * rows
    j = task % across * columns
    gemm(
        trans_a, trans_b, min(rows, m - i), min(columns, n - j), k,
        a + (i * lda if trans_a == NO_TRANS else i), lda,
        b + (j if trans_b == NO_TRANS else j * ldb), ldb,
        0.0, c + (i * n + j), n,
    )  # fmt: skip
