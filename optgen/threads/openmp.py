"""The threads that PyTorch computes on: a team of the OpenMP runtime that it has loaded (`openmp.c`).

After `backward`, that runtime's threads still wait on the cores, and threads of another pool would be woken beside
them. There are as many as `torch.get_num_threads()` says, unless `optgen.set_num_threads` or OPTGEN_NUM_THREADS says
another number. In a forked child, where the runtime hangs, work stays on the calling thread.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path

from optgen import forks
from optgen.backends import machine
from optgen.objectcode import c_functions
from optgen.threads import pool

MIN_TEAM_ELEMENTS = machine.value("threads.min_team_elements")
"""A step of fewer elements stays on the calling thread: to hand parts out takes longer, even to threads that wait for
work."""
_LIBRARIES = ("libtorch_cpu.so", "libtorch_cpu.dylib", "libtorch.so")
_NEEDED = ("omp_get_thread_num", "omp_get_max_threads")
_GNU = ("GOMP_parallel",)
_LLVM = ("__kmpc_fork_call", "__kmpc_push_num_threads", "__kmpc_global_thread_num")


class _TeamMemory(ctypes.Structure):
    """`team` of openmp.c."""

    _fields_ = (
        ("parallel", ctypes.c_void_p),
        ("fork_call", ctypes.c_void_p),
        ("push_num_threads", ctypes.c_void_p),
        ("global_thread_num", ctypes.c_void_p),
        ("thread_num", ctypes.c_void_p),
        ("max_threads", ctypes.c_void_p),
        ("limit", ctypes.c_void_p),
        ("small", ctypes.c_int64),
        ("large", ctypes.c_int64),
        ("forked", ctypes.c_uint32),
    )


class Team:
    """The threads of an OpenMP runtime, whose functions have these addresses; `address` and `run` are what a step hands
    to its kernel."""

    def __init__(self, functions: dict[str, int]) -> None:
        symbols = c_functions.load(__file__, "optgen_team_run", "optgen_team_threads")
        self.run = symbols["optgen_team_run"]
        self._threads = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(symbols["optgen_team_threads"])
        names = (*_GNU, *_LLVM, *_NEEDED)
        self._memory = _TeamMemory(
            *(functions.get(name) for name in names[:4]),
            functions["omp_get_thread_num"],
            functions["omp_get_max_threads"],
            ctypes.addressof(pool.chosen()),
            MIN_TEAM_ELEMENTS,
            pool.MIN_SPLIT_ELEMENTS,
            forks.is_child,  # the parent may have used the runtime before any step
        )
        self.address = ctypes.addressof(self._memory)
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self._memory.forked = 1

    def count(self) -> int:
        """How many threads share a large step that the calling thread makes."""
        return int(self._threads(self.address))

    def match_worker_count(self) -> None:
        """Nothing, as the runtime has the threads that it is asked for."""

    def threads(self) -> Team:
        """Itself, however many threads there are now: a step asks for their number when it runs."""
        return self


def of_pytorch() -> Team | None:
    """The team of PyTorch, which the process has imported; None if it does not compute on threads of OpenMP."""
    sys.modules["torch"].get_num_threads()  # has PyTorch tell the runtime its number, once for each thread
    return _found()


@functools.cache
def _found() -> Team | None:
    torch = sys.modules["torch"]
    if "parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return None
    functions = _functions(Path(str(torch.__file__)).parent / "lib")
    return None if functions is None else Team(functions)


def _functions(folder: Path) -> dict[str, int] | None:
    """The addresses of the functions of the runtime that PyTorch's library in a folder is bound to. None if that cannot
    be known.

    They are looked for where the system's loader did: among what all libraries see, then in the library and what it
    needs. Nothing is loaded.
    """
    loaded = [ctypes.CDLL(None)]
    for path in (folder / name for name in _LIBRARIES if (folder / name).exists()):
        try:
            loaded.append(ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY))
            break
        except (AttributeError, OSError):  # no such flag on this system; not loaded, as in a build of one's own
            continue
    for library in loaded:
        for needed in ((*_GNU, *_NEEDED), (*_LLVM, *_NEEDED)):
            found = {name: _address(library, name) for name in needed}
            if all(found.values()):
                return {name: address for name, address in found.items() if address}
    return None


def _address(library: ctypes.CDLL, name: str) -> int | None:
    """Where a function of a library is; None if the library has none of this name."""
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        return None
