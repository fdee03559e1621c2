"""Switches between MXNet's two kinds of arrays, `nd` and `np`. This library has `nd` only.

Functions that ask for the kind answer. Functions that would turn `np` on raise NotImplementedError. A decorator raises
when the decorated function is called, so a module with one such function can still be imported.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn

from runtime.context import num_gpus


class _Thread(threading.local):
    np_shape = False


_thread = _Thread()

# ---------------------------------------------------------------- shapes


def is_np_shape() -> bool:
    """Whether this thread is inside `np_shape(True)`, where a shape of () is a scalar and a length of 0 is no
    unknown."""
    return _thread.np_shape


def set_np_shape(active: bool) -> bool:
    """Turn NumPy's meaning of shapes on or off for this thread; returns whether it was on."""
    before, _thread.np_shape = _thread.np_shape, bool(active)
    return before


@contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """`with np_shape():` shapes mean what they do in NumPy."""
    before = set_np_shape(active)
    try:
        yield
    finally:
        set_np_shape(before)


def use_np_shape(func: Callable) -> Callable:
    """Decorator: a function that runs inside `np_shape()`."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with np_shape():
            return func(*args, **kwargs)

    return call


# ---------------------------------------------------------------- arrays


def is_np_array() -> bool:
    """Whether blocks compute with `mx.np` arrays: never."""
    return False


class _NumpyArrayScope:
    """The class in which MXNet stores the kind of arrays, for code that reads it."""

    def __init__(self, is_np_array: bool) -> None:
        self._is_np_array = is_np_array


def np_array(active: bool = True) -> AbstractContextManager:
    """`with np_array(False):` does nothing; True raises NotImplementedError."""
    if active:
        _refuse("np_array")
    return nullcontext()


def use_np_array(func: Any) -> Any:
    """Decorator of a function or class that computes with `mx.np` arrays: calling it raises NotImplementedError."""

    def call(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(func.__qualname__)

    if isinstance(func, type):
        func.__init__ = call
        return func
    return functools.wraps(func)(call)


use_np = use_np_array


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Raises NotImplementedError, unless it only sets the meaning of shapes."""
    if array or dtype:
        _refuse("set_np")
    set_np_shape(shape)


def reset_np() -> None:
    """Back to `nd` arrays and their meaning of shapes."""
    set_np_shape(False)


def _refuse(who: str) -> NoReturn:
    raise NotImplementedError(f"{who} needs mx.np arrays, which runtime does not have: write it with mx.nd")


# ---------------------------------------------------------------- environment


def getenv(name: str) -> str | None:
    """An environment variable; None if it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None unsets it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def keep_freed_memory() -> bool:
    """Have the C library keep freed memory of arrays for the next ones, in the whole process, from now on.

    By default, glibc gives large freed blocks back to the system, which has to clear the pages of the next ones.
    Networks that are not hybridized allocate an array for each operator, and are slower without this. Blocks of
    less than 32 MB, and 128 MB at the end of the heap, are then kept. Returns False where the C library has no such
    setting: there, nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, size) for option, size in _MALLOPT.items())


_MALLOPT = {-3: 1 << 25, -1: 1 << 27}
"""M_MMAP_THRESHOLD, at the most that glibc allows, and M_TRIM_THRESHOLD, in bytes."""


def get_gpu_count() -> int:
    """How many GPUs arrays can live on."""
    return num_gpus()
