"""Two GPUs where there are none: CuPy is the stand-in beside this."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from runtime.core import backend


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in, as if nothing had asked for CuPy before, and nothing of it after the test."""
    for name in _modules():
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "standin"))
    caches = (backend.devices, backend._cupy)
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(backend, "_used", set())
    import cupy

    yield cupy
    for name in _modules():
        del sys.modules[name]
    for cache in caches:
        cache.cache_clear()


def _modules() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] == "cupy"]
