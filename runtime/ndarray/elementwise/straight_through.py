"""`nd.contrib`: operators whose gradient is by intention not their derivative."""

from __future__ import annotations

from runtime.ndarray import elementwise
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator

__all__: list[str] = []
CONTRIB = ("gradientmultiplier", "round_ste", "sign_ste")

_round = Operator(elementwise.round.forward, lambda g, y, x: g)
_sign = Operator(elementwise.sign.forward, lambda g, y, x: g)
_scaled = Operator(lambda x, *, scalar: x.copy(), lambda g, y, x, *, scalar: g * scalar)


def round_ste(data: NDArray) -> NDArray:
    """The nearest whole numbers; the gradient passes as if there were no rounding (Bengio et al. 2013)."""
    return _round(data)


def sign_ste(data: NDArray) -> NDArray:
    """-1, 0 or 1; the gradient passes as if data itself were returned."""
    return _sign(data)


def gradientmultiplier(data: NDArray, scalar: float = 1) -> NDArray:
    """The data; the gradient is multiplied by `scalar`. A negative one reverses it (Ganin and Lempitsky 2015)."""
    return _scaled(data, scalar=scalar)
