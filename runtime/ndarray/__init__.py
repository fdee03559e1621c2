"""Arrays and what can be computed with them.

Read `ndarray` and `operator` first. Each family of operators is one file: elementwise, reduce, shape, index, linalg,
nn. `creation` makes arrays, `sparse` those that store some of their rows, `methods` hangs the operators on them.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

from runtime import random
from runtime.ndarray import sparse
from runtime.ndarray.creation import arange, array, empty, full, ones, zeros
from runtime.ndarray.elementwise import (
    abs,
    add,
    cast,
    clip,
    divide,
    equal,
    exp,
    expm1,
    greater,
    greater_equal,
    identity,
    lesser,
    lesser_equal,
    log,
    log1p,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    ones_like,
    power,
    sign,
    sqrt,
    square,
    subtract,
    tanh,
    zeros_like,
)
from runtime.ndarray.index import Embedding, pick
from runtime.ndarray.linalg import dot
from runtime.ndarray.methods import install
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn import Activation, Dropout, FullyConnected, log_softmax, relu, sigmoid, softmax, softrelu, softsign
from runtime.ndarray.reduce import argmax, argmin, max, mean, min, sum
from runtime.ndarray.shape import broadcast_to, expand_dims, flatten, reshape, reshape_like, transpose

install()

# The names that operators of two arrays have where only broadcasting ones are meant.
broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = add, subtract, multiply, divide
Flatten = flatten


def waitall() -> None:
    """Return when everything is computed: at once, as operators are computed when they are called."""
