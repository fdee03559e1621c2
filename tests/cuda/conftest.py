"""Two GPUs where there are none: CuPy is the stand-in beside this."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.cuda import standin_cupy


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with standin_cupy.installed() as module:
        yield module
