"""Object code into memory: symbols become addresses, which stay valid until the process ends."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping

import llvmlite.binding as llvm

from optgen.backends import target

_counter = itertools.count()
_loaded: list[llvm.ResourceTracker] = []
"""Never emptied: a bound step, or a worker still on its way out, may be inside the code."""


@functools.cache
def _jit() -> llvm.LLJIT:
    target.host()
    return llvm.create_lljit_compiler()


def link(code: bytes, *symbols: str) -> Mapping[str, int]:
    """Load one object file, resolve what it needs from the process, return the addresses of `symbols`."""
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        library.export_symbol(symbol)
    tracker = library.link(_jit(), f"optgen{next(_counter)}")
    _loaded.append(tracker)
    return {symbol: tracker[symbol] for symbol in symbols}
