"""Products of matrices: op(a) @ op(b), where op is nothing or the transpose."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from optgen.linalg import blocks
from optgen.linalg.matrices import SUMMED, Addend, Matrices, ProductShape, check, result
from optgen.loops.kernel import Job
from optgen.loops.language import NO_TRANS, TRANS

if TYPE_CHECKING:
    from optgen.linalg.own.multiply import OwnProduct, PanelUse
    from optgen.linalg.own.tile import OperandType

How = Literal["native", "bfloat16", "deterministic"]
OWN_MIN_MULTIPLICATIONS = 1 << 21
"""Smaller products are left to BLAS: what packing takes does not pay."""
_OPERANDS: dict[np.dtype[Any], OperandType] = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64"}
EDGE = 192
"""The rows and columns of a block of BLAS. They do not depend on the number of threads, so the result does not."""


def product(
    a: Matrices,
    b: Matrices,
    out: Matrices | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    symmetric: bool = False,
    how: How = "native",
    addend: Addend | None = None,
) -> Matrices:
    """op(a) @ op(b) of shape (..., m, n), in `out` or a new array.

    `a` and `b` have one dtype and equal leading dimensions. `symmetric`: the caller knows that the result is, as
    a @ a^T is. What is below and on the diagonal is computed then, and the rest is its mirror image.

    `how` is "native": in the dtype of the arrays, by BLAS or code of our own; "bfloat16": of float32 arrays that are
    rounded to bfloat16, to nearest even, with sums in float32; or "deterministic": as `reference_product` has it, to
    the bit.

    With an `addend` it is alpha * op(a) @ op(b) + beta * matrix, to the bit what a sweep makes of the product and the
    matrix, in one pass less over memory. The matrix has the shape of the result, and is symmetric if that is.

    The bits do not depend on the number of threads, and those of "deterministic" not on the processor either.

    Raises TypeError for other types of arrays; ValueError where inner dimensions differ, or a symmetric result would
    not be square, or `out` has another shape or overlaps.
    """
    shape, out = _checked(a, b, out, transpose_a, transpose_b, symmetric, how, addend)
    blas = _takes_blas(shape, how)
    if blas:
        by_blas(a, b, out, shape, transpose_a, transpose_b, symmetric)
    if not blas or addend is not None:
        from optgen.linalg.own.multiply import finish, multiply

        own = _own(a, how)
        if not blas:
            multiply(own, a, b, out, shape, transpose_a, transpose_b, symmetric, addend)
        elif addend is not None:
            finish(own, out, shape, addend)
    return out


@dataclass(frozen=True)
class PreparedProduct:
    """A product over fixed arrays, which are to be kept alive, to be computed any number of times: `jobs`, in order.
    It packs operands into `panel_bytes` of memory, from the address on that `place` is given."""

    jobs: tuple[Job, ...]
    panels: PanelUse | None
    addend: Addend | None

    @property
    def panel_bytes(self) -> int:
        return 0 if self.panels is None else self.panels.nbytes

    def place(self, address: int) -> None:
        """Have the panels at an address: a multiple of 64."""
        if self.panels is not None:
            self.panels.place(address)

    def set_factors(self, alpha: float, beta: float) -> None:
        """Set the factors of what is added."""
        from optgen.linalg.own.multiply import set_factors

        assert self.addend is not None
        set_factors(self.jobs[-1].arguments, self.addend._replace(alpha=alpha, beta=beta))


def prepare(
    a: Matrices,
    b: Matrices,
    out: Matrices,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    symmetric: bool = False,
    how: How = "native",
    addend: Addend | None = None,
) -> PreparedProduct | None:
    """The same `product`, to be computed later; None where there is nothing to multiply."""
    from optgen.linalg.own.multiply import finishing
    from optgen.linalg.own.multiply import prepare as prepare_own

    shape, out = _checked(a, b, out, transpose_a, transpose_b, symmetric, how, addend)
    if out.size == 0 or shape.k == 0:
        return None
    if not _takes_blas(shape, how):
        own = _own(a, how)
        panels, works = prepare_own(own, a, b, out, shape, transpose_a, transpose_b, symmetric, addend)
        jobs = (Job(address, panels.fields, work) for address, work in zip(own.addresses, works, strict=False))
        return PreparedProduct(tuple(jobs), panels, addend)
    first = blocks.multiply.prepared(*_blas_arguments(a, b, out, shape, transpose_a, transpose_b, symmetric))
    if addend is None:
        return PreparedProduct((first,), None, None)
    last = Job(_own(a, how).addresses[-1], finishing(out, shape, addend), out.size)
    return PreparedProduct((first, last), None, addend)


def _takes_blas(shape: ProductShape, how: How) -> bool:
    small = shape.m * shape.n * shape.k < OWN_MIN_MULTIPLICATIONS
    return how == "native" and (small or not _own_is_faster())


def _own(a: Matrices, how: How) -> OwnProduct:
    from optgen.linalg.own.multiply import load

    return load("bfloat16" if how == "bfloat16" else _OPERANDS[a.dtype], how != "deterministic")


@functools.cache
def _own_is_faster() -> bool:
    # LLVM, which is slow to import, comes with the first product.
    from optgen.backends import target
    from optgen.linalg.own.tile import has_large_tiles

    return has_large_tiles(target.host())


def by_blas(
    a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, transpose_a: bool, transpose_b: bool, symmetric: bool
) -> None:
    """Blocks of the result, each one call on one thread, over all of k."""
    blocks.multiply(*_blas_arguments(a, b, c, shape, transpose_a, transpose_b, symmetric))


def _blas_arguments(
    a: Matrices, b: Matrices, c: Matrices, shape: ProductShape, transpose_a: bool, transpose_b: bool, symmetric: bool
) -> tuple[Any, ...]:
    batch, m, n, k = shape
    ops = TRANS if transpose_a else NO_TRANS, TRANS if transpose_b else NO_TRANS
    across, along = -(-n // EDGE), -(-m // EDGE)
    tasks = batch * (along * (along + 1) // 2 if symmetric else along * across)
    return tasks, shape.work, a, b, c, *ops, m, n, k, EDGE, EDGE, int(symmetric)


def reference_product(
    a: Matrices, b: Matrices, *, transpose_a: bool = False, transpose_b: bool = False, symmetric: bool = False
) -> Matrices:
    """The definition of a deterministic product.

    The products of SUMMED consecutive k are added up, in order, from 0; these sums are added up, in order. Each
    operation rounds. Of a symmetric product, what is above the diagonal is the mirror image of what is below.
    """
    shape, _ = _checked(a, b, None, transpose_a, transpose_b, symmetric, "deterministic", None)
    a, b = (np.swapaxes(x, -1, -2) if turned else x for x, turned in ((a, transpose_a), (b, transpose_b)))
    total = np.zeros((*a.shape[:-1], shape.n), a.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, shape.k, SUMMED):
            part = np.zeros_like(total)
            for k in range(start, min(start + SUMMED, shape.k)):
                part += a[..., :, k, None] * b[..., None, k, :]
            total = part if start == 0 else total + part
    return np.tril(total) + np.swapaxes(np.tril(total, -1), -1, -2) if symmetric else total


def _checked(
    a: Matrices,
    b: Matrices,
    out: Matrices | None,
    transpose_a: bool,
    transpose_b: bool,
    symmetric: bool,
    how: How,
    addend: Addend | None,
) -> tuple[ProductShape, Matrices]:
    check("a", a)
    check("b", b)
    if how not in get_args(How):
        raise ValueError(f"how must be one of {', '.join(map(repr, get_args(How)))}, not {how!r}")
    if a.dtype != b.dtype:
        raise TypeError(f"a is {a.dtype} and b is {b.dtype}; a product takes one dtype")
    if how == "bfloat16" and a.dtype != np.float32:
        raise TypeError(f"products in bfloat16 are of float32 arrays, not of {a.dtype}")
    if a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"the leading dimensions of a, {a.shape}, and b, {b.shape}, differ")
    m, k = a.shape[:-3:-1] if transpose_a else a.shape[-2:]
    inner, n = b.shape[:-3:-1] if transpose_b else b.shape[-2:]
    if inner != k:
        raise ValueError(f"the inner dimensions of ({m}, {k}) @ ({inner}, {n}) differ: {k} and {inner}")
    if symmetric and m != n:
        raise ValueError(f"a product of shape ({m}, {n}) is not square, so it cannot be symmetric")
    more = [] if addend is None else [check("the addend", addend.matrix)]
    out = result(out, (*a.shape[:-2], m, n), a.dtype, a, b, *more)
    for x in more:
        if x.shape != out.shape or x.dtype != out.dtype:
            raise ValueError(f"the addend must be {out.dtype} of shape {out.shape}, not {x.dtype}, {x.shape}")
    return ProductShape(math.prod(a.shape[:-2]), m, n, k), out
