"""`nd.op`: the functions of `nd`, under another name that MXNet has for them."""

from __future__ import annotations

from typing import Any

from runtime import ndarray


def __getattr__(name: str) -> Any:
    return getattr(ndarray, name)
