"""The functions of the language, as NumPy has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.float_power,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def _clip(x: Any, *bounds: Any) -> Any:
    """`clip(x, bound)` or `clip(x, low, high)`, of which a bound that is None bounds nothing."""
    low, high = bounds if len(bounds) == 2 else (None if bounds[0] is None else np.negative(bounds[0]), bounds[0])
    x = x if high is None else np.where(np.greater(x, high), high, x)
    return x if low is None else np.where(np.less(x, low), low, x)


def _mod(a: Any, b: Any) -> Any:
    whole = np.abs(np.divide(a, b)) < 2.0**48
    return np.where(whole, np.remainder(a, b), np.nan)


def _float32(x: Any) -> Any:
    rounded = np.asarray(x).astype(np.float32)
    return np.where(np.abs(rounded) < 2.0**-126, np.copysign(np.float32(0), rounded), rounded).astype(np.float64)


def _bfloat16(x: Any) -> Any:
    return _float32(x).astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def _of_angles(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of angles, which are at most 2^28: of larger ones, the language has no value."""
    return lambda x: np.where(np.abs(x) <= 2.0**28, function(x), np.nan)


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": np.vectorize(math.erf, otypes=[float]),
    "cosh": np.cosh, "softplus": lambda x: np.logaddexp(x, 0.0),
    "sin": _of_angles(np.sin), "cos": _of_angles(np.cos), "tan": _of_angles(np.tan),
    "atan": np.arctan, "abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "float32": _float32, "bfloat16": _bfloat16,
    "pow": np.float_power, "atan2": np.arctan2, "mod": _mod, "clip": _clip, "where": np.where,
    "max": lambda *xs: reduce(np.maximum, xs), "min": lambda *xs: reduce(np.minimum, xs),
}  # fmt: skip


def _mean(x: Array) -> Array:
    return np.sum(x, axis=-1) / x.shape[-1]


REDUCTIONS: Mapping[str, Callable[[Array], Any]] = {
    "sum": lambda x: np.sum(x, axis=-1),
    "mean": _mean,
    "norm": lambda x: np.sqrt(np.sum(x * x, axis=-1)),
    "rms": lambda x: np.sqrt(_mean(x * x)),
    "std": lambda x: np.sqrt(_mean((x - _mean(x)[..., None]) ** 2)),
    "logsumexp": lambda x: np.logaddexp.reduce(x, axis=-1),
    "max": lambda x: np.max(x, axis=-1, initial=-np.inf),
    "min": lambda x: np.min(x, axis=-1, initial=np.inf),
}
"""Of the last axis."""


def _inverse_root(a: Array, p: float) -> Array:
    values, vectors = np.linalg.eigh(a)
    return (vectors * values ** (-1 / p)) @ vectors.T


def _orthonormal(a: Array) -> Array:
    q, r = np.linalg.qr(a)
    return q * np.where(np.diag(r) < 0, -1, 1)


def _eigenvectors(a: Array) -> Array:
    vectors = np.linalg.eigh(a)[1]
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(a))])


def _singular_vectors(a: Array) -> tuple[Array, Array]:
    u, _, rows = np.linalg.svd(a, full_matrices=False)
    signs = np.sign(u[np.abs(u).argmax(axis=0), range(u.shape[1])])
    return u * signs, rows.T * signs


OF_MATRICES: Mapping[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "inverse_root": (_inverse_root, (0, 0)),
    "orthonormal": (_orthonormal, (0, 1)),
    "eigenvectors": (_eigenvectors, (0, 0)),
    "eigenvalues": (np.linalg.eigvalsh, (0,)),
    "solve": (np.linalg.solve, ()),
    "singular_values": (lambda a: np.linalg.svd(a)[1], (1,)),
    "left_singular_vectors": (lambda a: _singular_vectors(a)[0], (0, 1)),
    "right_singular_vectors": (lambda a: _singular_vectors(a)[1], (1, 1)),
}
"""Functions of one matrix of a batch, and which axes of the first argument the result has; of `solve`, those of the
second one."""
