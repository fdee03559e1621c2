"""Optimizer states in one file, which rank 0 writes or reads for all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import World
from runtime.ndarray import NDArray
from runtime.optimizer import Updater, states


def on_rank_0(world: World, function: Callable[[], bytes | None], doing: str) -> bytes:
    """What rank 0's `function` returns, on all ranks; what it raises, an OSError or MXNetError, is raised on all."""
    error, content = None, b""
    with world.report_failures(doing):
        try:
            content = (function() if world.rank == 0 else None) or b""
        except (OSError, MXNetError) as caught:
            error = caught
    told = json.loads(world.bcast_bytes(json.dumps(_described(error)).encode(), doing))
    if error is not None:
        raise error
    if told is not None:
        raise OSError(*told) if isinstance(told, list) else MXNetError(told)
    return world.bcast_bytes(content, doing)


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
