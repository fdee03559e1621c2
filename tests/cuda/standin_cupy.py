"""The stand-in for CuPy, in a program that may have another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def installed() -> Iterator[ModuleType]:
    """Have `import cupy` find the stand-in, as if nothing had asked for CuPy before; afterwards nothing of it is
    left."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _modules():
            patch.delitem(sys.modules, name)
        patch.syspath_prepend(str(Path(__file__).parent / "standin"))
        import cupy

        yield cupy
        for name in _modules():
            del sys.modules[name]


def _modules() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] == "cupy"]
