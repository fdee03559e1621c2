"""The user's folder for what optgen keeps from one process to the next: the cache, and what `optgen tune` found; and
the one for kernels that debuggers read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

UNUSED = "it cannot be made, or is not a folder that is yours and closed to others (chmod 700)"
"""Why `folder` is None, in the words of errors."""


class VariableError(ValueError):
    """An environment variable cannot be gone by. The message begins with its name, as no parameter is to blame."""


def place() -> Path:
    """The path of the folder: `$OPTGEN_CACHE_DIR`, or `optgen` in the user's cache folder."""
    chosen = os.environ.get("OPTGEN_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.path.expanduser(chosen)) if chosen else Path(base) / "optgen"


def folder() -> Path | None:
    """The folder at `place()`, made if it is missing; None if it cannot be made, or is open to others."""
    return _made(place())


def debug_folder() -> Path | None:
    """The folder `$OPTGEN_DEBUG_DIR`, made if it is missing; None if the variable is not set. With it, kernels know the
    lines of their equations, and are loaded from shared libraries there. VariableError for one that cannot be made, or
    is open to others: its code is executed."""
    chosen = os.environ.get("OPTGEN_DEBUG_DIR")
    if not chosen:
        return None
    path = _made(Path(os.path.expanduser(chosen)))
    if path is None:
        raise VariableError(f"OPTGEN_DEBUG_DIR={chosen}: {UNUSED}")
    return path.absolute()


def _made(path: Path) -> Path | None:
    """A folder, made if it is missing; None if it cannot be made, or is open to others."""
    if _has_no_home(path):
        return None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return path if is_private(path) else None


def is_private(path: Path) -> bool:
    """Whether a path is a folder, the user's own and closed to others."""
    try:
        info = path.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(info.st_mode) and not stat.S_IMODE(info.st_mode) & 0o077
    return private and info.st_uid == os.getuid() and not _has_no_home(path)


def _has_no_home(path: Path) -> bool:
    """Whether a path begins with a `~` that stands for nothing: the user has no home, or there is no such user."""
    return path.parts[:1] != () and path.parts[0].startswith("~")
