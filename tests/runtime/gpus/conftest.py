"""Two GPUs where there are none: CuPy is the stand-in of tests/cuda."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from runtime.core import backend
from tests.cuda import standin_cupy


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in; what `runtime` knows of CuPy is asked anew, and forgotten after the test."""
    caches = (backend.devices, backend._cupy)
    monkeypatch.setattr(backend, "_used", set())
    with standin_cupy.installed() as module:
        for cache in caches:
            cache.cache_clear()
        yield module
    for cache in caches:
        cache.cache_clear()
