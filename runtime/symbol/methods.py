"""Methods of Symbol that are made of operators: Python's symbols, and those that NDArray has under the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ndarray import FAMILIES
from runtime.symbol import creation
from runtime.symbol.namespace import function
from runtime.symbol.symbol import Symbol

_ARITHMETIC = {"add": "Plus", "sub": "Minus", "mul": "Mul", "truediv": "Div", "mod": "Mod", "pow": "Power"}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "lesser",
    "le": "lesser_equal",
}
_NO_METHODS = ("tostype", "to_dlpack_for_read", "to_dlpack_for_write", "slice_assign", "slice_assign_scalar", "astype")
"""Methods of arrays that symbols do not have, or have in full below."""


def install() -> None:
    """Give Symbol everything."""
    for symbol, name in _ARITHMETIC.items():
        setattr(Symbol, f"__{symbol}__", lambda self, other, name=name: creation.binary(name, self, other))
        setattr(Symbol, f"__r{symbol}__", lambda self, other, name=name: creation.binary(name, self, other, True))
    Symbol.__rpow__ = lambda self, other: function("_rpower_scalar", "_rpower_scalar")(self, scalar=other)
    for symbol, name in _COMPARISONS.items():
        setattr(Symbol, f"__{symbol}__", lambda self, other, name=name: _compared(name, self, other))
    Symbol.__hash__ = object.__hash__
    Symbol.__neg__ = lambda self: creation.binary("Mul", self, -1.0)
    Symbol.__abs__ = lambda self: _called("abs")(self)
    for family in FAMILIES:
        for name in getattr(family, "METHODS", ()):
            if name not in _NO_METHODS and not hasattr(Symbol, name):
                setattr(Symbol, name, _called(name))
    for method in (astype, broadcast_like, reshape, split_v2):
        setattr(Symbol, method.__name__, method)


def _called(name: str) -> Callable[..., Symbol]:
    """A method that calls the function of `sym` of this name."""

    def call(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
        return function(name, name)(self, *args, **kwargs)

    call.__name__ = name
    call.__qualname__ = f"Symbol.{name}"
    return call


def _compared(name: str, x: Symbol, other: Any) -> Any:
    if other is None:
        return NotImplemented
    if isinstance(other, Symbol):
        return function(f"_{name}", f"_{name}")(x, other)
    return function(f"_{name}_scalar", f"_{name}_scalar")(x, scalar=other)


def astype(self: Symbol, dtype: Any) -> Symbol:
    """The values converted to the element type `dtype`."""
    return _called("cast")(self, dtype=dtype)


def broadcast_like(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """The values repeated along axes to the shape of another symbol; see `nd.broadcast_like`."""
    return _called("broadcast_like")(self, *args, **kwargs)


def reshape(self: Symbol, *shape: Any, **kwargs: Any) -> Symbol:
    """The same elements in another shape: `reshape(2, 3)`, `reshape((2, 3))`; codes as in `nd.reshape`."""
    if shape:
        kwargs["shape"] = shape if len(shape) > 1 or isinstance(shape[0], int) else tuple(shape[0])
    return _called("Reshape")(self, name=kwargs.pop("name", None), **kwargs)


def split_v2(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """Parts along an axis; see `sym.split_v2`."""
    return creation.split_v2(self, *args, **kwargs)
