"""Products of matrices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.core.backend import is_host
from runtime.core.blas import matmul
from runtime.core.threaded import takes
from runtime.native.sums import summed
from runtime.ndarray.elementwise.binary import types_differ
from runtime.ndarray.elementwise.unary import relu_slope
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import in_float32, repeating
from runtime.ndarray.shape.reshape import reshape
from runtime.ndarray.two_gradients import DirectOperator, TwoGradientOperator, kernel_pays, lent, widen_half

__all__ = ["batch_dot", "dot", "khatri_rao"]


@repeating
@DirectOperator
@in_float32
def _matmul(a: np.ndarray, b: np.ndarray, *, ta: bool = False, tb: bool = False) -> np.ndarray:
    """The product of two matrices, or of the matrices in two stacks of the same shape, transposed if asked."""
    return _product(a, b, ta, tb)


def _product(a: np.ndarray, b: np.ndarray, ta: bool, tb: bool, out: np.ndarray | None = None) -> np.ndarray:
    return matmul(a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b, out)


@_matmul.backward
def _(
    g: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    *,
    wanted: list[bool],
    places: list[np.ndarray | None],
    ta: bool = False,
    tb: bool = False,
) -> tuple[np.ndarray | None, ...]:
    dtype = g.dtype
    if dtype.itemsize == 2:
        g, a, b, places = widen_half(g), widen_half(a), widen_half(b), [None, None]
    of_a = of_b = None
    if wanted[0]:
        of_a = _product(b, g, tb, True, places[0]) if ta else _product(g, b, False, not tb, places[0])
    if wanted[1]:
        of_b = _product(g, a, True, ta, places[1]) if tb else _product(a, g, not ta, False, places[1])
    return tuple(dx if dx is None else dx.astype(dtype, copy=False) for dx in (of_a, of_b))


@_matmul.gradient
def _(g: NDArray, y: NDArray, a: NDArray, b: NDArray, *, ta: bool = False, tb: bool = False) -> NDArray:
    return _matmul(b, g, ta=tb, tb=True) if ta else _matmul(g, b, tb=not tb)


@_matmul.gradient
def _(g: NDArray, y: NDArray, a: NDArray, b: NDArray, *, ta: bool = False, tb: bool = False) -> NDArray:
    return _matmul(g, a, ta=True, tb=ta) if tb else _matmul(a, g, ta=not ta)


def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> NDArray:
    """The matrix product; of other arrays, the product over the last axis of `lhs` and the first of `rhs`.

    Transposed, over the first of `lhs`, or the last of `rhs`. The result is dense, or stored as `forward_stype`.
    """
    _check_types("dot", lhs, rhs)
    product = _contract(lhs, rhs, transpose_a, transpose_b)
    return product if forward_stype in (None, "default") else product.tostype(forward_stype)


def _contract(lhs: NDArray, rhs: NDArray, transpose_a: bool, transpose_b: bool) -> NDArray:
    # A vector is its own transpose; any array is a matrix of the axis summed over and the rest.
    ta, tb = bool(transpose_a) and lhs.ndim > 1, bool(transpose_b) and rhs.ndim > 1
    left, m = (lhs.shape[1:], lhs.shape[0]) if ta else (lhs.shape[:-1], lhs.shape[-1])
    right, n = (rhs.shape[:-1], rhs.shape[-1]) if tb else (rhs.shape[1:], rhs.shape[0])
    if m != n:
        a, b = (f"{x.shape}{'^T' * t}" for x, t in ((lhs, bool(transpose_a)), (rhs, bool(transpose_b))))
        raise MXNetError(f"dot: shapes {a} and {b} do not fit: {m} against {n}")
    if lhs.ndim == rhs.ndim == 2:
        return _matmul(lhs, rhs, ta=ta, tb=tb)
    a = reshape(lhs, (m, -1) if ta else (-1, m))
    b = reshape(rhs, (-1, m) if tb else (m, -1))
    return reshape(_matmul(a, b, ta=ta, tb=tb), (*left, *right) or (1,))


def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> NDArray:
    """The product of each matrix of `lhs`, (..., m, k), with its counterpart in `rhs`, (..., k, n): (..., m, n).

    There are three axes or more, of equal lengths but for the last two. `transpose_a` and `transpose_b` exchange
    those. The result is dense, the one `forward_stype` there is.
    """
    if forward_stype not in (None, "default"):
        raise MXNetError(f"batch_dot: the result is dense, forward_stype='default', not {forward_stype!r}")
    if lhs.ndim < 3 or rhs.ndim < 3:
        raise MXNetError(f"batch_dot: three axes or more are needed, not shapes {lhs.shape} and {rhs.shape}")
    return multiply_matrices("batch_dot", lhs, rhs, bool(transpose_a), bool(transpose_b))


def multiply_matrices(name: str, a: NDArray, b: NDArray, ta: bool = False, tb: bool = False) -> NDArray:
    """The product of two matrices or stacks of them, for the operator `name`, which errors speak of."""
    _check_types(name, a, b)
    if (
        a.ndim < 2
        or b.ndim < 2
        or a.shape[:-2] != b.shape[:-2]
        or a.shape[-2 if ta else -1] != b.shape[-1 if tb else -2]
    ):
        shapes = [f"{x.shape}{'^T' * t}" for x, t in ((a, ta), (b, tb))]
        raise MXNetError(f"{name}: matrices of shapes {shapes[0]} and {shapes[1]} do not fit")
    return _matmul(a, b, ta=ta, tb=tb)


def khatri_rao(*args: NDArray) -> NDArray:
    """The products of each row of one matrix with each of the next, and so on, of matrices with equally many columns.

    Of (m, k) and (n, k) it is (m n, k).
    """
    if not args:
        raise MXNetError("khatri_rao: no matrices given")
    for x in args:
        if x.ndim != 2 or x.shape[1] != args[0].shape[1]:
            raise MXNetError(
                f"khatri_rao: matrices with equally many columns are needed, not shapes {args[0].shape} and {x.shape}"
            )
    columns = args[0].shape[1]
    return functools.reduce(
        lambda a, b: reshape(reshape(a, (-1, 1, columns)) * reshape(b, (1, -1, columns)), (-1, columns)), args
    )


def _check_types(name: str, a: NDArray, b: NDArray) -> None:
    for x in (a, b):
        if not isinstance(x, NDArray):
            raise TypeError(f"{name}: operands must be NDArrays, not {type(x).__name__}")
    if a._data.dtype != b._data.dtype:
        raise MXNetError(types_differ(name, a, b))


# ---------------------------------------------------------------- with a bias


@TwoGradientOperator
@in_float32
def _linear(x: np.ndarray, w: np.ndarray, b: np.ndarray, *, relu: bool = False) -> np.ndarray:
    """`x w^T + b`, the bias added in place; with `relu`, or 0 where that is negative."""
    y = matmul(x, w.T)
    y += b
    return np.maximum(y, 0, out=y) if relu else y


@_linear.backward
def _(
    g: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    *,
    wanted: list[bool],
    places: list[np.ndarray | None],
    relu: bool = False,
) -> tuple[np.ndarray | None, ...]:
    dtype = g.dtype
    if dtype.itemsize == 2:
        g, x, w, places = widen_half(g), widen_half(x), widen_half(w), [None, None]
    if relu:
        g = g * widen_half(relu_slope.forward(y))
    of_data = matmul(g, w, places[0]) if wanted[0] else None
    of_weight = matmul(g.T, x, places[1]) if wanted[1] else None
    gradients = of_data, of_weight, _sum_of_rows(g) if wanted[2] else None
    return gradients if dtype == g.dtype else tuple(dx if dx is None else dx.astype(dtype) for dx in gradients)


def _sum_of_rows(g: np.ndarray) -> np.ndarray:
    """As plans compute it. NumPy adds up several columns in the same order, in less time if there are few."""
    if not g.size or not takes(g) or (g.shape[1] > 1 and not kernel_pays(g)):
        return g.sum(axis=0)
    return summed(g, *g.shape, 1)


POSTPONED_ELEMENTS = 4
"""The gradient of a weight that has so many times the elements of its factors is not computed for each call."""


@_linear.postpone
def _(node: autograd.Node, g: np.ndarray) -> dict[int, autograd.Postponed]:
    """That of a weight with far more elements than a call has: cells that run for each word of a sentence."""
    weight, x = node.parents[1], node.inputs[0]
    few = POSTPONED_ELEMENTS * (g.size + x.size) < node.inputs[1].size
    if not few or type(weight) is not autograd.Variable or g.dtype.itemsize == 2 or not is_host(g):
        return {}
    if node.attrs.get("relu"):
        g = g * relu_slope.forward(node.output)
    return {1: autograd.Postponed(_product_of_rows, (g, x, node.ctx, weight))}


def _product_of_rows(factors: list[tuple[np.ndarray, np.ndarray, Any, autograd.Variable]]) -> NDArray:
    """The sum of the products g^T x, as one product, where the variable keeps its gradient if that is possible."""
    g, x = (np.concatenate(rows) if len(rows) > 1 else rows[0] for rows in list(zip(*factors, strict=True))[:2])
    *_, ctx, weight = factors[0]
    to = lent(weight) if ctx.on_cpu else None
    product = matmul(g.T, x, None if to is None else to._data)
    return NDArray(product, ctx) if to is None else to


def _through(g: NDArray, y: NDArray, relu: bool) -> NDArray:
    return g * relu_slope(y) if relu else g


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray, *, relu: bool = False) -> NDArray:
    return _matmul(_through(g, y, relu), w)


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray, *, relu: bool = False) -> NDArray:
    return _matmul(_through(g, y, relu), x, ta=True)


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray, *, relu: bool = False) -> NDArray:
    return _through(g, y, relu).sum(axis=0)
