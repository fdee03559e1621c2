"""How a process comes to a store on servers: as a worker of the launcher's run, or as the only worker of its own."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import uuid
from pathlib import Path

from runtime.base import MXNetError
from runtime.kvstore.environment import ADDRESS, ATTEMPT, RANK, RUN, SERVERS, WORKERS
from runtime.kvstore.servers import ray_setup
from runtime.kvstore.servers.client import ServerStore
from runtime.kvstore.servers.connection import ServerConnection
from runtime.optimizer import handwritten_modules

_open: list[ServerStore] = []


def create(name: str) -> ServerStore:
    """The store of that name: of the launcher's run, else one with two server processes of its own.

    ImportError without Ray; MXNetError for a second one in a run while the first is open.
    """
    store = _of_run(name) if RUN in os.environ else _alone(name)
    atexit.unregister(_close_all)
    atexit.register(_close_all)  # what is registered last is called first: Ray's own end comes after this
    _open.append(store)
    return store


def _of_run(name: str) -> ServerStore:
    if _open:
        raise MXNetError(f"this worker has a '{_open[0].type}' kvstore already: use that one, or close() it first")
    run = os.environ[RUN]
    ray_setup.connect(_variable(ADDRESS), run)
    rank, workers, servers, attempt = (_count(variable) for variable in (RANK, WORKERS, SERVERS, ATTEMPT))
    store = ServerStore(name, ServerConnection(run, servers, rank), rank, workers, attempt, lambda: _open.remove(store))
    return store


def _alone(name: str) -> ServerStore:
    from runtime.kvstore.servers.service import Service

    run = f"kvstore-{uuid.uuid4().hex[:8]}"
    ray_setup.connect(None, run)
    service = Service(1, 1, run, _modules())
    service.start()

    def closing() -> None:
        _open.remove(store)
        service.stop()

    store = ServerStore(name, ServerConnection(run, 1, 0), 0, 1, closing=closing)
    return store


def _modules() -> list[str]:
    """Those with optimizers written by hand that this process has, or that its script imports."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    return sorted({*handwritten_modules.known(), *(handwritten_modules.defining(Path(script)) if script else ())})


def _close_all() -> None:
    for store in list(_open):
        with contextlib.suppress(Exception):  # Ray or the servers may have ended before
            store.close()


def _variable(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise MXNetError(
            f"{RUN} is set, and {name} is not: workers are started with python -m runtime.launch"
        ) from None


def _count(name: str) -> int:
    text = _variable(name)
    if not text.isdecimal():
        raise MXNetError(f"{name} is a number, not {text!r}")
    return int(text)
