"""The BLAS that NumPy uses: the addresses of its functions, for compiled code to call, and its number of threads."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from optgen.loops import fallback_gemm
from optgen.loops.compile import Blas

_DECORATIONS = tuple(itertools.product(("scipy_", ""), ("64_", "_64", "")))
"""Prefixes and suffixes of the functions' names in different builds. With a suffix, sizes have 64 bits."""

_SET_BY_THREADPOOLCTL = {"KMP_DUPLICATE_LIB_OK"}
"""Environment variables that threadpoolctl sets when it is imported. They allow two copies of Intel's OpenMP runtime in
a process, which is not for this package to allow."""


class _Library:
    """A loaded BLAS: its number of threads, which can be read and set, and its symbols."""

    def __init__(self, controller: Any) -> None:
        self._library: Any = controller.dynlib
        # threadpoolctl looks these up at each call, which takes longer than a small product.
        self.threads: Callable[[], int] = self._symbol("openblas_get_num_threads") or controller.get_num_threads
        self.set_threads: Callable[[int], None] = self._symbol("openblas_set_num_threads") or controller.set_num_threads

    def _symbol(self, name: str) -> Any:
        found = self.find(name)
        return found and found[0]

    def find(self, name: str) -> tuple[Any, str] | None:
        """A function, and the suffix it was found under."""
        for prefix, suffix in _DECORATIONS:
            function = getattr(self._library, prefix + name + suffix, None)
            if function is not None:
                return function, suffix
        return None


@functools.cache
def _libraries() -> list[_Library]:
    """The BLAS that NumPy uses, by its path; all that are loaded where no path tells."""
    known = set(os.environ)
    from threadpoolctl import ThreadpoolController

    for name in _SET_BY_THREADPOOLCTL - known:
        os.environ.pop(name, None)
    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_Library(c) for c in [c for c in loaded if "numpy" in c.filepath] or loaded]


# ---------------------------------------------------------------- one thread


class _Single:
    """`with single:` BLAS uses the calling thread alone.

    The number of threads belongs to the process. The first thread to enter sets it to 1, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._forked)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[_Library, int]] = []

    def _forked(self) -> None:
        """The threads that were inside do not exist in the child."""
        before = self._before
        self._reset()
        for library, threads in before:
            library.set_threads(threads)

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                for library in _libraries():
                    threads = library.threads()
                    if threads > 1:
                        self._before.append((library, threads))
                        library.set_threads(1)

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                while self._before:
                    library, threads = self._before.pop()
                    library.set_threads(threads)


single = _Single()


# ---------------------------------------------------------------- functions


class Found(NamedTuple):
    """A function: its address, and the suffix of its name. With a suffix, sizes have 64 bits."""

    address: int
    suffix: str


def find(name: str) -> Found | None:
    """A function of NumPy's BLAS, or of the LAPACK that comes with it."""
    for library in _libraries():
        found = library.find(name)
        if found is not None:
            function, suffix = found
            address = ctypes.cast(function, ctypes.c_void_p).value
            assert address is not None  # a symbol that was found
            return Found(address, suffix)
    return None


def thread_functions() -> tuple[int, int] | None:
    """The addresses of the functions that tell and set BLAS's number of threads, zeros if no BLAS is loaded.

    None if it does not have them, or several libraries are loaded.
    """
    if not _libraries():
        return 0, 0
    get, set = find("openblas_get_num_threads"), find("openblas_set_num_threads")
    return None if get is None or set is None or len(_libraries()) > 1 else (get.address, set.address)


class Gemm(NamedTuple):
    address: int
    types: Blas


@functools.cache
def gemm(dtype: np.dtype[Any]) -> Gemm:
    """CBLAS's GEMM for matrices of `dtype`, float32 or float64: NumPy's, or else `fallback_gemm`."""
    name = "cblas_sgemm" if dtype == np.float32 else "cblas_dgemm"
    found = find(name)
    if found is not None:
        return Gemm(found.address, Blas("i32", "i64" if found.suffix else "i32"))
    return Gemm(fallback_gemm.address(dtype), fallback_gemm.TYPES)
