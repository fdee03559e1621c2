"""What all tests share: golden files, GPUs where there are none, and a small heap for the collector of garbage."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Golden = Callable[[Path, str], None]

# The threads of PyTorch and of NumPy's BLAS spin while they wait, also for others to let go of a core: that took
# most of the time of many tests. Here they sleep. This comes before anything imports either; programs inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
# What `optgen tune` has found here is none of the tests' business: they test the defaults.
os.environ["OPTGEN_MACHINE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew; read the diff")
    parser.addoption("--on-gpu", action="store_true", help="arrays live on gpu(1), of tests/cuda/standin's CuPy")


def pytest_configure(config: pytest.Config) -> None:
    """With --on-gpu the stand-in for CuPy is what `import cupy` finds, before anything imports it, and optgen's kernels
    for GPUs are emulated."""
    if config.getoption("--on-gpu"):
        sys.path.insert(0, str(Path(__file__).parent / "cuda" / "standin"))
        from tests.cuda.emulation import emulated

        gpus = emulated(2)
        gpus.__enter__()
        config.add_cleanup(lambda: gpus.__exit__(None, None, None))
        _go_to_gpu()  # for arrays that modules make when they are imported


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--on-gpu"):
        for item in items:
            for mark in item.iter_markers("cpu_only"):
                item.add_marker(pytest.mark.skip(reason=mark.args[0]))


def _go_to_gpu() -> None:
    from runtime.context import Context, gpu

    Context.default_ctx = gpu(1)  # not the device that CUDA starts with, which is taken for it where none is chosen


@pytest.fixture(autouse=True)
def default_context(request: pytest.FixtureRequest) -> None:
    """With --on-gpu every test starts there, whatever the one before it has set."""
    if request.config.getoption("--on-gpu"):
        _go_to_gpu()


@pytest.fixture(autouse=True, scope="module")
def kept_objects_are_frozen() -> Iterator[None]:
    """What the tests of a file leave for good, as kernels, is millions of objects in the end: the collector of garbage,
    which tests call and wait for, need not look at them again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the file that holds what it should be; with --update-golden write the file instead."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8", newline="")
            return
        if not path.exists():
            pytest.fail(f"{path} does not exist; pytest --update-golden writes it")
        assert text == path.read_bytes().decode("utf-8")

    return compare
