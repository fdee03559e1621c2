"""Error classes by name, as MXNet's `error` module registers them."""

from __future__ import annotations

from typing import Any

from runtime.base import MXNetError

__all__ = ["InternalError", "MXNetError", "error_types", "register"]

error_types: dict[str, type[Exception]] = {
    e.__name__: e for e in (ValueError, TypeError, AttributeError, IndexError, NotImplementedError)
}


def register(func_name: str | type[Exception] | None = None, cls: type[Exception] | None = None) -> Any:
    """Enter an exception class in `error_types`: `register(name, cls)`, or as a decorator, `@register` or
    `@register(name)`; the name is by default that of the class."""
    if isinstance(func_name, type):
        return register(func_name.__name__, func_name)
    if cls is None:
        return lambda decorated: register(func_name or decorated.__name__, decorated)
    error_types[func_name or cls.__name__] = cls
    return cls


@register
class InternalError(MXNetError):
    """A bug in the library."""
