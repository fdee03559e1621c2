"""A folder of results that are expensive to make again: checked models and object code, by content hash.

An entry is one file: the SHA-256 of its name and its data, then the data. It is written to a temporary name and moved
into place; a file whose hash is wrong is as good as none. The folder must be the user's own and closed to others, since
what is loaded from it is executed: otherwise it is not used at all.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

_DIGEST = hashlib.sha256().digest_size


def folder() -> Path | None:
    """`$OPTGEN_CACHE_DIR`, or `optgen` in the user's cache folder; None where it cannot be trusted or made."""
    chosen = os.environ.get("OPTGEN_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(chosen) if chosen else Path(base) / "optgen"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(info.st_mode) and not stat.S_IMODE(info.st_mode) & 0o077
    return path if private and info.st_uid == os.getuid() else None


@functools.cache
def compiler_hash() -> str:
    """Which compiler this is: path, inode, size and times of its sources. Another compiler makes other code.

    Reading the sources takes longer than loading a kernel, and no edit or install leaves the change time as it was.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rows = []
    for directory, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".lark", ".ll")):
                path = os.path.join(directory, name)
                info = os.stat(path)
                rows.append((path, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


def key(*parts: str) -> str:
    """The name of an entry: a hash over the compiler and everything the result depends on."""
    digest = hashlib.sha256()
    for part in (compiler_hash(), *parts):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def get(name: str, make: Callable[[], bytes]) -> bytes:
    """The data under `name`; made and kept when it is not there, or not what was written."""
    directory = folder()
    if directory is None:
        return make()
    path = directory / name
    data = _read(path)
    if data is None:
        data = make()
        # A full disk or a folder that became read-only costs speed, not correctness.
        with contextlib.suppress(OSError):
            _write(path, data)
    return data


def _read(path: Path) -> bytes | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    data = raw[_DIGEST:]
    return data if _digest(path.name, data) == raw[:_DIGEST] else None


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + data).digest()


def _write(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:16]}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(path.name, data) + data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
