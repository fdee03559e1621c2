"""What ranks compare before they exchange anything: that they do the same, with the same keys and numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.kvstore.mpi.world import HEADER, World
from runtime.optimizer import Optimizer, serialization, states
from runtime.optimizer.spec import SpecOptimizer

Description = Mapping[str, Any]
"""What a rank is about to do, in values that JSON can hold; the names are those that errors call them by."""

DIGEST_BYTES = 16
"""Bytes of a digest."""


def digest(description: Description) -> bytes:
    """Equal for equal descriptions."""
    return hashlib.blake2b(json.dumps(description, sort_keys=True).encode(), digest_size=DIGEST_BYTES).digest()


class Agreement:
    """Exchanges digests of two descriptions, and the descriptions themselves where they differ."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._own = np.zeros(2 * DIGEST_BYTES, np.uint8)
        self._theirs = np.zeros((world.size, 2 * DIGEST_BYTES), np.uint8)
        self._sends = [(r, world.message(self._own)) for r in world.others]
        self._receives = [(r, world.message(self._theirs[r])) for r in world.others]
        self._row = self._theirs.tobytes

    def agree(self, doing: str, digests: bytes, describe: Callable[[], Description]) -> None:
        """Return when all ranks are here with the same digests (2 x DIGEST_BYTES bytes, of what `describe` describes).

        Raises MXNetError, the same on all ranks, where they differ.
        """
        if self._world.size == 1:
            return
        self._own[:] = self._theirs[self._world.rank] = np.frombuffer(digests, np.uint8)
        self._world.exchange(self._sends, self._receives, HEADER, doing)
        if self._row() == digests * self._world.size:
            return
        everyone = range(self._world.size)
        texts = self._world.gather_bytes(json.dumps(describe()).encode(), everyone, doing)
        raise MXNetError(_difference([json.loads(text) for text in texts]))


def _difference(descriptions: list[dict[str, Any]]) -> str:
    """Where two ranks first differ, in words."""
    first = descriptions[0]
    rank, other = next((r, d) for r, d in enumerate(descriptions) if d != first)
    name = next(n for n in (*first, *other) if n not in first or n not in other or first[n] != other[n])
    a, b = (_shown(name, x, y) for x, y in ((first, other), (other, first)))
    return (
        f"the ranks disagree, and nothing was exchanged: {name}: rank 0 has {a}, and rank {rank} has {b}. All "
        "ranks must make the same calls in the same order, with the same keys, shapes, types and hyper-parameters"
    )


def _shown(name: str, own: Description, other: Description) -> str:
    """One of two different values; of long lists what the other does not have."""
    if name not in own:
        return "none"
    value, theirs = own[name], other.get(name)
    if isinstance(value, list) and isinstance(theirs, list) and len(value) + len(theirs) > 20:
        only = [x for x in value if x not in theirs]
        return f"{len(value)} of them{f', also {only[:10]}' if only else ''}"
    return str(value)


# ---------------------------------------------------------------- hyper-parameters


class HyperParameterDigest:
    """The hyper-parameters of an optimizer, described anew only when one may have changed."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._seen: Any = None
        self._digest = b""

    def digest(self, keys: tuple[Any, ...]) -> bytes:
        """That of `describe`."""
        optimizer = self._optimizer
        version = optimizer._version if isinstance(optimizer, SpecOptimizer) else None
        seen = version, keys, optimizer._get_lrs(keys), optimizer._get_wds(keys), getattr(optimizer, "seed", None)
        if version is None or seen != self._seen:
            self._seen, self._digest = seen, digest(self.describe(keys))
        return self._digest

    def describe(self, keys: tuple[Any, ...]) -> Description:
        """The class, its numbers, and the rate and weight decay of each key."""
        optimizer = self._optimizer
        changes = serialization.changes(optimizer)
        numbers = {name: value for name, value in changes.items() if not isinstance(value, list)}
        rates = {
            f"{what} of key {k!r}": float(value)
            for what, values in (("the learning rate", optimizer._get_lrs(keys)), ("wd", optimizer._get_wds(keys)))
            for k, value in zip(keys, values, strict=True)
        }
        arguments = serialization._arguments(optimizer)
        equations = states._spec_hash(optimizer)
        return {
            "the optimizer": type(optimizer).__name__,
            "its equations": equations,
            **arguments,
            **numbers,
            **rates,
            "the seed of random draws": getattr(optimizer, "seed", None),
        }
