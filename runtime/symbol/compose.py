"""Making nodes: the call of an operator with symbols and attributes, as code writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.attribute import AttrScope
from runtime.base import MXNetError, did_you_mean
from runtime.name import NameManager
from runtime.symbol.attributes import HIDDEN, stored_key, text_of
from runtime.symbol.graph import Entry, Node, initialize
from runtime.symbol.symbol import Symbol, single
from runtime.symbol.table import Operator


def call(operator: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Symbol:
    """The outputs of a new node of `operator`, called as its function is.

    Inputs that are not given become variables, called by the node's name and their own. MXNetError names an argument
    that the operator does not have, or that does not fit.
    """
    name = NameManager.current.get(kwargs.pop("name", None), hint.lower())
    scoped = AttrScope.current.get(kwargs.pop("attr", None))
    kwargs.pop("out", None)
    inputs, named, texts = _sorted_arguments(operator, args, kwargs)
    texts = {stored_key(key): text_of(value) for key, value in scoped.items()} | texts
    if "num_args" in operator.attributes:
        texts.setdefault("num_args", str(len(inputs) + len(named)))
    values = operator.values(texts)
    if operator.takes_many(values):
        given = [single(x, f"arg{i}") for i, x in enumerate([*inputs, *named.values()])]
        return Symbol(Node(operator, name, texts, tuple(given)).entries())
    keys = [key for key, _ in operator.inputs_of(values, 0)]
    named |= zip([key for key in keys if key not in named], inputs, strict=False)
    entries = []
    for key in keys:
        x = named.pop(key, None)
        entry = Entry(Node(None, f"{name}_{key}", dict(texts))) if x is None else single(x, key)
        initialize(operator, key, entry)
        entries.append(entry)
    if named and keys:  # what takes none leaves them out, as in MXNet: programs write random.randn(data=x)
        raise MXNetError(
            f"{operator.name} '{name}' takes {', '.join(keys)} with these attributes, not {', '.join(named)}"
        )
    return Symbol(Node(operator, name, texts, tuple(entries)).entries())


def _sorted_arguments(
    operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Symbol], dict[str, Symbol], dict[str, str]]:
    """Inputs of an operator that takes any number, inputs by name, and attributes as strings, of a call."""
    many = any(x.many for x in operator.inputs)
    parameters = operator.parameters
    given = operator.by_name(args, kwargs)
    for x in args if many else args[len(parameters) :]:
        if not (many and isinstance(x, Symbol)):
            raise TypeError(f"{operator.name} takes Symbols, and got {x!r:.60}, of type {type(x).__name__}")
    for x in operator.inputs:
        if not (x.many or given.get(x.name) is None or isinstance(given[x.name], Symbol)):
            what = given[x.name]
            raise TypeError(
                f"{operator.name}: {x.name} must be a Symbol, not {what!r:.60}, of type {type(what).__name__}"
            )
    named = {key: x for key, x in given.items() if isinstance(x, Symbol)}
    texts = {}
    for key, x in given.items():
        attribute = operator.attributes.get(key)
        if key in named or (x is None and attribute is None):
            continue
        if attribute is None and not (operator.open or key in HIDDEN or (key[:2] == key[-2:] == "__")):
            raise MXNetError(f"{operator.name} has no argument '{key}'{did_you_mean(key, parameters)}")
        texts[stored_key(key)] = operator.text(key, x)
    return args if many else (), named, texts
