"""Operators written in Python: subclass `CustomOp` and `CustomOpProp`, `register` a name, call `nd.Custom`.

The names and arguments of all operators of graphs are listed here, too.
"""

from __future__ import annotations

from typing import NamedTuple

from runtime.ndarray.custom import CustomOp, CustomOpProp, register
from runtime.ndarray.custom import get_all_registered_operators as _registered
from runtime.symbol import table

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "OperatorArguments",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]


class OperatorArguments(NamedTuple):
    """The inputs and attributes of an operator: how many, their names, and what each is."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """The names of the operators of graphs, and those that `register` was given."""
    return [*table.names(), *_registered()]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The inputs and attributes of an operator; MXNetError suggests other names if there is none."""
    operator = table.find(op_name)
    found = {x.name: "NDArray-or-Symbol[]" if x.many else "NDArray-or-Symbol" for x in operator.inputs}
    for x in operator.attributes.values():
        kind = "{" + ", ".join(map(repr, x.kind.split("|"))) + "}" if "|" in x.kind else x.kind
        found[x.name] = f"{kind}, required" if x.required else f"{kind}, optional, default={x.default}"
    return OperatorArguments(len(found), list(found), list(found.values()))
