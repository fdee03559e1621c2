"""Products of NumPy, which results are compared with, stay on one thread: those of BLAS would wait for busy cores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import optgen
from optgen.loops import numpy_blas


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """The number of threads is set back after a test."""
    before = optgen.num_threads()
    with numpy_blas.single:
        yield
    optgen.set_num_threads(before)
