"""Products of matrices, on as many threads as pay: those of the kernels, never BLAS's own.

Two pools of threads on the same cores wait for each other: BLAS's workers spin for a while after each product, and a
product that is handed out waits for a worker whose core is busy. 64x64 times 64x256, 40 us on one thread, was seen to
take 3 ms on two. So BLAS stays on the thread that calls it, and large products are cut into blocks for the pool.
"""

from __future__ import annotations

import numpy as np

from optgen.loops.language import NO_TRANS, TRANS
from optgen.loops.numpy_blas import single
from runtime.core.backend import is_host
from runtime.native import products

SMALL = 1 << 18
"""Up to so many multiplications BLAS uses one thread of its own accord (OpenBLAS does; a kernel would cost more)."""
LARGE = 1 << 20
"""From so many on, a product is cut into blocks: 15 us of one thread, which the pool's overhead of 10 is worth."""
BLOCKS = 8
"""Into so many blocks a large product is cut at most, whatever the number of threads: so that it always is the same."""
WIDTH = 32
"""A block has at least so many rows or columns, and a multiple of it."""
UNPACKED = 1_000_000
"""Up to so many multiplications OpenBLAS, where the CPU has AVX-512, leaves the matrices as they lie instead of packing
them first: 64x784 times 784x128 takes 67 us on two threads in blocks that small, 120 in larger ones."""
NARROW = 16
"""What WIDTH is for such blocks: with fewer rows or columns there is nothing to gain."""
FLOPS = 32
"""So many multiplications and additions of a product take as long as one addition of two arrays."""


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices, or of stacks of them."""
    if not is_host(a):
        return np.matmul(a, b)
    if a.ndim == 2 and b.ndim == 2 and a.dtype == b.dtype and a.dtype.char in "fd":
        m, k = a.shape
        n = b.shape[1]
        if min(m, n) > 1:
            if m * n * k <= SMALL:
                return np.matmul(a, b)
            if m * n * k >= LARGE:
                return _in_blocks(a, b, m, n, k)
    with single:
        return np.matmul(a, b)


def _in_blocks(a: np.ndarray, b: np.ndarray, m: int, n: int, k: int) -> np.ndarray:
    c = np.empty((m, n), a.dtype)
    a, turn_a, lda = _rows(a)
    b, turn_b, ldb = _rows(b)
    rows, columns = (m, _share(n, m * k)) if n >= m else (_share(m, n * k), n)
    blocks = -(-m // rows) * -(-n // columns)
    products.multiply(blocks, 2 * m * n * k // FLOPS, a, b, c, turn_a, turn_b, m, n, k, lda, ldb, rows, columns)
    return c


def _share(length: int, each: int) -> int:
    """How many of `length` rows or columns a block has; `each` is how many multiplications one is."""
    unpacked = UNPACKED // (each * NARROW)
    if unpacked:
        return min(unpacked, -(-length // (BLOCKS * NARROW))) * NARROW
    return -(-length // (BLOCKS * WIDTH)) * WIDTH


def _rows(x: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The matrix in memory, whether it is to be turned, and how far its rows are apart there."""
    if not x.flags.c_contiguous:
        if x.T.flags.c_contiguous:
            return x.T, TRANS, x.shape[0]
        x = np.ascontiguousarray(x)
    return x, NO_TRANS, x.shape[1]
