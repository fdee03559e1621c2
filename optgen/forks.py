"""`os.fork` waits until no other thread of this package is inside LLVM or is importing a module.

A forked child has only the thread that forked. A lock that another thread held stays locked there, and an import that
was in progress never ends. Other locks are made anew in the child, by the modules that define them.

llvmlite has a lock of its own around each call of LLVM, which it does not renew in a child. No thread of this package
holds it during a fork, as all calls of the package are made by functions that hold `llvm`. Other users of llvmlite in
the process are on their own, as they are without this package: a fork does not wait for them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

packages = {"optgen", "llvmlite", "sympy", "mpmath", "ml_dtypes"}
"""What is imported when it is first needed, by whichever thread that is. A package that builds on this one adds
itself."""
llvm = threading.RLock()
"""Who calls LLVM, or frees what it made, holds this lock; a thread that forks does, too."""
_holder: int | None = None
"""The id of the thread that holds `llvm` for a fork; None if none does."""
is_child = False
"""Whether this process was forked, by one that had imported this package: threads that it had are not here."""


def calls_llvm(function: Callable[P, R]) -> Callable[P, R]:
    """A function that holds `llvm` until what it made of LLVM and does not return is freed."""

    @functools.wraps(function)
    def locked(*args: P.args, **kwargs: P.kwargs) -> R:
        with llvm:
            return function(*args, **kwargs)

    return locked


def _before_fork() -> None:
    """Take `llvm`, and wait for what other threads are importing of `packages`."""
    global _holder
    waited: set[str] = set()
    while True:
        llvm.acquire()
        new = _importing() - waited
        if not new:
            _holder = threading.get_ident()
            return
        llvm.release()  # an import may need LLVM
        for name in new:
            with contextlib.suppress(Exception):  # whoever imports it hears of that
                importlib.import_module(name)  # at once if this thread is the one that does
        waited |= new


def _after_fork() -> None:
    global _holder
    if _holder == threading.get_ident():  # not where this module was imported while the process forked
        _holder = None
        llvm.release()


def _importing() -> set[str]:
    """The modules of `packages` that some thread is importing."""
    modules = [(name, m) for name, m in list(sys.modules.items()) if name.partition(".")[0] in packages]
    return {name for name, m in modules if getattr(getattr(m, "__spec__", None), "_initializing", False)}


def _begin_child() -> None:
    global is_child
    is_child = True
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_begin_child)
