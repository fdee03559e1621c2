"""A GPU that is none, for libraries in C: libcuda.c is compiled as the driver that they load, and the PTX interpreter
runs their launches."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.cuda.ptx import Memory, Module
from tests.library.c_library import Array

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint64
)
LAUNCH_FAILED = 719
_modules: dict[bytes, Module] = {}


class StandIn:
    """A driver in a folder. `launches` are the names of the functions that have run, and `tables` the addresses of what
    they read, in the same order."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "driver.so"
        source = Path(__file__).with_name("libcuda.c")
        command = [
            "cc",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            str(self.path),
            str(source),
        ]
        subprocess.run(command, check=True, timeout=60)
        self.code = ctypes.CDLL(str(self.path))
        self.code.allocate.restype = ctypes.c_uint64
        self._kept = _LAUNCH(self._launch)
        self.code.hand_launches_to(self._kept)
        self.launches: list[str] = []
        self.tables: list[int] = []
        self.errors: list[Exception] = []

    @property
    def compiler(self) -> str:
        """The C compiler for libraries that load it."""
        return f"cc -DOPTGEN_LIBCUDA='\"{self.path}\"'"

    def array(self, array: Array, ordinal: int = 0) -> Array:
        """A copy in memory of a GPU, which the program can read as well; it stays."""
        address = self.code.allocate(ctypes.c_uint64(max(array.nbytes, 1)), ordinal)
        raw = (ctypes.c_uint8 * max(array.nbytes, 1)).from_address(address)
        found = np.frombuffer(raw, array.dtype, array.size).reshape(array.shape)
        found[...] = array
        return found

    def finish(self) -> None:
        """Do all that is queued."""
        status = self.code.finish()
        assert status == 0 and not self.errors, (status, self.errors)

    def alive(self) -> list[int]:
        """The blocks of memory, pinned ones, events, modules and retained contexts there are."""
        found = (ctypes.c_int * 5)()
        self.code.alive(found)
        return list(found)

    @contextmanager
    def refusing(self, name: str, after: int = 0, status: int = LAUNCH_FAILED) -> Iterator[None]:
        """A function of the driver fails, after so many calls that do not."""
        self.code.refuse(name.encode(), after, status)
        try:
            yield
        finally:
            self.code.refuse(b"", 0, 0)

    def _launch(self, image: bytes, name: bytes, blocks: int, threads: int, argument: int) -> int:
        try:
            if image not in _modules:
                _modules[image] = Module(image.decode())
            _modules[image].launch(name.decode(), blocks, threads, [argument], self._memory())
            self.launches.append(name.decode())
            self.tables.append(argument)
        except Exception as error:  # none may leave a function that C has called
            self.errors.append(error)
            return LAUNCH_FAILED
        return 0

    def _memory(self) -> Memory:
        found, most = Memory(), 4096
        addresses, sizes = (ctypes.c_uint64 * most)(), (ctypes.c_uint64 * most)()
        count: Any = self.code.memory(addresses, sizes)
        for address, size in zip(addresses[:count], sizes[:count], strict=True):
            found.add(address, size)
        return found
