"""Initializers with fixed values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.initializer.base import Initializer, alias, register
from runtime.ndarray.ndarray import NDArray


@register
class Constant(Initializer):
    """`value` (a number, or an array of the parameter's shape)."""

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value

    _init_default = _init_weight

    def dumps(self) -> str:
        self._kwargs = {"value": _plain(self.value)}  # only when asked for: the lists of a large array take memory
        return super().dumps()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self) is type(other) and np.array_equal(_plain(self.value), _plain(other.value))

    __hash__ = None


def _plain(value: Any) -> Any:
    """An array as nested lists, anything else as it is."""
    return np.asarray(value).tolist() if isinstance(value, (NDArray, np.ndarray, np.generic)) else value


@register
@alias("zeros")
class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)
        self._kwargs = {}

    dumps = Initializer.dumps


@register
@alias("ones")
class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)
        self._kwargs = {}

    dumps = Initializer.dumps


@register
class Bilinear(Initializer):
    """The kernels (outputs, inputs, height, width) of a transposed convolution that interpolates linearly."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim != 4:
            raise ArgumentError(f"Bilinear needs a weight with four axes, but '{name}' has shape {arr.shape}")
        height, width = arr.shape[2:]
        half = math.ceil(width / 2)
        centre = (2 * half - 1 - half % 2) / (2 * half)
        ramps = [1 - np.abs(np.arange(n) / half - centre) for n in (height, width)]
        arr[:] = np.broadcast_to(np.outer(*ramps), arr.shape)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM cell, (4 hidden,): `forget_bias` for the second gate, which forgets, and 0 for the others."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        arr[:] = 0
        arr[hidden : 2 * hidden] = self.forget_bias
