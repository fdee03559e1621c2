"""Joins the state files of processes that each have a part of the parameters, and cuts one for some of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.core import files
from runtime.optimizer import states
from runtime.optimizer.optimizer import Index

Tree = Mapping[str, Any]
"""A state as a header has it: one kind and what it holds, arrays by name."""


@dataclass(frozen=True)
class Share:
    """Whose states are those of a parameter: process `first` has most of it. `shape`: that of the parameter, if there
    are pieces of it, in the order of processes; None where `first` has it whole."""

    first: int
    shape: tuple[int, ...] | None


def merged(contents: Sequence[bytes], share: Callable[[Index], Share]) -> bytes:
    """The state file of whole parameters, from those of all processes; counts are those of the most updates."""
    arrays, headers = [], []
    for process, content in enumerate(contents):
        found, metadata = files.from_bytes(content, f"the state file of process {process}")
        arrays.append(found)
        headers.append(json.loads(metadata["header"]))
    parameters = [{p["index"]: p for p in header["parameters"]} for header in headers]
    merger, whole = _Merger(arrays), []
    for index in dict.fromkeys(i for of_process in parameters for i in of_process):
        of = share(index)
        here = range(len(parameters)) if of.shape is not None else [of.first]
        trees = [p[index]["state"] if index in p and r in here else None for r, p in enumerate(parameters)]
        whole.append({**parameters[of.first][index], "state": merger.tree(trees, of)})
    newest = max(headers, key=lambda header: header["values"]["num_update"])
    return states.sealed({**newest, "parameters": whole}, merger.arrays)


class _Merger:
    """Puts trees of several processes together, and the arrays that they name into `arrays`."""

    def __init__(self, arrays: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._of_processes = arrays

    def tree(self, trees: Sequence[Tree | None], of: Share) -> Tree:
        """The tree of the whole; None: of a process that has nothing of it."""
        ((kind, content),) = trees[of.first].items()
        inner = [None if tree is None else tree[kind] for tree in trees]
        match kind:
            case "array":
                self._join(inner, of)
            case "coded":
                codes, scales = ([x and x[k] for x in inner] for k in range(2))
                sizes = [math.prod(x[4]) for x in inner if x is not None and x[4:]]
                if self._join(codes, of, sizes):
                    self.arrays[content[1]] = np.concatenate(self._pieces(scales))
                    return {kind: [*content[:4], *([list(of.shape)] if sizes else [])]}
                self.arrays[content[1]] = self._of_processes[of.first][content[1]]
            case "tuple" | "list":
                columns = zip(*(x or [None] * len(content) for x in inner), strict=True)
                return {kind: [self.tree(column, of) for column in columns]}
            case "dict":
                return {kind: {name: self.tree([x and x[name] for x in inner], of) for name in content}}
        return trees[of.first]

    def _join(self, names: Sequence[str | None], of: Share, sizes: Sequence[int] = ()) -> bool:
        """Put the array of the whole under the name that `first` has for it; whether there were pieces of it, which
        have one dimension. What has none, or another size, is the same in all. Arrays of codes that share bytes are for
        pieces of these `sizes`, and stay one-dimensional."""
        name, pieces = names[of.first], self._pieces(names)
        flat = of.shape is not None and all(piece.ndim == 1 for piece in pieces)
        cut = flat and sum(sizes or [piece.size for piece in pieces]) == math.prod(of.shape)
        joined = np.concatenate([piece.reshape(-1) for piece in pieces]) if cut else None
        if joined is not None and not sizes:
            joined = joined.reshape(of.shape)
        self.arrays[name] = self._of_processes[of.first][name] if joined is None else joined
        return cut

    def _pieces(self, names: Sequence[str | None]) -> list[np.ndarray]:
        return [arrays[name] for arrays, name in zip(self._of_processes, names, strict=True) if name is not None]


def only(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], indices: Collection[Index]) -> bytes:
    """The state file of some of the parameters of one that `states.checked` took apart."""
    parameters = [p for p in header["parameters"] if p["index"] in indices]
    names = {name for p in parameters for name in _names(p["state"])}
    return states.sealed({**header, "parameters": parameters}, {k: x for k, x in arrays.items() if k in names})


def _names(tree: Tree) -> Iterator[str]:
    """The names of a tree's arrays."""
    ((kind, content),) = tree.items()
    match kind:
        case "array":
            yield content
        case "coded":
            yield from content[:2]
        case "tuple" | "list" | "dict":
            for inner in content.values() if kind == "dict" else content:
                yield from _names(inner)
