"""What operators do with sparse arrays, where they do not compute with the dense arrays those stand for.

`RULES[name]` is a rule for the function `nd.name`: called as that function is, with the function before the arguments,
when one of them is sparse.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core import backend
from runtime.ndarray import creation, elementwise
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import as_function
from runtime.ndarray.reduce import reductions
from runtime.ndarray.sparse import arithmetic
from runtime.ndarray.sparse.base import BaseSparseNDArray, in_graph, tostype
from runtime.ndarray.sparse.csr import CSRNDArray
from runtime.ndarray.sparse.products import matmul, present_rows
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray, sum_rows

Function = Callable[..., Any]

RULES: dict[str, Function] = {}


def sparse_aware(name: str, function: Function) -> Function:
    """The function `nd.name`, with its rule for sparse arrays if there is one."""
    rule = RULES.get(name)
    if rule is None:
        return function
    function = as_function(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if isinstance(x, BaseSparseNDArray):
                return rule(function, *args, **kwargs)
        for x in kwargs.values():
            if isinstance(x, BaseSparseNDArray):
                return rule(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call


def _rule(*names: str) -> Callable[[Function], Function]:
    def register(rule: Function) -> Function:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


# ---------------------------------------------------------------- of each element


@_rule(
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "degrees", "expm1", "fix", "floor", "log1p",
    "negative", "radians", "relu", "rint", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    "identity", "stop_gradient", "BlockGrad", "make_loss", "round_ste", "sign_ste",
)  # fmt: skip
def _zero_of_zero(dense: Function, data: BaseSparseNDArray) -> NDArray:
    return data._map(dense)


@_rule("zeros_like")
def _zeros_like(dense: Function, data: BaseSparseNDArray, dtype: Any = None) -> NDArray:
    return creation.zeros(data.shape, data.context, dtype or data.dtype, data.stype)


@_rule("clip")
def _clip(dense: Function, data: BaseSparseNDArray, a_min: float, a_max: float) -> NDArray:
    if a_min <= 0 <= a_max:
        return data._map(lambda x: dense(x, a_min, a_max))
    return dense(data, a_min, a_max)


@_rule("gradientmultiplier")
def _gradient_multiplier(dense: Function, data: BaseSparseNDArray, scalar: float = 1) -> NDArray:
    return data._map(lambda x: dense(x, scalar))


def _of_one_shape(name: str, function: Function) -> None:
    @_rule(name)
    def rule(dense: Function, lhs: Any, rhs: Any) -> NDArray:
        alike = isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape
        return (function if alike else dense)(lhs, rhs)


def _broadcasting(function: Function, *names: str) -> None:
    @_rule(*names)
    def rule(dense: Function, lhs: Any, rhs: Any) -> NDArray:
        scales = isinstance(rhs, NDArray) and (lhs.stype, rhs.stype) == ("csr", "default")
        return (function if scales else dense)(lhs, rhs)


_of_one_shape("elemwise_add", arithmetic.add)
_of_one_shape("elemwise_sub", arithmetic.subtract)
_of_one_shape("elemwise_mul", arithmetic.multiply)
_broadcasting(arithmetic.multiply, "multiply")
_broadcasting(arithmetic.divide, "divide", "broadcast_div")


@_rule("broadcast_mul")
def _broadcast_mul(dense: Function, lhs: Any, rhs: Any, axis: Any = None) -> NDArray:
    return RULES["multiply"](dense, lhs, rhs)


@_rule("add_n", "ElementWiseSum")
def _add_n(dense: Function, *args: NDArray) -> NDArray:
    """The sum of row-sparse arrays is row-sparse."""
    if in_graph(*args) or not all(isinstance(x, RowSparseNDArray) and x.shape == args[0].shape for x in args):
        return dense(*args)
    for x in args[1:]:
        arithmetic._check_alike(elementwise.add, args[0], x)
    with backend.device_scope(args[0]._ctx):
        return args[0]._of_keys(
            *sum_rows(np.concatenate([x._indices for x in args]), np.concatenate([x._values for x in args]))
        )


# ---------------------------------------------------------------- of all elements


@_rule("sum")
def _sum(dense: Function, data: NDArray, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """Without making a csr array dense."""
    return dense(data, axis, keepdims, exclude) if _not_direct(data, axis, exclude) else _total(data, axis, keepdims)


@_rule("mean")
def _mean(dense: Function, data: NDArray, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    if _not_direct(data, axis, exclude) or data.dtype not in (np.float32, np.float64):
        return dense(data, axis, keepdims, exclude)
    return _total(data, axis, keepdims) / (data.size if axis in (None, ()) else data.shape[axis])


def _not_direct(data: NDArray, axis: Any, exclude: bool) -> bool:
    return not isinstance(data, CSRNDArray) or in_graph(data) or exclude or axis not in (None, (), 0, 1, -1, -2)


def _total(data: CSRNDArray, axis: Any, keepdims: bool) -> NDArray:
    if axis in (None, ()):
        total = reductions.sum(_all_values(data))
        return total.reshape((1, 1)) if keepdims else total
    down = axis in (0, -2)
    ones = creation.ones((data.shape[0 if down else 1], 1), data._ctx, data.dtype)
    return matmul(data, ones, down).reshape(((1, -1) if down else (-1, 1)) if keepdims else (-1,))


@_rule("norm")
def _norm(
    dense: Function, data: NDArray, ord: int = 2, axis: Any = None, out_dtype: Any = None, keepdims: bool = False
) -> NDArray:
    if in_graph(data) or axis is not None or keepdims:
        return dense(data, ord, axis, out_dtype, keepdims)
    return dense(_all_values(data), ord, None, out_dtype)


def _all_values(data: BaseSparseNDArray) -> NDArray:
    """The values as a vector; a zero if there are none."""
    if not data._values.size:
        return creation.blank(1, data._ctx, data.dtype)
    with backend.device_scope(data._ctx):
        return NDArray(data._values.reshape(-1), data._ctx)


# ---------------------------------------------------------------- parts and products


@_rule("slice")
def _slice(dense: Function, data: NDArray, begin: Any, end: Any, step: Any = None) -> NDArray:
    """A block of a csr array is one."""
    begin, end, steps = (x if isinstance(x, (tuple, list)) else (x,) for x in (begin, end, step or ()))
    if not isinstance(data, CSRNDArray) or not len(begin) == len(end) <= 2 or any(s not in (None, 1) for s in steps):
        return dense(data, begin, end, step)
    return data._block(*map(slice, begin, end))


@_rule("concat", "Concat")
def _concat(dense: Function, *data: NDArray, dim: int = 1, **kwargs: Any) -> NDArray:
    """csr arrays below one another."""
    if (
        dim != 0
        or in_graph(*data)
        or not all(isinstance(x, CSRNDArray) for x in data)
        or len({x.shape[1] for x in data}) > 1
    ):
        return dense(*data, dim=dim, **kwargs)
    first = data[0]
    for x in data[1:]:
        arithmetic._check_alike(elementwise.add, first, x)
    ends = [0, *itertools.accumulate(len(x._values) for x in data)]
    shape = (sum(len(x) for x in data), first.shape[1])
    with backend.device_scope(first._ctx):
        starts = [first._indptr[:1], *(x._indptr[1:] + end for x, end in zip(data, ends, strict=False))]
        values, indices = (np.concatenate([x._read()[i] for x in data]) for i in (0, 1))
        return CSRNDArray(values, indices, np.concatenate(starts), shape, first._ctx)


@_rule("take")
def _take(dense: Function, a: NDArray, indices: NDArray, axis: int = 0, mode: str = "clip") -> NDArray:
    """Rows of a csr array are one."""
    if not isinstance(a, CSRNDArray) or in_graph(a) or axis != 0 or indices.ndim != 1 or mode not in ("clip", "wrap"):
        return dense(a, indices, axis, mode)
    with backend.device_scope(a._ctx):
        rows = indices._data.astype(np.int64)
        return a._taken(np.clip(rows, 0, len(a) - 1) if mode == "clip" else rows % len(a))


@_rule("dot")
def _dot(
    dense: Function,
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> NDArray:
    """csr with dense is dense, csr transposed with dense row-sparse, dense with csr csr, or `forward_stype`."""
    product, stype = None, "default"
    if isinstance(lhs, CSRNDArray) and not isinstance(rhs, CSRNDArray) and not transpose_b:
        stype = "row_sparse" if transpose_a else "default"
        if not in_graph(lhs):
            product = lambda: matmul(lhs, rhs, transpose_a)  # noqa: E731
    elif isinstance(rhs, CSRNDArray) and lhs.stype == "default" and not transpose_a:
        stype = "csr"
    stype = stype if forward_stype is None else forward_stype
    if stype == "row_sparse" and product and transpose_a and not in_graph(rhs):
        return present_rows(lhs, rhs)
    return _stored(product() if product else dense(lhs, rhs, transpose_a, transpose_b), stype)


@_rule("FullyConnected")
def _fully_connected(
    dense: Function, data: NDArray, weight: NDArray, bias: NDArray | None = None, *args: Any, **kwargs: Any
) -> NDArray:
    """Dense; a sparse bias may be a column, as a parameter of its own has two axes."""
    if isinstance(bias, BaseSparseNDArray):
        bias = tostype(bias, "default").reshape((-1,))
    return dense(data, weight, bias, *args, **kwargs)


def _stored(x: NDArray, stype: str) -> NDArray:
    return x if x.stype == stype else tostype(x, stype)


def edge_id(data: CSRNDArray, u: NDArray, v: NDArray) -> NDArray:
    """What a csr array, (n, m), stores at the places (u_i, v_i); -1 where it stores nothing.

    Of the adjacency of a graph these are the numbers of edges.
    """
    if not isinstance(data, CSRNDArray) or u.ndim != 1 or u.shape != v.shape:
        raise MXNetError(f"edge_id: a csr array and vectors of one length are expected, not {u.shape} and {v.shape}")
    starts, columns, values = (backend.to_host(x) for x in (data._indptr, data._indices, data._values))
    found = np.full(len(u), -1, values.dtype)
    rows, wanted = (backend.to_host(x._data).astype(np.int64) for x in (u, v))
    if ((rows < 0) | (rows >= len(starts) - 1)).any():
        raise MXNetError(f"edge_id: u has rows that are none of {len(starts) - 1}")
    for i, (row, column) in enumerate(zip(rows, wanted, strict=True)):
        own = slice(starts[row], starts[row + 1])
        hit = np.flatnonzero(columns[own] == column)
        if len(hit):
            found[i] = values[own][hit[0]]
    return NDArray(backend.to_device_of(data._values, found), data._ctx)


def getnnz(data: CSRNDArray, axis: int | None = None) -> NDArray:
    """How many values a csr array stores, zeros included: in all (None), or in each row (1); int64."""
    if not isinstance(data, CSRNDArray) or axis not in (None, 1):
        raise MXNetError(
            f"getnnz counts the values of a csr array, with axis None or 1, not {axis!r} of {data.stype!r}"
        )
    if axis is None:
        return creation.full((1,), len(data._values), data._ctx, np.int64)
    with backend.device_scope(data._ctx):
        return NDArray(np.diff(data._indptr), data._ctx)
