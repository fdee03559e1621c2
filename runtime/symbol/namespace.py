"""Operators as functions of modules: each module offers the operators whose names begin with its prefix."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from runtime.symbol import table
from runtime.symbol.compose import call
from runtime.symbol.functions import documentation
from runtime.symbol.symbol import Symbol

PREFIXES = ("_contrib_", "_linalg_", "_image_", "_sparse_", "_random_", "_sample_")
"""Of operators that modules other than `sym` and `sym._internal` offer."""


def function(name: str, hint: str) -> Callable[..., Symbol]:
    """The function that calls the operator `name`. Nodes without a name get `hint` and a count."""
    operator = table.find(name)

    def create(*args: Any, **kwargs: Any) -> Symbol:
        return call(operator, hint, args, kwargs)

    create.__name__ = create.__qualname__ = hint
    create.__doc__ = documentation(operator)
    create.__signature__ = _signature(operator)
    return create


def _signature(operator: table.Operator) -> inspect.Signature:
    """The signature that `help` shows: inputs, attributes with their defaults, then `name` and `attr`."""
    many = any(x.many for x in operator.inputs)
    kind = inspect.Parameter.KEYWORD_ONLY if many else inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(
            x.name, inspect.Parameter.VAR_POSITIONAL if x.many else kind, default=inspect._empty if x.many else None
        )
        for x in operator.inputs
        if x.many or not many
    ]
    parameters += [
        inspect.Parameter(x.name, kind, default=None if x.default is None else _Shown(x.default), annotation=x.kind)
        for x in operator.attributes.values()
        if x.name != "num_args"
    ]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ("name", "attr")]
    return inspect.Signature(parameters, return_annotation="Symbol")


class _Shown(str):
    """A default as the table has it."""

    __slots__ = ()
    __repr__ = str.__str__


def names_of(prefix: str) -> list[str]:
    """The names that the module of a prefix offers; of '' those of no module, and of '_' the internal ones."""
    names = table.names()
    if prefix in PREFIXES:
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return [name for name in names if name.startswith("_") == (prefix == "_")]


def offering(module: str, *prefixes: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module: the functions of operators, behind one of the prefixes, in this order.

    A function is made at its first use, and kept in the module. AttributeError if there is no such operator.
    """

    def find(name: str) -> Any:
        if not name.startswith("__"):
            for prefix in prefixes:
                if prefix + name in table.names() and (prefix or not name.startswith("_")):
                    made = function(prefix + name, name)
                    setattr(sys.modules[module], name, made)
                    return made
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *(name for prefix in prefixes for name in names_of(prefix))})

    return find, names
