"""The header of a state file, checked before anything is made of it: what each entry must be, and which one is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core.coding import Coding
from runtime.optimizer import counts
from runtime.optimizer.counts import shown

_MAX_DEPTH = 64
"""Tuples, lists and dicts of a state may be nested so deep."""

Arrays = Mapping[str, np.ndarray]


def check(header: Any, arrays: Arrays) -> None:
    """MXNetError, naming the entry, for what is no header of a file with these arrays."""
    _be("the header", header, dict)
    _be("optimizer", header.get("optimizer"), str)
    if "spec" not in header:
        raise MXNetError("the header lacks 'spec'")
    _be("spec", header["spec"], str, type(None))
    _be("values", header.get("values"), dict)
    _be("parameters", header.get("parameters"), list)
    seen: set[Any] = set()
    for k, parameter in enumerate(header["parameters"]):
        where = f"parameters[{k}]"
        _be(where, parameter, dict)
        _be(f"{where}.index", parameter.get("index"), int, str)
        if parameter["index"] in seen:
            raise MXNetError(f"{where}.index is {parameter['index']!r}, which another parameter has")
        seen.add(parameter["index"])
        _be(f"{where}.name", parameter.get("name"), str)
        counts.count(parameter.get("updates"), f"{where}.updates")
        if parameter.get("id") is not None:
            counts.number(parameter["id"], f"{where}.id")
        _check_tree(parameter.get("state"), arrays, f"{where}.state", 0)


def _check_tree(tree: Any, arrays: Arrays, where: str, depth: int) -> None:
    """What a state is made of: a dict whose one key says of what kind it is."""
    _be(where, tree, dict)
    if len(tree) != 1 or depth > _MAX_DEPTH:
        raise MXNetError(f"{where} is a state, which has one kind, not {shown(tree)}")
    ((kind, content),) = tree.items()
    match kind:
        case "array":
            _named(content, arrays, where)
        case "coded":
            _check_coded(content, arrays, where)
        case "value":
            _be(where, content, bool, int, float, str, type(None))
        case "tuple" | "list":
            _be(where, content, list)
            for k, inner in enumerate(content):
                _check_tree(inner, arrays, f"{where}.{k}", depth + 1)
        case "dict":
            _be(where, content, dict)
            for name, inner in content.items():
                _check_tree(inner, arrays, f"{where}.{name}", depth + 1)
        case _:
            raise MXNetError(f"{where} is of an unknown kind, {shown(kind)}")


def _check_coded(content: Any, arrays: Arrays, where: str) -> None:
    """The names of codes and scales, how they were made, and whether they have no sign; then the shape of the weight,
    if the codes do not have it."""
    _be(where, content, list)
    if len(content) not in (4, 5):
        raise MXNetError(f"{where} has codes, scales, storage and sign, not {shown(content)}")
    codes, scales = (_named(name, arrays, where) for name in content[:2])
    _be(where, content[2], str)
    _be(where, content[3], bool)
    for of in content[4:]:
        _be(f"{where}.shape", of, list)
        for k, length in enumerate(of):
            counts.count(length, f"{where}.shape[{k}]")
    try:
        Coding(*content[2:4]).check(codes, scales, tuple(*content[4:]) if content[4:] else codes.shape)
    except ValueError as error:
        raise MXNetError(f"{where}: {error}") from None


def _named(name: Any, arrays: Arrays, where: str) -> np.ndarray:
    if not isinstance(name, str) or name not in arrays:
        raise MXNetError(f"{where} names an array that the file does not have, {shown(name)}")
    return arrays[name]


def _be(where: str, value: Any, *kinds: type) -> None:
    """MXNetError where a value is of none of the kinds."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise MXNetError(f"{where} is of type {names}, not {shown(value)}")
