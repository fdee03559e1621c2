"""Graphs called with arrays: every operator of the table in `nd._internal`, with MXNet's name, inputs and attributes,
and whole graphs, `nd.CachedOp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import ndarray as nd
from runtime.base import MXNetError, did_you_mean
from runtime.ndarray import NDArray, _internal
from runtime.ndarray.operator import public, write
from runtime.symbol import table
from runtime.symbol.evaluate import run
from runtime.symbol.functions import compute, documentation
from runtime.symbol.graph import Entry, Node, order
from runtime.symbol.symbol import Symbol

_ANY = Entry(Node(None, "array"))
"""What nodes here have as inputs: their number counts alone."""


def function(name: str) -> Callable[..., Any]:
    """The function that computes the operator `name`."""
    operator = table.find(name)

    def create(*args: Any, **kwargs: Any) -> Any:
        return _computed(operator, args, kwargs)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = documentation(operator)
    return public(create)


def _computed(operator: table.Operator, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The output, or several, of arrays and attributes in order or by name."""
    many = any(x.many for x in operator.inputs)
    parameters = operator.parameters
    if not many and len(args) > len(parameters):
        raise MXNetError(f"{operator.name} takes {', '.join(parameters)}, and got {len(args)} arguments")
    given = operator.by_name(args, kwargs)
    named = {x.name for x in operator.inputs if not x.many}
    arrays = {}
    texts = {}
    for key, x in given.items():
        if key not in parameters:
            raise MXNetError(f"{operator.name} has no argument '{key}'{did_you_mean(key, parameters)}")
        if key in named and isinstance(x, NDArray):
            arrays[key] = x
        elif key in named and x is not None:
            raise MXNetError(f"{operator.name}: {key} must be an NDArray, not {type(x).__name__}")
        elif x is not None:
            texts[key] = operator.text(key, x)
    if many and "num_args" in operator.attributes:
        texts.setdefault("num_args", str(len(args)))
    inputs = [*(args if many else ()), *(arrays[x.name] for x in operator.inputs if x.name in arrays)]
    found = compute(Node(operator, operator.name, texts, (_ANY,) * len(inputs)), inputs)
    return found[0] if len(found) == 1 else found


def _find(name: str) -> Any:
    if name.startswith("__") or name not in table.names():
        raise AttributeError(f"module '{_internal.__name__}' has no attribute '{name}'")
    made = function(name)
    setattr(_internal, name, made)
    return made


class CachedOp:
    """A graph as a function of the arrays of its variables, in the order of `list_inputs`. `flags` do nothing."""

    def __init__(self, sym: Symbol, flags: Any = ()) -> None:
        self._entries = sym._entries
        self._nodes = order(self._entries)
        self._variables = [node for node in self._nodes if node.operator is None]

    def __call__(self, *args: NDArray, out: Any = None) -> Any:
        """The output, or a list of several; MXNetError if there are not as many arrays as variables."""
        if len(args) != len(self._variables):
            names = ", ".join(node.name for node in self._variables)
            raise MXNetError(f"CachedOp takes {len(self._variables)} arrays, {names}, and got {len(args)}")
        found = run(self._entries, dict(zip(self._variables, args, strict=True)), self._nodes)
        result = found[0] if len(found) == 1 else found
        return result if out is None else write("CachedOp", result, out)


def install() -> None:
    """Make `nd.CachedOp`, and the operators attributes of `nd._internal`, each when it is first used."""
    nd.CachedOp = CachedOp  # type: ignore[attr-defined]
    _internal.__getattr__ = _find  # type: ignore[attr-defined]
