"""How a peer says that it cannot take part, and why."""

from __future__ import annotations

import importlib
from types import ModuleType


class Absent(Exception):
    """The peer is not installed or does not work here; the text says which."""


def require(module: str, package: str) -> ModuleType:
    """Import a peer's module; Absent where that fails."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Absent(f"not installed: pip install {package}") from error
    except Exception as error:
        raise Absent(f"{module} cannot be imported: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
