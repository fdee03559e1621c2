"""Tests that need a GPU of NVIDIA: skipped, with the reason, where there is none."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

import pytest

from optgen.execute.cuda import driver
from tests.gpu.libraries import LIBRARIES, Library

MISSING = None if driver.count() else f"there is no GPU of NVIDIA here, or no driver for it ({driver.LIBRARY})"
PACKAGES = ("cupy-cuda13x", "torch", "jax", "numpy", "llvmlite")


def pytest_report_header() -> str:
    """Which GPUs there are and what they are reached with, or that all is skipped."""
    if MISSING:
        return f"tests/gpu: all skipped: {MISSING}"
    version = ctypes.c_int()
    driver.call("cuDriverGetVersion", ctypes.byref(version))
    names = []
    for k in range(driver.count()):
        name = ctypes.create_string_buffer(128)
        driver.call("cuDeviceGetName", name, len(name), k)
        names.append(name.value.decode())
    found = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    return (
        f"tests/gpu: {', '.join(names)}; driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}; {found}"
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if MISSING:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Each library that tensors come from; all that it has begun is done when a test ends."""
    pytest.importorskip(request.param)
    library = LIBRARIES[request.param]()
    yield library
    library.synchronize()


@pytest.fixture
def torch_library() -> Iterator[Library]:
    """PyTorch alone, where it does not matter which."""
    pytest.importorskip("torch")
    library = LIBRARIES["torch"]()
    yield library
    library.synchronize()
