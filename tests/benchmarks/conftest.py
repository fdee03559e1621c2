"""The modules of the benchmarks, as the programs beside them find them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """A function that imports a module by its name. All of them are forgotten afterwards."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
