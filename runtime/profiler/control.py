"""The profiler on and off, and what it records."""

from __future__ import annotations

import os
from typing import Any

from runtime.base import ArgumentError, did_you_mean
from runtime.profiler import operators, records

_FLAGS = ("profile_all", "profile_symbolic", "profile_imperative")
DEFAULTS: dict[str, Any] = {
    "filename": "profile.json",
    **dict.fromkeys((*_FLAGS, "profile_memory", "profile_api", "continuous_dump", "aggregate_stats")),
    "dump_period": 1.0,
}
config = dict(DEFAULTS)


def set_config(**kwargs: Any) -> None:
    """Choose what is recorded, and where to.

    Parameters
    ----------
    filename: the file that `dump` writes, and the end of the program, if more was recorded since; by default
        'profile.json'.
    profile_all, profile_symbolic, profile_imperative: whether operators are; by default they are, unless one of these
        is given and none is true.
    profile_memory, profile_api, continuous_dump, dump_period, aggregate_stats, profile_process: accepted. Memory is not
        recorded, `dumps` can always be called, and nothing is written before these two.
    """
    check_process(kwargs.pop("profile_process", "worker"))
    for key in kwargs:
        if key not in DEFAULTS:
            raise ArgumentError(f"profiler.set_config has no argument '{key}'{did_you_mean(key, DEFAULTS)}")
    if not isinstance(kwargs.get("filename", ""), (str, os.PathLike)):  # a number would be that of an open file
        raise ArgumentError(f"profiler.set_config: filename is a path, not {kwargs['filename']!r}")
    if "filename" in kwargs:  # at the end of the program, it may stand in another folder
        kwargs["filename"] = os.path.abspath(kwargs["filename"])
    config.update(kwargs)
    _install()


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Begin to record ('run'), or end ('stop'). What was recorded stays."""
    check_process(profile_process)
    if state not in ("run", "stop"):
        raise ArgumentError(f"profiler.set_state: state is 'run' or 'stop', not {state!r}")
    records.state.running, records.state.paused = state == "run", False
    if state == "run":
        records.state.process = os.getpid()
    _install()


def start() -> None:
    """`set_state("run")`."""
    set_state("run")


def stop() -> None:
    """`set_state("stop")`."""
    set_state("stop")


def pause(profile_process: str = "worker") -> None:
    """Record nothing until `resume`."""
    _pause(True, profile_process)


def resume(profile_process: str = "worker") -> None:
    """Go on after `pause`."""
    _pause(False, profile_process)


def _pause(paused: bool, profile_process: str) -> None:
    check_process(profile_process)
    records.state.paused = paused
    _install()


def check_process(profile_process: str) -> None:
    if profile_process != "worker":
        raise ArgumentError(
            f"profiler: profile_process is 'worker', not {profile_process!r}: each process records its own operators"
        )


def _install() -> None:
    flags = [config[flag] for flag in _FLAGS if config[flag] is not None]
    operators.install(records.active() and (not flags or any(flags)))
