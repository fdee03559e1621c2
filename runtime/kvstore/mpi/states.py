"""Optimizer states, of which each rank has those of its parts, in one file that any number of ranks reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime import files
from runtime.base import MXNetError
from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import World
from runtime.ndarray import NDArray
from runtime.optimizer import Updater, states

Tree = Mapping[str, Any]
"""A state as a header has it: one kind and what it holds, arrays by name."""


@dataclass(frozen=True)
class Share:
    """Whose states are those of a key: rank `first` has most of it. `shape`: that of the key, if there are pieces of
    it, in the order of ranks; None where rank `first` has it whole."""

    first: int
    shape: tuple[int, ...] | None


def on_first(world: World, function: Callable[[], bytes | None], doing: str) -> bytes:
    """What rank 0's `function` returns, on all ranks; what it raises, an OSError or MXNetError, is raised on all."""
    error, content = None, b""
    with world.telling(doing):
        try:
            content = (function() if world.rank == 0 else None) or b""
        except (OSError, MXNetError) as caught:
            error = caught
    told = json.loads(world.share_bytes(json.dumps(_described(error)).encode(), doing))
    if error is not None:
        raise error
    if told is not None:
        raise OSError(*told) if isinstance(told, list) else MXNetError(told)
    return world.share_bytes(content, doing)


def _described(error: OSError | MXNetError | None) -> Any:
    if isinstance(error, OSError):
        return [error.errno, error.strerror, str(error.filename)]
    return error and str(error)


def load(world: World, updater: Updater, content: bytes, weights: Mapping[Key, NDArray], name: str) -> None:
    """Take the states of a file called `name`: of these weights, which may be pieces, now, of others when used.

    Raises MXNetError, on all ranks, and with nothing changed, for what is no such file, and for states that do not fit.
    """
    error = ""
    try:
        states.restore([updater], content, [weights])
    except MXNetError as caught:
        error = str(caught)
    errors = [text.decode() for text in world.gather_bytes(error.encode(), range(world.size), "load_optimizer_states")]
    if any(errors):
        found = next(filter(None, errors))
        if not all(errors):
            world.broken = f"states of '{name}' did not fit on some of the ranks: {found}"
        raise MXNetError(f"'{name}': {found}")


def merged(contents: Sequence[bytes], share: Callable[[Key], Share]) -> bytes:
    """The state file of whole parameters, of those that the ranks have of their parts."""
    arrays, headers = [], []
    for rank, content in enumerate(contents):
        found, metadata = files.from_bytes(content, f"what rank {rank} sent")
        arrays.append(found)
        headers.append(json.loads(metadata["header"]))
    parameters = [{p["index"]: p for p in header["parameters"]} for header in headers]
    merger, whole = _Merger(arrays), []
    for key in dict.fromkeys(k for of_rank in parameters for k in of_rank):
        of = share(key)
        here = range(len(parameters)) if of.shape is not None else [of.first]
        trees = [p[key]["state"] if key in p and r in here else None for r, p in enumerate(parameters)]
        whole.append({**parameters[of.first][key], "state": merger.tree(trees, of)})
    text = json.dumps({**headers[0], "parameters": whole})
    again = {**metadata, "header": text, "sha256": files.digest(text, merger.arrays)}
    return files.to_bytes(merger.arrays, again)


class _Merger:
    """Puts trees of several ranks together, and the arrays that they name into `arrays`."""

    def __init__(self, arrays: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._of_ranks = arrays

    def tree(self, trees: Sequence[Tree | None], of: Share) -> Tree:
        """The tree of the whole; None: of a rank that has nothing of it."""
        ((kind, content),) = trees[of.first].items()
        inner = [None if tree is None else tree[kind] for tree in trees]
        match kind:
            case "array":
                self._join(inner, of)
            case "coded":
                if self._join([x and x[0] for x in inner], of):
                    self._put(content[1], [x and x[1] for x in inner])
                else:
                    self.arrays[content[1]] = self._of_ranks[of.first][content[1]]
            case "tuple" | "list":
                columns = zip(*(x or [None] * len(content) for x in inner), strict=True)
                return {kind: [self.tree(column, of) for column in columns]}
            case "dict":
                return {kind: {name: self.tree([x and x[name] for x in inner], of) for name in content}}
        return trees[of.first]

    def _join(self, names: Sequence[str | None], of: Share) -> bool:
        """Put the array of the whole under the name that it has on rank `first`; whether there were pieces of it."""
        own = self._of_ranks[of.first][names[of.first]]
        if of.shape is None or own.ndim != 1:
            self.arrays[names[of.first]] = own
            return False
        self._put(names[of.first], names)
        self.arrays[names[of.first]] = self.arrays[names[of.first]].reshape(of.shape)
        return True

    def _put(self, name: str, names: Sequence[str | None]) -> None:
        parts = [self._of_ranks[r][part] for r, part in enumerate(names) if part is not None]
        self.arrays[name] = np.concatenate(parts)
