"""Float64 arithmetic for `equations.Steps`: arrays of (settings, rows, columns), of which the first axis may be 1."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optgen.analysis.equations import CannotTellError
from optgen.functions.table import FUNCTIONS

Array = np.ndarray[Any, Any]

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.float_power,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
_FOLDS: Mapping[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min}


class Reals:
    """Numbers are float64 arrays. Rounding functions are the identity."""

    def constant(self, text: str) -> Array:
        return np.full((1, 1, 1), float(text))

    def binary(self, op: str, a: Array, b: Array) -> Array:
        return np.asarray(_BINARY[op](a, b))

    def function(self, name: str, *args: Array) -> Array:
        known = FUNCTIONS[name].elementwise
        if known is None or known.takes_matrix:
            raise CannotTellError(name)
        return args[0] if known.rounds != "no" else np.asarray(known.meaning(*args))

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        return np.where(condition, a, b)

    def fold(self, how: str, x: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(_FOLDS[how](x, axis=axes, keepdims=True))

    def expanded(self, x: Array, shape: tuple[int, int]) -> Array:
        return np.broadcast_to(x, (len(x), *shape))

    def shape(self, x: Array) -> tuple[int, ...]:
        return tuple(x.shape)

    def transposed(self, x: Array) -> Array:
        return np.swapaxes(x, 1, 2)

    def product(self, a: Array, b: Array) -> Array:
        return a @ b

    def drawn(self, seed: str, shape: tuple[int, int]) -> Array:
        """Numbers that depend on the seed alone, in the place of draws."""
        return np.random.default_rng(zlib.crc32(seed.encode())).normal(size=(1, *shape))

    def mixed(self, name: str, x: Array, *numbers: Array) -> Array:
        """What stands for a function of a matrix: numbers that depend on all of its elements, and on the numbers."""
        size = x.shape[1] * x.shape[2]
        factors = np.random.default_rng(zlib.crc32(name.encode())).normal(size=(size + len(numbers) + 1, size))
        flat = [x.reshape(len(x), size), *(n.reshape(len(n), 1) for n in numbers), np.ones((1, 1))]
        count = max(map(len, flat))
        every = np.concatenate([np.broadcast_to(f, (count, f.shape[1])) for f in flat], axis=1)
        return np.sin(every @ factors).reshape(count, *x.shape[1:])
