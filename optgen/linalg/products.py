"""Products of matrices: op(a) @ op(b), where op is nothing or the transpose."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from optgen.linalg import blocks
from optgen.linalg.matrices import Matrices, check, result
from optgen.loops.language import NO_TRANS, TRANS

How = Literal["native", "bfloat16", "deterministic"]
EDGE = 192
"""The rows and columns of a block. They do not depend on the number of threads, so that the result does not."""
FLOPS = 32
"""The multiplications and additions of a product that take as long as one addition of two arrays' elements."""


class ProductShape(NamedTuple):
    """`batch` products of (m, k) and (k, n)."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def work(self) -> int:
        """The work in additions of two arrays' elements, as the threads count it."""
        return 2 * self.batch * self.m * self.n * self.k // FLOPS


def product(
    a: Matrices,
    b: Matrices,
    out: Matrices | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    symmetric: bool = False,
) -> Matrices:
    """op(a) @ op(b) of shape (..., m, n), in `out` or a new array.

    `a` and `b` have one dtype and equal leading dimensions. `symmetric`: the caller knows that the result is, as
    a @ a^T is. Blocks below and on the diagonal are computed then, and the others are their mirror images.

    The bits do not depend on the number of threads: blocks of the result are each one call of BLAS on one thread, over
    all of k.

    Raises TypeError for other types of arrays; ValueError where inner dimensions differ, or a symmetric result would
    not be square, or `out` has another shape or overlaps.
    """
    shape, out = _checked(a, b, out, transpose_a, transpose_b, symmetric)
    _, m, n, k = shape
    ops = TRANS if transpose_a else NO_TRANS, TRANS if transpose_b else NO_TRANS
    across, along = -(-n // EDGE), -(-m // EDGE)
    tasks = shape.batch * (along * (along + 1) // 2 if symmetric else along * across)
    blocks.multiply(tasks, shape.work, a, b, out, *ops, m, n, k, EDGE, EDGE, int(symmetric))
    return out


def _checked(
    a: Matrices, b: Matrices, out: Matrices | None, transpose_a: bool, transpose_b: bool, symmetric: bool
) -> tuple[ProductShape, Matrices]:
    check("a", a)
    check("b", b)
    if a.dtype != b.dtype:
        raise TypeError(f"a is {a.dtype} and b is {b.dtype}; a product takes one dtype")
    if a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"the leading dimensions of a, {a.shape}, and b, {b.shape}, differ")
    m, k = a.shape[:-3:-1] if transpose_a else a.shape[-2:]
    inner, n = b.shape[:-3:-1] if transpose_b else b.shape[-2:]
    if inner != k:
        shapes = [f"({m}, {k})", f"({inner}, {n})"]
        raise ValueError(f"the inner dimensions of {' @ '.join(shapes)} differ: {k} and {inner}")
    if symmetric and m != n:
        raise ValueError(f"a product of shape ({m}, {n}) is not square, so it cannot be symmetric")
    out = result(out, (*a.shape[:-2], m, n), a.dtype, a, b)
    return ProductShape(math.prod(a.shape[:-2]), m, n, k), out
