"""Checks of symbols. They raise errors, as there are no symbols here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _of_symbols(name: str) -> Callable[..., NoReturn]:
    def check(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{name} takes a symbol, and runtime computes without symbols: call operators on arrays inside "
            "autograd.record(), and compare with assert_almost_equal"
        )

    check.__name__ = check.__qualname__ = name
    return check


check_consistency = _of_symbols("check_consistency")
check_numeric_gradient = _of_symbols("check_numeric_gradient")
check_speed = _of_symbols("check_speed")
check_symbolic_backward = _of_symbols("check_symbolic_backward")
check_symbolic_forward = _of_symbols("check_symbolic_forward")
numeric_grad = _of_symbols("numeric_grad")
same_symbol_structure = _of_symbols("same_symbol_structure")
simple_forward = _of_symbols("simple_forward")
