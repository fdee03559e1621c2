"""Libraries in C for GPUs come to the bits of Python's steps on the CPU; tests/library has a stand-in for the GPU."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from optgen.cli.library import prefix_of
from optgen.execute.cuda import driver
from optgen.execute.cuda.memory import DeviceArray
from tests.library.c_library import Array, CLibrary, build
from tests.library.trajectory import GPU_CASES, compare

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SHAPES: list[tuple[int, ...]] = [(37,), (700, 90), (3, 4, 5), (), (100_003,), (0, 4), (128, 1024)]
CASES = [*GPU_CASES, ("lbfgs", ())]


class OnGpu:
    """A copy of an array in the memory of GPU 0, with what `compare` asks of tensors."""

    def __init__(self, array: Array) -> None:
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype
        self._there = DeviceArray(array.shape, array.dtype.name, driver.gpu(0))
        self._there.set(array)
        self.ctypes = SimpleNamespace(data=self._there.address)

    def __setitem__(self, key: Any, value: Array) -> None:
        assert key is Ellipsis
        self._there.set(np.asarray(value))

    def tobytes(self) -> bytes:
        return self._there.get().tobytes()


def read(address: int, count: int) -> bytes:
    """Bytes of the GPU, or of the host, where states are that do not depend on elements."""
    if not count:
        return b""
    try:
        driver.owner(address)
    except driver.CudaError:
        return ctypes.string_at(address, count)
    found = np.empty(count, np.uint8)
    driver.gpu(0).download(found, address)
    return found.tobytes()


@pytest.mark.parametrize("cubin", [False, True], ids=["ptx", "cubin"])
@pytest.mark.parametrize(("spec", "arguments"), CASES, ids=[" ".join([spec, *more]) for spec, more in CASES])
def test_a_context_steps_as_python_does_on_the_cpu(
    spec: str, arguments: tuple[str, ...], cubin: bool, tmp_path: Path
) -> None:
    more = []
    if cubin:
        if shutil.which("ptxas") is None:
            pytest.skip("no ptxas")
        major, minor = driver.gpu(0).capability
        more = ["--arch", f"sm_{major}{minor}", "--cubin"]
    build(tmp_path, spec, "--target", "cuda", "--cpu", "native", "--name", "own", *arguments, *more)
    own = CLibrary(tmp_path, "own").spec(f"{prefix_of(spec)}_cuda")
    compare(own, spec, arguments, SHAPES, 20, tmp_path, OnGpu, read)
