"""The part of a checkpoint that is in a kvstore: optimizer states, values on servers, residuals, counts of pushes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import MXNetError
from runtime.checkpoint.folder import Folder, Generation
from runtime.checkpoint.header import check_pushes
from runtime.core import files
from runtime.gluon import Trainer
from runtime.kvstore.environment import ATTEMPT, RUN
from runtime.optimizer import serialization, states

if TYPE_CHECKING:
    from runtime.kvstore import KVStoreBase


def place(store: KVStoreBase | None) -> tuple[int, int]:
    """Rank, and number of ranks."""
    return (0, 1) if store is None else (store.rank, store.num_workers)


def barrier(store: KVStoreBase | None) -> None:
    """Wait for all ranks."""
    if hasattr(store, "barrier"):
        store.barrier()
    elif place(store)[1] > 1:
        raise MXNetError(f"a '{store.type}' kvstore has no barrier(), which a checkpoint of several ranks needs")


def has_servers(store: KVStoreBase | None) -> bool:
    """Whether values and states are in other processes."""
    return hasattr(store, "snapshot")


def is_restarted(store: KVStoreBase | None) -> bool:
    """Whether this process takes the place of a worker that died, while the servers and the others go on.

    Where there are no others, the servers go back with it.
    """
    return has_servers(store) and store.num_workers > 1 and _comes_again()


def _comes_again() -> bool:
    return os.environ.get(ATTEMPT, "0") != "0"


# ---------------------------------------------------------------- states, and values on servers


def kind(store: KVStoreBase | None) -> str:
    """What the file of `save` holds."""
    return "servers" if has_servers(store) else "states"


def save(trainer: Trainer, folder: Folder, number: int) -> None:
    """Write what the optimizer keeps and, where there are servers, all that is there: all ranks take part."""
    store = trainer._kvstore
    first = place(store)[0] == 0
    path = (folder.new_file if first else folder.file)(number, kind(store))
    if has_servers(store):
        if first:
            files.save(path, *store.snapshot())
    elif trainer._update_on_kvstore or first:
        trainer.save_states(path)


def late(store: KVStoreBase | None, folder: Folder, number: int) -> list[str]:
    """The files of ranks that had made more pushes, or fewer, than the servers have in their file: a worker that was
    given up at a barrier, and came back when the others had passed it."""
    if not has_servers(store):
        return []
    on_servers = dict(folder.header(number, kind(store))["pushes"])
    own = {rank: folder.header(number, f"rank{rank}")["store"]["pushes"] for rank in range(store.num_workers)}
    return [f"rank{rank}" for rank, pushes in own.items() if pushes != on_servers.get(rank, 0)]


Snapshot = tuple[dict[str, np.ndarray], Any]
"""What servers had: arrays by name, and a header."""


def read(trainer: Trainer, folder: Folder, latest: Generation) -> Snapshot | None:
    """What `save` wrote of servers; where there are none it is only checked, as a state file of this optimizer.

    MXNetError, naming the file, for what `save` did not write.
    """
    store = trainer._kvstore
    path = folder.checked(latest, kind(store))
    if not has_servers(store):
        with _naming(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `load` warns
            states.restored(trainer.optimizer, states.checked(path.read_bytes())[0])
        return None
    arrays, header = folder.read(latest, kind(store))
    check_pushes(header, f"'{path}'")
    if header["optimizer"] is not None:
        with _naming(path):
            serialization.loads(header["optimizer"])
    return arrays, header


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except MXNetError as error:
        raise MXNetError(f"'{path}': {error}") from None


def load(trainer: Trainer, folder: Folder, latest: Generation, found: Snapshot | None) -> None:
    """Have in the store, and in the parameters, what `save` wrote and `read` found; the parameters have the other
    values already."""
    store = trainer._kvstore
    if found is None:
        for param in trainer._params:
            trainer._values_change(param)  # they have changed; a store's follow, now, as states may hold them, too
        trainer._init_states()
        trainer.load_states(folder.checked(latest, kind(store)))
        return
    trainer._init_states()
    if not is_restarted(store):
        store.restore(*found)
    for i, param in enumerate(trainer._params):
        if param._stype == "default":
            store.pull(i, out=param._data)


# ---------------------------------------------------------------- residuals, and what else a rank keeps


def residuals(store: KVStoreBase | None) -> Mapping[str, np.ndarray]:
    """What gradient compression has left on this rank."""
    compression = getattr(store, "compression", None)
    return {} if compression is None else compression.states()


def load_residuals(store: KVStoreBase | None, saved: list[Mapping[str, np.ndarray]], where: str) -> None:
    """Go on with the sum of what several ranks had left; MXNetError, naming `where` it is from, without compression."""
    total: dict[str, np.ndarray] = {}
    for of_rank in saved:
        for key, array in of_rank.items():
            total[key] = total[key] + array if key in total else array
    compression = getattr(store, "compression", None)
    if total and compression is None:
        raise MXNetError(f"{where} holds residuals of gradient compression, and this trainer has none")
    if compression is not None:
        compression.load_states(total)


def counts(store: KVStoreBase | None) -> dict[str, Any] | None:
    """With servers: how many pushes this worker has made, how many barriers it will have passed when the checkpoint is
    complete, which is at the next one, and in which run."""
    if not has_servers(store):
        return None
    pushes, barriers = store.counts
    return {"pushes": pushes, "barriers": barriers + 1, "run": os.environ.get(RUN)}


def count_from(store: KVStoreBase | None, saved: Mapping[str, Any] | None) -> None:
    """Go on counting where `counts` was called; a worker that is restarted for want of a checkpoint (`saved` is None)
    from 0.

    Then a worker that is restarted alone does the same again as before its death: servers pass over pushes that they
    have, and it passes through barriers that the others have passed.
    """
    if not has_servers(store) or (saved is None and not _comes_again()):
        return
    pushes, barriers = 0 if saved is None else saved["pushes"], store.counts[1]
    if is_restarted(store):
        barriers = saved["barriers"] if saved is not None and saved["run"] == os.environ.get(RUN) else 0
    store.count_from(pushes, barriers)
