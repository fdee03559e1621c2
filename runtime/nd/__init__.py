"""Arrays and what can be computed with them.

Read `ndarray` and `operator` first. Each family of operators is one file: elementwise, reduce, shape, index, linalg,
nn. `creation` makes arrays, `sparse` those that store some of their rows, `methods` hangs the operators on them.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

from runtime import random
from runtime.nd import sparse
from runtime.nd.creation import arange, array, empty, full, ones, zeros
from runtime.nd.elementwise import (
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
from runtime.nd.index import Embedding, pick
from runtime.nd.linalg import dot
from runtime.nd.methods import install
from runtime.nd.ndarray import NDArray
from runtime.nd.nn import Activation, Dropout, FullyConnected, log_softmax, relu, sigmoid, softmax, softrelu, softsign
from runtime.nd.reduce import argmax, argmin, max, mean, min, sum
from runtime.nd.shape import broadcast_to, expand_dims, flatten, reshape, reshape_like, transpose

install()

# The names that operators of two arrays have where only broadcasting ones are meant.
broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = add, subtract, multiply, divide
Flatten = flatten


def waitall() -> None:
    """Return when everything is computed: at once, as operators are computed when they are called."""
