"""The functions of `nd.contrib`."""

from __future__ import annotations

from typing import Any

from runtime.ndarray import contrib

__all__: list[str] = []


def __getattr__(key: str) -> Any:
    return getattr(contrib, key)


def __dir__() -> list[str]:
    return dir(contrib)
