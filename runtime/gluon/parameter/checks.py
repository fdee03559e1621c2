"""Arguments of parameters: shapes and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from runtime.base import ArgumentError
from runtime.context import Context, current_context


def checked_shape(name: str, shape: int | Sequence[int] | None) -> tuple[int, ...] | None:
    """The shape of the parameter `name` as a tuple, in which 0 and -1 stand for what is not known."""
    if shape is None:
        return None
    shape = (shape,) if isinstance(shape, Integral) else tuple(shape)
    if not all(isinstance(n, Integral) and n >= -1 for n in shape):
        raise ArgumentError(f"parameter '{name}': a shape is made of whole numbers, 0 for one not known, not {shape}")
    return shape


def checked_contexts(ctx: Context | Sequence[Context] | None) -> list[Context]:
    """One or several contexts as a list, in which each is once; None for the current one."""
    contexts = [current_context()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
    if not contexts:
        raise ArgumentError("a parameter needs at least one context")
    for given in contexts:
        if not isinstance(given, Context):
            raise ArgumentError(f"ctx is a Context or a list of them, not {ctx!r}")
    return list(dict.fromkeys(contexts))
