"""The environment variables of kvstores and of the launcher, and how the time limit is read from one of them."""

from __future__ import annotations

import os

from runtime.base import MXNetError

TIMEOUT = "RUNTIME_KVSTORE_TIMEOUT"
"""Seconds that a process waits for others."""
RUN, ADDRESS = "RUNTIME_RUN", "RUNTIME_RAY_ADDRESS"
"""Set by the launcher: the Ray namespace of the run, and the address of Ray."""
RANK, WORKERS, SERVERS = "RUNTIME_RANK", "RUNTIME_NUM_WORKERS", "RUNTIME_NUM_SERVERS"
"""Set by the launcher: the rank of a worker, and how many workers and servers the run has."""
ATTEMPT = "RUNTIME_ATTEMPT"
"""Set by the launcher: 0, and one more after each restart of a worker."""

_DEFAULT_TIMEOUT_SECONDS = 600.0
_MAX_TIMEOUT_SECONDS = 1e9  # about 30 years: the clocks of the system take no more


def timeout() -> float:
    """The seconds that `TIMEOUT` allows, by default 600. MXNetError where it holds no number of seconds above 0."""
    text = os.environ.get(TIMEOUT, str(_DEFAULT_TIMEOUT_SECONDS))
    try:
        return checked_timeout(float(text))
    except ValueError:
        raise MXNetError(f"{TIMEOUT} is a number of seconds above 0, not {text!r}") from None


def checked_timeout(seconds: float) -> float:
    """The seconds as a float. ValueError for what is no number of seconds above 0."""
    if not 0 < seconds < _MAX_TIMEOUT_SECONDS:
        raise ValueError(f"a time limit is a number of seconds above 0, not {seconds!r}")
    return float(seconds)
