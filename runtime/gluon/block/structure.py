"""The names of a network's blocks in a file: `Block.save` and `Block.load`.

The file is JSON, as MXNet writes it: for each block its name, and the attribute of each child.

    {"net0": {"orig_name": "net0", "children": {"dense0": "body"}, "dense1": {"orig_name": "dense0", ...}}}

A block's key is its class in lower case and its number, counted depth first.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.base import MXNetError
from runtime.core import files
from runtime.gluon.block.protocols import BlockLike


def save(net: BlockLike, path: str | os.PathLike[str]) -> None:
    """Write the names of `net` and its descendants."""
    files.write(path, json.dumps(_described(net, itertools.count())).encode())


def _described(block: BlockLike, numbers: Iterator[int]) -> dict[str, Any]:
    children = {child.name: key for key, child in block._children.items()}
    entry: dict[str, Any] = {"orig_name": block.name, "hybridized": False, "children": children}
    described = {_key(block, numbers): entry}
    for child in block._children.values():
        entry |= _described(child, numbers)
    return described


def _key(block: BlockLike, numbers: Iterator[int]) -> str:
    return f"{type(block).__name__.lower()}{next(numbers)}"


def load(net: BlockLike, path: str | os.PathLike[str]) -> None:
    """Give `net` and its descendants the names in the file. MXNetError, with nothing changed, if its blocks are
    others."""
    path = Path(path)
    try:
        described = json.loads(path.read_bytes())
        names: list[tuple[BlockLike, str, dict[str, str]]] = []
        _match(net, described, itertools.count(), names)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MXNetError(f"'{path}' does not describe {type(net).__name__} '{net.name}': {error}") from None
    for block, name, _ in names:
        _rename(block, name)
    for block, _, keys in names:
        block._children = {keys[child.name]: child for child in block._children.values()}


def _match(
    block: BlockLike,
    described: dict[str, Any],
    numbers: Iterator[int],
    names: list[tuple[BlockLike, str, dict[str, str]]],
) -> str:
    """Add `block` and its descendants to `names`: each with its name, and the attributes of its children by their
    names."""
    key = _key(block, numbers)
    if key not in described:
        raise KeyError(f"no entry '{key}'")
    entry = described[key]
    name, keys = entry["orig_name"], entry["children"]
    names.append((block, name, keys))
    inner = [_match(child, entry, numbers, names) for child in block._children.values()]
    if not isinstance(name, str) or sorted(keys) != sorted(inner) or not all(isinstance(k, str) for k in keys.values()):
        raise ValueError(f"the names in entry '{key}' do not fit")
    return name


def _rename(block: BlockLike, name: str) -> None:
    """Rename the block to `name`, and its parameters accordingly."""
    old, new = block._prefix, name and name + "_"
    params = block._params
    if params._prefix == old:
        params._prefix = new
        params._params = {new + key.removeprefix(old): param for key, param in params.items()}
        for key, param in params.items():
            param.name = key
    block._prefix, block._name = new, name
