"""The extras of optgen: how to install what its parts need beyond what all need."""

from __future__ import annotations

import importlib.metadata
import re


def install(extra: str) -> str:
    """The command that installs what an extra names, for the message of an ImportError.

    It has the packages' own names. optgen is on no index of packages: another one of that name would not be this one.
    """
    try:
        lines = importlib.metadata.requires("optgen") or []
    except importlib.metadata.PackageNotFoundError:  # used from its folder, without an installation
        lines = []
    found = [line.partition(";")[0].strip() for line in lines if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    if not found:
        return f"pip install '.[{extra}]' in the folder of its repository"
    return f"pip install {' '.join(repr(x) for x in found)} (the extra '{extra}')"
