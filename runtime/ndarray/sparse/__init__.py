"""`nd.sparse`: arrays that store some of their elements.

    gradient = nd.sparse.row_sparse_array((rows, indices), shape=(1000, 16))
    bag_of_words = nd.sparse.csr_matrix((counts, words, starts), shape=(64, 1000))

`base` has what the two kinds, `row_sparse` and `csr`, share. `creation` makes them, `arithmetic` has their symbols,
`products` their products, `rules` what other operators do with them. The functions of `nd` in OPERATORS are also called
`nd.sparse.sqrt` and so on: `nd` puts them here.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public
from runtime.ndarray.sparse.arithmetic import add, divide, multiply, subtract
from runtime.ndarray.sparse.base import KINDS, BaseSparseNDArray, cast_storage, tostype
from runtime.ndarray.sparse.creation import (
    array,
    csr_matrix,
    empty,
    from_stored,
    row_sparse_array,
    to_stored,
    zeros,
)
from runtime.ndarray.sparse.csr import CSRNDArray
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray, retain, sum_rows
from runtime.ndarray.sparse.rules import edge_id, getnnz, sparse_aware

__all__ = ["cast_storage"]
METHODS = ("tostype",)
CONTRIB = ("edge_id", "getnnz")

retain = public(retain)

STYPES = ("default", *KINDS)

OPERATORS = (
    "ElementWiseSum", "Embedding", "FullyConnected", "LinearRegressionOutput", "LogisticRegressionOutput",
    "MAERegressionOutput", "abs", "adagrad_update", "adam_update", "add_n", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctanh", "broadcast_add", "broadcast_div", "broadcast_minus", "broadcast_mul", "broadcast_plus",
    "broadcast_sub", "cast_storage", "cbrt", "ceil", "clip", "concat", "cos", "cosh", "degrees", "dot", "elemwise_add",
    "elemwise_div", "elemwise_mul", "elemwise_sub", "exp", "expm1", "fix", "floor", "ftrl_update", "gamma", "gammaln",
    "log", "log10", "log1p", "log2", "make_loss", "mean", "negative", "norm", "radians", "relu", "rint", "round",
    "rsqrt", "sgd_mom_update", "sgd_update", "sigmoid", "sign", "sin", "sinh", "slice", "sqrt", "square",
    "stop_gradient", "sum", "tan", "tanh", "trunc", "where", "zeros_like",
)  # fmt: skip
