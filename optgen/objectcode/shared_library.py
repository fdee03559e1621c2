"""Object code as shared libraries in the folder `OPTGEN_DEBUG_DIR`, for perf and gdb.

They read names and lines of code in the file that the system has mapped it from, and find nothing of code that LLVM's
linker has put into memory. The system's linker, `ld`, comes with the `objdump` that perf needs.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from optgen.cache_folder import VariableError
from optgen.files import replacing

LINKER = ("ld", "-shared", "-Bsymbolic")
LONGEST = 200
"""The most characters of a symbol in the name of a file, which has at most 255."""


def load(folder: Path, code: bytes, symbols: tuple[str, ...]) -> Mapping[str, int]:
    """Write an object file to the folder as a shared library, and load it; returns the addresses of `symbols`. It
    stays loaded until the process ends. RuntimeError without a linker, or if a symbol is missing; VariableError if the
    folder cannot be written to."""
    path = folder / f"{symbols[0][:LONGEST]}-{hashlib.sha256(code).hexdigest()[:16]}.so"
    # It is written anew by each process: loading a damaged one would end it.
    linked = _linked(code)
    try:
        with replacing(path, mode=0o700, follow=False) as file:
            file.write(linked)
    except OSError as error:
        message = f"OPTGEN_DEBUG_DIR: {folder} cannot be written to: {error.strerror}; name another folder, or unset it"
        raise VariableError(message) from error
    try:
        library = ctypes.CDLL(str(path))
        addresses = {symbol: ctypes.cast(library[symbol], ctypes.c_void_p).value for symbol in symbols}
    except (OSError, AttributeError) as error:
        raise RuntimeError(f"{path}: {error}") from error
    return {symbol: address for symbol, address in addresses.items() if address is not None}


def _linked(code: bytes) -> bytes:
    """A shared library of one object file."""
    with TemporaryDirectory() as place:
        here, made = Path(place, "code.o"), Path(place, "code.so")
        here.write_bytes(code)
        try:
            done = subprocess.run([*LINKER, "-o", made, here], stderr=subprocess.PIPE, text=True)
        except FileNotFoundError:
            raise RuntimeError("OPTGEN_DEBUG_DIR needs the linker ld; install binutils, or unset it") from None
        if done.returncode:
            raise RuntimeError(f"{' '.join(LINKER)}: {done.stderr.strip()}")
        return made.read_bytes()
