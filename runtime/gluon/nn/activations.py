"""Layers without parameters that bend each element."""

from __future__ import annotations

from typing import Any

from runtime.gluon.block import HybridBlock
from runtime.ndarray import NDArray


class Activation(HybridBlock):
    """The activation called `activation`: relu, sigmoid, tanh, softrelu or softsign. Output: the shape of the input."""

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Activation(x, act_type=self._act_type)

    def __repr__(self) -> str:
        return f"Activation({self._act_type})"
