"""Object code into memory: symbols become addresses, which stay valid until the process ends."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping

import llvmlite.binding as llvm

from optgen.backends import target

_counter = itertools.count()
_linked: dict[tuple[bytes, tuple[str, ...]], llvm.ResourceTracker] = {}
"""By a hash of the code, and its symbols. Never emptied: a bound step, or a worker still on its way out, may be inside
the code."""


@functools.cache
def _jit() -> llvm.LLJIT:
    target.host()
    return llvm.create_lljit_compiler()


def link(code: bytes, *symbols: str) -> Mapping[str, int]:
    """Load one object file, resolve what it needs from the process, return the addresses of `symbols`.

    A process has the same code only once: each takes pages of its own, and a process has a limited number of mappings.
    """
    key = (hashlib.sha256(code).digest(), symbols)
    tracker = _linked.get(key)
    if tracker is None:
        # Of several threads that come here with the same code, all get what the first one loaded.
        tracker = _linked.setdefault(key, _load(code, symbols))
    return {symbol: tracker[symbol] for symbol in symbols}


def _load(code: bytes, symbols: tuple[str, ...]) -> llvm.ResourceTracker:
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        library.export_symbol(symbol)
    return library.link(_jit(), f"optgen{next(_counter)}")
