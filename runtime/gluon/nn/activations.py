"""Elementwise activation layers. The output has the shape of the input."""

from __future__ import annotations

from typing import Any

from runtime import initializer
from runtime.base import ArgumentError
from runtime.gluon.block import HybridBlock
from runtime.initializer import Initializer
from runtime.ndarray import NDArray


class Activation(HybridBlock):
    """The activation called `activation`: relu, sigmoid, tanh, softrelu or softsign."""

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where it is positive, `alpha x` below zero."""

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if alpha < 0:
            raise ArgumentError(f"LeakyReLU: alpha must not be negative, but is {alpha}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


_QUARTER = initializer.Constant(0.25)


class PReLU(HybridBlock):
    """x where it is positive, `alpha x` below zero, alpha being learned: one for all, or one for each channel.

    `in_channels` is 1, or the length of axis 1 (He et al. 2015).
    """

    def __init__(self, alpha_initializer: str | Initializer = _QUARTER, in_channels: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, alpha: NDArray) -> NDArray:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, `alpha (exp(x) - 1)` below zero (Clevert et al. 2016)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """ELU with the slope and scale that keep mean 0 and variance 1 (Klambauer et al. 2017)."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """`x P(X <= x)` for a standard normal X (Hendrycks & Gimpel 2016)."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """`x sigmoid(beta x)` (Ramachandran et al. 2017)."""

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return x * F.sigmoid(self._beta * x, name="fwd")
