"""The linker: it loads object code into memory, where symbols have addresses until the process ends.

Code reaches constants of its own, and the stubs that jump to other functions, by offsets: of 2 GB at most on x86-64, of
4 GB and of 128 MB on 64-bit Arm. LLVM's JITLink takes one mapping for all sections of an object, so they are near each
other, whatever else the process has mapped. RuntimeDyld, its other linker, takes one for each: where large arrays come
to lie between two of them, it ends the process.

With `OPTGEN_DEBUG_DIR`, the system's linker makes shared libraries of it: `shared_library.py`.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping

import llvmlite.binding as llvm

from optgen import forks
from optgen.backends import headroom, target
from optgen.cache_folder import debug_folder

_counter = itertools.count()
_linked: dict[tuple[bytes, tuple[str, ...]], llvm.ResourceTracker | Mapping[str, int]] = {}
"""The loaded code, which tells the addresses of symbols, by its hash and its symbols. It is never unloaded: a bound
step, or a thread that is about to stop, may be inside the code."""


@functools.cache
def _jit() -> llvm.LLJIT:
    target.host()
    return llvm.create_lljit_compiler(use_jit_link=True)


@forks.calls_llvm
def link(code: bytes, *symbols: str, imports: Mapping[str, int] | None = None) -> Mapping[str, int]:
    """Load one object file, with what it needs from the process; returns the addresses of `symbols`.

    `imports` are addresses of other symbols that it needs; a symbol has the same one in all calls. The same code is
    loaded only once: it takes pages of its own, and a process has a limited number of mappings. RuntimeError if a
    symbol is missing, MemoryError if there is no room.
    """
    key = (hashlib.sha256(code).digest(), symbols)
    loaded = _linked.get(key)
    if loaded is None:
        loaded = _linked[key] = _load(code, symbols, imports or {})
    return {symbol: loaded[symbol] for symbol in symbols}


def _load(
    code: bytes, symbols: tuple[str, ...], imports: Mapping[str, int]
) -> llvm.ResourceTracker | Mapping[str, int]:
    folder = debug_folder()
    if folder is not None and not imports:  # which are addresses in this process, and no matter of a file
        from optgen.objectcode import shared_library  # which nobody needs who debugs nothing

        return shared_library.load(folder, code, symbols)
    headroom.check()
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol, address in imports.items():
        library.import_symbol(symbol, address)
    for symbol in symbols:
        library.export_symbol(symbol)
    return library.link(_jit(), f"optgen{next(_counter)}")
