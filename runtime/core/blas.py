"""Products of matrices on several threads: those of the kernels' pool, never BLAS's own.

Two pools of threads on the same cores wait for each other: BLAS's workers spin for a while after each product, and a
product that is handed out waits for a worker whose core is busy. A product of 64x64 and 64x256, which takes 40 us on
one thread, was seen to take 3 ms on two. So BLAS runs on the thread that calls it, and large products are cut into
blocks for the pool, stacks of products also into their matrices. A product of (m, k) and (k, n) is m*n*k
multiplications.
"""

from __future__ import annotations

import math

import numpy as np

from optgen.linalg import blocks
from optgen.linalg.matrices import FLOPS
from optgen.loops.language import NO_TRANS, TRANS
from optgen.loops.numpy_blas import single
from runtime.core.backend import is_host

SERIAL_MAX_MULTIPLICATIONS = 1 << 18
"""Up to this size OpenBLAS uses one thread by itself; to have it do so would take longer."""
BLOCKED_MIN_MULTIPLICATIONS = 1 << 20
"""From this size on, 15 us of one thread, a product is cut into blocks; the pool's overhead is 10 us."""
VECTOR_MAX_MULTIPLICATIONS = 1 << 15
"""Up to this size `gemm` multiplies by vectors, too: to ask NumPy for `gemv` would take longer."""
MAX_BLOCKS = 8
"""The most blocks of a product, whatever the number of threads, so that the result does not depend on it."""
MIN_BLOCK_LENGTH = 32
"""The fewest rows or columns of a block."""
BLOCK_UNIT = 4
"""Rows or columns of a block are a multiple of this. Otherwise blocks are of one size: of 7, one of 2 threads has 4."""
UNPACKED_MAX_MULTIPLICATIONS = 1_000_000
"""Up to this size OpenBLAS, where the CPU has AVX-512, multiplies matrices without packing them first. In blocks that
small, 64x784 times 784x128 takes 67 us on two threads, and 120 us in larger ones."""
MIN_TURNED_LENGTH = 128
"""The fewest rows of a matrix, stored transposed, that is cut into halves."""
MIN_UNPACKED_LENGTH = 16
"""MIN_BLOCK_LENGTH for such blocks. With fewer rows or columns there is nothing to gain."""


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The product of two matrices, or of stacks of them; written to `out`, in C order, if that is given."""
    if not is_host(a):
        return np.matmul(a, b, out)
    if a.ndim >= 2 and a.shape[:-2] == b.shape[:-2] and a.dtype == b.dtype and a.dtype.char in "fd":
        m, k = a.shape[-2:]
        n = b.shape[-1]
        count = math.prod(a.shape[:-2])
        if min(m, n) > 1:
            if count == 1 and m * n * k <= SERIAL_MAX_MULTIPLICATIONS:
                return np.matmul(a, b, out)
            if count * m * n * k >= BLOCKED_MIN_MULTIPLICATIONS:
                return _in_blocks(a, b, out, count, m, n, k)
        elif 0 < count * m * n * k <= VECTOR_MAX_MULTIPLICATIONS:
            return _in_blocks(a, b, out, count, m, n, k)
    with single:
        return np.matmul(a, b, out)


def is_of_gemm(m: int, n: int, k: int, count: int) -> bool:
    """Whether products of matrices (m, k) and (k, n) are BLAS's `gemm`. NumPy has another function for larger vectors,
    which adds up in another order."""
    return min(m, n) > 1 or count * m * n * k <= VECTOR_MAX_MULTIPLICATIONS


def _in_blocks(a: np.ndarray, b: np.ndarray, out: np.ndarray | None, count: int, m: int, n: int, k: int) -> np.ndarray:
    c = np.empty((*a.shape[:-2], m, n), a.dtype) if out is None else out
    a, trans_a = _stored(a)
    b, trans_b = _stored(b)
    rows, columns = block_shape(m, n, k, trans_b == TRANS)
    tasks = count * -(-m // rows) * -(-n // columns)
    blocks.multiply(tasks, 2 * count * m * n * k // FLOPS, a, b, c, trans_a, trans_b, m, n, k, rows, columns, 0)
    return c


def block_shape(m: int, n: int, k: int, turned: bool) -> tuple[int, int]:
    """The rows and columns of the blocks of a product (m, n), which threads share; of a small one, all. `turned`: the
    second matrix is stored transposed."""
    if m * n * k < BLOCKED_MIN_MULTIPLICATIONS:
        return m, n
    if turned and MIN_TURNED_LENGTH <= n < m < 3 * n:
        # A turned matrix takes long to pack: half of it at a time. 1024x768 times 768x768 takes 6.1 ms, and in blocks
        # of rows 6.8.
        return -(-m // (4 * BLOCK_UNIT)) * BLOCK_UNIT, -(-n // (2 * BLOCK_UNIT)) * BLOCK_UNIT
    if n < m:
        return _block_length(m, n * k), n
    if m * n > (m + n) * k and m >= 2 * MIN_BLOCK_LENGTH and m * n * k <= MAX_BLOCKS * UNPACKED_MAX_MULTIPLICATIONS:
        # The upper rows and the lower ones: of the gradient of a weight each thread has the rows that it updates.
        rows = -(-m // (2 * BLOCK_UNIT)) * BLOCK_UNIT
        return rows, _block_length(n, rows * k, MAX_BLOCKS // 2)
    return m, _block_length(n, m * k)


def _block_length(length: int, each: int, most: int = MAX_BLOCKS) -> int:
    """The rows or columns of a block, of `length` in all, each of which takes `each` multiplications; about `most`
    blocks."""
    even = -(-length // (most * BLOCK_UNIT)) * BLOCK_UNIT
    unpacked = UNPACKED_MAX_MULTIPLICATIONS // (each * MIN_UNPACKED_LENGTH) * MIN_UNPACKED_LENGTH
    return max(min(unpacked, even), MIN_UNPACKED_LENGTH) if unpacked else max(even, MIN_BLOCK_LENGTH)


def _stored(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The matrix, or the matrices of a stack, as it is in memory, and its flag for `gemm`."""
    if not x.flags.c_contiguous:
        if x.swapaxes(-1, -2).flags.c_contiguous:
            return x.swapaxes(-1, -2), TRANS
        x = np.ascontiguousarray(x)
    return x, NO_TRANS
