"""Further samplers, and data sets of texts."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.gluon.contrib.data.sampler import IntervalSampler

__all__ = ["IntervalSampler", "text"]


def __getattr__(key: str) -> Any:
    """What few programs use is imported when it is asked for."""
    if key == "text":
        return importlib.import_module("runtime.gluon.contrib.data.text")
    if key in ("WikiText2", "WikiText103"):
        return getattr(importlib.import_module("runtime.gluon.contrib.data.text"), key)
    raise AttributeError(f"module 'runtime.gluon.contrib.data' has no attribute '{key}'")
