"""Products of matrices by BLAS, in blocks that the threads share."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import TRANS, Array, gemm


@kernel
def multiply(
    task: int, a: Array, b: Array, c: Array, trans_a: int, trans_b: int, m: int, n: int, k: int,
    rows: int, columns: int, symmetric: int,
) -> None:  # fmt: skip
    """c = op(a) op(b) of shape (m, n), as `gemm` has it, for each of a batch; in blocks of `rows` by `columns`, fewer
    at the ends. One task for each block, row by row, matrix after matrix.

    If c is `symmetric`, m is n and `rows` is `columns`; one task for each block on and below the diagonal. What is
    above is the mirror image.
    """
    across = (n + columns - 1) // columns
    blocks = across * (across + 1) // 2 if symmetric == 1 else (m + rows - 1) // rows * across
    matrix = task // blocks
    place = task % blocks
    row = 0
    along = 1 if symmetric == 1 else across
    while place >= along:
        place = place - along
        along = along + (1 if symmetric == 1 else 0)
        row += 1
    i = row * rows
    j = place * columns
    height = min(rows, m - i)
    width = min(columns, n - j)
    lda = m if trans_a == TRANS else k
    ldb = k if trans_b == TRANS else n
    c_here = c + matrix * m * n
    gemm(
        trans_a, trans_b, height, width, k,
        a + (matrix * m * k + (i if trans_a == TRANS else i * lda)), lda,
        b + (matrix * k * n + (j * ldb if trans_b == TRANS else j)), ldb,
        0.0, c_here + (i * n + j), n,
    )  # fmt: skip
    if symmetric == 1:
        for y in range(i, i + height):
            for x in range(j, min(j + width, y)):
                c_here[x * n + y] = c_here[y * n + x]
