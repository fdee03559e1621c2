"""Imports Ray, with the environment that it needs, and connects to a cluster or starts Ray on this machine."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Every process that connects would print Ray's remarks on what died into its own output.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    # Ray's processes are to be as nice as those that it is started by: they compute.
    "RAY_worker_niceness": "0",
}


def load() -> Any:
    """The module `ray`; ImportError, with what to install, where it is missing."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        from optgen import extras

        raise ImportError(f"the kvstore 'dist_async' needs Ray: {extras.install('ray')}; {error}") from None
    return ray


def connect(address: str | None, namespace: str, working_dir: str | None = None) -> Any:
    """Connect this process to the Ray cluster at `address`, 'host:port', and return the module `ray`.

    None: to a new Ray of this process's own, on this machine alone, which ends with the process. What is connected
    already stays so. Copies of `working_dir`, if given, are the current folder of all processes that this one makes.
    """
    if address is None or address.startswith(("127.", "localhost:")):
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # all sockets are then those of 127.0.0.1
    if address is not None:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # how often Ray tries, up to 40 s each; 20 of its own
    ray = load()
    if not ray.is_initialized():
        handler = signal.getsignal(signal.SIGTERM)
        ray.init(
            address=address or "local",
            namespace=namespace,
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env=None if working_dir is None else {"working_dir": working_dir},
        )
        if callable(handler) and signal.getsignal(signal.SIGTERM) is not handler:  # Ray has replaced it by its own
            signal.signal(signal.SIGTERM, handler)
    return ray


def deaths(ray: Any) -> tuple[type[Exception], ...]:
    """What Ray raises in place of the answer of a process that has died, or that cannot be reached."""
    errors = ray.exceptions
    return errors.RayActorError, errors.NodeDiedError, errors.OutOfMemoryError, errors.WorkerCrashedError
