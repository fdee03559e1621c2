"""PyTorch, which `optgen.torch` needs: installed, and new enough."""

from __future__ import annotations

import importlib.metadata

OLDEST = (2, 6)
"""The oldest PyTorch (major, minor) that this is tested with."""


def check() -> None:
    """ImportError that names the extra if PyTorch is not installed, or too old."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise _missing("PyTorch, which is not installed") from None
    if tuple(int(x) for x in found.split("+")[0].split(".")[:2]) < OLDEST:
        raise _missing(f"PyTorch {'.'.join(map(str, OLDEST))} or newer, and this is {found}")


def _missing(what: str) -> ImportError:
    from optgen import extras

    return ImportError(f"optgen.torch needs {what}; {extras.install('torch')}")
