"""A program for a process of its own: `optgen.pycuda` with PyCUDA itself, whose driver is `libcuda_pycuda.c`; the PTX
interpreter runs what it launches. Arguments: the library, and a folder."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cuda import built_steps
from tests.cuda.ptx import Memory, Module

LAUNCHED = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64)
MOST = 65536


class Launches:
    """What the library hands over, which runs at once. An error in it is raised by `check`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library, self._memory, self._known = library, Memory(), set[tuple[int, int]]()
        self._modules: dict[bytes, Module] = {}
        self.names: list[str] = []
        self._error: Exception | None = None
        self._call = LAUNCHED(self._run)
        library.on_launch(self._call)

    def _run(self, ptx: bytes, name: bytes, blocks: int, threads: int, table: int) -> None:
        try:
            module = self._modules.setdefault(
                ptx, Module(ptx.decode()) if ptx not in self._modules else self._modules[ptx]
            )
            self.names.append(name.decode())
            module.launch(self.names[-1], blocks, threads, [table], self._synchronized())
        except Exception as error:  # a callback cannot raise
            self._error = self._error or error

    def _synchronized(self) -> Memory:
        addresses, sizes = (ctypes.c_uint64 * MOST)(), (ctypes.c_size_t * MOST)()
        n = self._library.allocations(addresses, sizes)
        found = set(zip(addresses[:n], sizes[:n], strict=True))
        for address, _ in self._known - found:
            self._memory.remove(address)
        for address, nbytes in found - self._known:
            self._memory.add(address, nbytes)
        self._known = found
        return self._memory

    def check(self) -> None:
        if self._error is not None:
            raise self._error


def main(library: str, folder: Path) -> None:
    launches = Launches(ctypes.CDLL(library))
    sys.setdlopenflags(os.RTLD_LAZY)  # PyCUDA's other functions of the driver are in no library
    import pycuda.autoprimaryctx
    import pycuda.driver as cuda
    from pycuda import gpuarray

    from optgen.pycuda import load_built

    for k, (name, case) in enumerate(built_steps.CASES.items()):
        before = len(launches.names)
        own = folder / str(k)
        own.mkdir()
        built_steps.check(case, own, cuda.Stream() if k % 2 else None)
        launches.check()
        assert len(launches.names) > before
        print(f"{name}: {len(launches.names) - before} launches", flush=True)

    adam = load_built(built_steps.build("adam", folder))
    w, g = gpuarray.to_gpu(np.ones(300, np.float32)), gpuarray.to_gpu(np.ones(300, np.float32))
    other = pycuda.autoprimaryctx.device.make_context()
    elsewhere, stream = gpuarray.to_gpu(np.ones(300, np.float32)), cuda.Stream()
    with pytest.raises(RuntimeError, match="another context of PyCUDA is current"):
        adam.bind([w], [g])
    other.pop()
    with pytest.raises(ValueError, match=r"params\[0\]: its 1200 bytes at 0x\w+ are not in memory of the current con"):
        adam.bind([elsewhere], [g])
    with pytest.raises(ValueError, match="stream: it cannot be used in the current context: cuEventRecord failed"):
        adam.bind([w], [g], stream=stream)
    with pytest.raises(TypeError, match=r"stream: expected a pycuda\.driver\.Stream, or None, not int"):
        adam.bind([w], [g], stream=7)
    with pytest.raises(ValueError, match=r"grads\[0\]: not contiguous \(shape \(150,\), strides \(8,\)\)"):
        adam.bind([w[:150]], [g[::2]])
    step = adam.bind([w[:150]], [g[150:]])
    step(lr=0.5)
    assert np.allclose(w.get(), [0.5] * 150 + [1] * 150) and isinstance(step.state.arrays["m"][0], gpuarray.GPUArray)
    launches.check()
    print("done", cuda.get_version(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
