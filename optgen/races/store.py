"""The trials that were made before, one JSON file each, in `races` of the folder of the cache."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from optgen import __version__, cache_folder, files
from optgen.races import protocol
from optgen.races.contender import Contender
from optgen.races.protocol import Attempt
from optgen.races.results import trial_of, whole
from optgen.races.task import TrainingTask
from optgen.races.trials import Outcome


@functools.cache
def versions() -> Mapping[str, str]:
    """What trials depend on beside contender and task."""
    found = {"optgen": __version__, "protocol": str(protocol.VERSION)}
    for name in ("torch", "numpy", "scikit-learn"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def get(task: TrainingTask, contender: Contender, attempt: Attempt) -> Outcome | None:
    """The outcome of an attempt that was made before; None if there is none, or its file is damaged."""
    path = _path(task, contender, attempt)
    if path is None:
        return None
    try:
        own = json.loads(path.read_bytes())
        trial = trial_of(own["trial"])
        is_it = (trial.rate, trial.seed) == (attempt.rate, attempt.seed)
        return Outcome(trial, whole(own["state_bytes"]), whole(own["parameters"])) if is_it else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def put(task: TrainingTask, contender: Contender, attempt: Attempt, outcome: Outcome) -> None:
    """Keep an outcome, if there is a folder for it. Raises OSError."""
    path = _path(task, contender, attempt)
    if path is None:
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    own = {"task": task.name, "contender": contender.name, "is_short": attempt.is_short, **asdict(outcome)}
    with files.replacing(path, clear=False, follow=False) as file:
        file.write(json.dumps(own, allow_nan=False).encode())


def folder() -> Path | None:
    """The folder of the trials; None if there is no folder of the cache."""
    cache = cache_folder.folder()
    return None if cache is None else cache / "races"


def _path(task: TrainingTask, contender: Contender, attempt: Attempt) -> Path | None:
    own = [task.name, task.source, task.info.target, contender.identity, asdict(attempt), dict(versions())]
    place = folder()
    return None if place is None else place / f"{hashlib.sha256(json.dumps(own).encode()).hexdigest()}.json"
