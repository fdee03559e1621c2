"""As much of PyCUDA as examples use, over the memory of this process; PTX runs in the interpreter."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation import Gpu, GpuArray
from tests.cuda.ptx import Module


def install(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    """Have `import pycuda` find the stand-in, whose memory and launches are those of an emulated GPU."""

    class Array(GpuArray):
        @property
        def gpudata(self) -> int:
            return self._address

        @property
        def size(self) -> int:
            return int(np.prod(self.shape))

        def set(self, array: np.ndarray) -> None:
            assert array.shape == self.shape and array.dtype == self.dtype
            gpu.upload(self._address, np.ascontiguousarray(array))

    class Loaded:
        def __init__(self, ptx: bytes) -> None:
            self._module = Module(ptx.decode())

        def get_function(self, name: str) -> Any:
            def function(*args: np.generic, block: tuple[int, int, int], grid: tuple[int, int]) -> None:
                self._module.launch(name, grid[0], block[0], [int(x) for x in args], gpu.memory)

            return function

    driver, gpuarray = ModuleType("pycuda.driver"), ModuleType("pycuda.gpuarray")
    driver.module_from_buffer = Loaded  # type: ignore[attr-defined]
    driver.mem_alloc = gpu.allocate  # type: ignore[attr-defined]
    driver.memcpy_htod = gpu.upload  # type: ignore[attr-defined]
    gpuarray.to_gpu = lambda array: Array(array, gpu)  # type: ignore[attr-defined]
    package = ModuleType("pycuda")
    parts = {"driver": driver, "gpuarray": gpuarray, "autoprimaryctx": ModuleType("pycuda.autoprimaryctx")}
    for name, module in parts.items():
        setattr(package, name, module)
        monkeypatch.setitem(sys.modules, f"pycuda.{name}", module)
    monkeypatch.setitem(sys.modules, "pycuda", package)
