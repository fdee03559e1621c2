"""`os.fork` waits until no other thread is inside LLVM or is importing a module of this package.

A forked child has only the thread that forked. A lock that another thread held stays locked there, and an import that
was in progress never ends. Other locks are made anew in the child, by the modules that define them.
"""

from __future__ import annotations

import contextlib
import importlib
import logging  # noqa: F401 (lark imports it, and it has hooks of its own, which are not to come in the middle of a fork)
import os
import sys
import threading
from typing import Any

PACKAGES = ("optgen", "llvmlite", "lark", "sympy", "mpmath", "ml_dtypes")
"""What is imported when it is first needed, by whichever thread that is."""
_held: Any = None
"""The lock of LLVM while a thread that forks holds it; else None."""
_holder: int | None = None
"""The id of the thread that holds `_held`; None if none does."""
is_child = False
"""Whether this process was forked, by one that had imported this package: threads that it had are not here."""


def _lock_of_llvm() -> Any:
    """The lock that llvmlite holds during each call of LLVM, which has further locks of its own. None where llvmlite
    is not imported: this module does not import it, as `import optgen` does not wait for LLVM."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(ffi, "lib", None), "_lock", None)


def before_fork(*packages: str) -> None:
    """Wait for LLVM, and keep it until the fork is done; wait for what is being imported of ours, and of `packages`."""
    global _held, _holder
    waited: set[str] = set()
    while True:
        lock = _lock_of_llvm()
        if lock is not None and _holder != threading.get_ident():
            lock.__enter__()
            _held, _holder = lock, threading.get_ident()
        new = _importing((*PACKAGES, *packages)) - waited
        if not new:
            return
        let_go()  # an import may need LLVM, if only to free a module that the collector of garbage comes by
        for name in new:
            with contextlib.suppress(Exception):  # whoever imports it hears of that
                importlib.import_module(name)  # at once if this thread is the one that does
        waited |= new


def let_go() -> None:
    """Let go of LLVM, if this thread has it for a fork."""
    global _held, _holder
    if _holder == threading.get_ident():  # not where this module was imported while the process forked
        lock, _held, _holder = _held, None, None
        lock.__exit__(None, None, None)


def _importing(packages: tuple[str, ...]) -> set[str]:
    """The modules of packages that some thread is importing."""
    modules = [(name, m) for name, m in list(sys.modules.items()) if name.partition(".")[0] in packages]
    return {name for name, m in modules if getattr(getattr(m, "__spec__", None), "_initializing", False)}


def _begin_child() -> None:
    global is_child
    is_child = True
    let_go()


os.register_at_fork(before=before_fork, after_in_parent=let_go, after_in_child=_begin_child)
