"""Matrices in panels, and products with them: what many small products have on their right is packed once.

`optgen.linalg.own` has the format, and the code of the products.
"""

from __future__ import annotations

import math

import numpy as np

from optgen.linalg.matrices import FLOPS
from optgen.loops.kernel import kernel
from optgen.loops.language import Array, packed_gemm

ALIGNMENT = 64
"""Of panels, in bytes: a vector that crosses lines of the cache takes two loads."""
ROWS_PER_TASK = 48
"""Of `multiply`: a multiple of what a tile has, with which the panels are read from the second cache."""


@kernel
def pack(task: int, w: Array, panels: Array, k: int, n: int, width: int, turned: int) -> None:
    """The panels of w, (k, n), or if `turned` of the transpose of w, (n, k). One task for each panel."""
    first = task * width
    count = min(width, n - first)
    to = panels + first * k
    if count < width:
        for i in range(width * k):
            to[i] = 0.0
    if turned == 1:
        for j in range(count):
            line = w + (first + j) * k
            for i in range(k):
                to[i * width + j] = line[i]
    else:
        for i in range(k):
            line = w + (i * n + first)
            for j in range(count):
                to[i * width + j] = line[j]


@kernel
def multiply(task: int, x: Array, panels: Array, y: Array, m: int, n: int, k: int, rows: int, code: int) -> None:
    """y = x w, of x, (m, k), and the panels of w, (k, n). A task has `rows` rows."""
    first = task * rows
    packed_gemm(code, min(rows, m - first), n, k, x + first * k, k, 1, panels, 0, y + first * n, n)


def packed(w: np.ndarray, *, turned: bool = False) -> np.ndarray:
    """The panels of a matrix, or of its transpose if `turned`."""
    n, k = w.shape if turned else w.shape[::-1]
    lines = panel_width(w.dtype)
    count = -(-n // lines)
    panels = aligned(count * lines * k, w.dtype)
    pack(count, w.size, w, panels, k, n, lines, int(turned))
    return panels


def panel_width(dtype: np.dtype) -> int:
    """The lines of a panel."""
    from optgen.linalg.own.packed import tile_of

    return tile_of(dtype).width


def aligned(size: int, dtype: np.dtype) -> np.ndarray:
    """An array for panels."""
    memory = np.empty(size + ALIGNMENT // dtype.itemsize, dtype)
    start = -memory.ctypes.data % ALIGNMENT // dtype.itemsize
    return memory[start : start + size]


def product(x: np.ndarray, panels: np.ndarray, n: int) -> np.ndarray:
    """x w, (..., n), of x, (..., k), and the panels of w."""
    *outer, k = x.shape
    m = math.prod(outer)
    y = np.empty((*outer, n), x.dtype)
    multiply(-(-m // ROWS_PER_TASK), 2 * m * n * k // FLOPS, x, panels, y, m, n, k, ROWS_PER_TASK, code(x.dtype))
    return y


def code(dtype: np.dtype) -> int:
    """What `packed_gemm` takes."""
    from optgen.linalg.own import packed

    return packed.address(dtype)
