"""PyTorch, which `optgen.torch` needs: installed, and new enough."""

from __future__ import annotations

import importlib.metadata

from optgen import extras

OLDEST = (2, 13)
"""The oldest PyTorch (major, minor) that this is tested with."""


def check() -> None:
    """ImportError that names the extra if PyTorch is not installed, or too old."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"optgen.torch needs PyTorch, which is not installed; {extras.install('torch')}") from None
    if tuple(int(x) for x in found.split("+")[0].split(".")[:2]) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ImportError(
            f"optgen.torch needs PyTorch {needed} or newer, and this is {found}; {extras.install('torch')}"
        )
