"""The cache: a folder of checked models and object code, which are expensive to make again, by content hash.

An entry is one file: the SHA-256 of its name and its data, then the data. It is written to a temporary name and moved
into place. A file whose hash is wrong counts as missing. Code from the folder is executed, so the folder must be the
user's own and closed to others: otherwise it is not used at all.

`OPTGEN_CACHE_SIZE` limits its size; beyond that, the least recently used entries are removed. The modification time of
a file is when it was last used, to the hour. Processes share the folder without locks: a file is complete or missing,
and an entry that is missing is made again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from optgen.backends import machine
from optgen.cache_folder import VariableError, folder
from optgen.files import TEMPORARY, replacing

LIMIT = 512 << 20
"""The limit in bytes without OPTGEN_CACHE_SIZE: some 30,000 kernels."""
_TOUCH_SECONDS = 3600
"""The modification time of an entry is renewed at most this often, so that reading is seldom writing."""
_STALE_SECONDS = 3600
"""A temporary file of this age was left by a writer that died, even one on another machine: writing takes
milliseconds."""
_DIGEST = hashlib.sha256().digest_size
_ENTRY, _TEMPORARY = re.compile("[0-9a-f]{64}"), re.compile(f"[0-9a-f]{{64}}{TEMPORARY}")
_room: dict[tuple[Path, int], int] = {}
"""The bytes that this process may write before it looks at the whole folder again, by folder and limit."""


def limit() -> int:
    """The bytes that the cache may hold: `OPTGEN_CACHE_SIZE`, as 1000000, 512M or 2G. VariableError for another
    form."""
    text = os.environ.get("OPTGEN_CACHE_SIZE", "")
    if not text:
        return LIMIT
    match = re.fullmatch(r"([0-9]{1,18}) ?([KMGT]?)(i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise VariableError(f"OPTGEN_CACHE_SIZE must be a number of bytes, as 512M or 2G, not {text!r}")
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


@functools.cache
def compiler_hash() -> str:
    """A hash that tells compilers apart, as another compiler makes other code: of its sources' paths, inodes, sizes and
    times.

    Reading the sources would take longer than loading a kernel. Every edit or install changes the change time.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rows = []
    for directory, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".c", ".ll")):
                path = os.path.join(directory, name)
                info = os.stat(path)
                rows.append((path, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


def key(*parts: str) -> str:
    """The name of an entry: a hash over the compiler and everything the result depends on."""
    digest = hashlib.sha256()
    for part in (compiler_hash(), machine.in_kernels(), *parts):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def get(name: str, make: Callable[[], bytes]) -> bytes:
    """The data under `name`; made and written if it is missing, or is not what was written."""
    most = limit()
    directory = folder()
    if directory is None:
        return _made(make)
    path = directory / name
    data = _read(path, most)
    if data is None:
        data = _made(make)
        # A full disk or a folder that became read-only costs speed, not correctness.
        with contextlib.suppress(OSError):
            if _DIGEST + len(data) <= most:
                _write(path, data)
                _make_room(directory, most, _DIGEST + len(data))
    return data


def _made(make: Callable[[], bytes]) -> bytes:
    from optgen.objectcode.waiting import compiling  # which nobody needs who finds all in the cache

    with compiling():
        return make()


def _read(path: Path, most: int) -> bytes | None:
    try:
        # Not every file there is an entry: do not wait for a FIFO, do not follow a link.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > most:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            raw = file.read()
        data = raw[_DIGEST:]
        if _digest(path.name, data) != raw[:_DIGEST]:
            return None
        if time.time() - info.st_mtime > _TOUCH_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(descriptor)
        return data
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + data).digest()


def _write(path: Path, data: bytes) -> None:
    with replacing(path, mode=0o600, clear=False, follow=False) as file:  # `_evict` clears, and is seldom called
        file.write(_digest(path.name, data) + data)


# ---------------------------------------------------------------- its size


@dataclass(frozen=True)
class File:
    """A file of the cache: an entry, or a temporary file that becomes one. `used` is a time, in nanoseconds."""

    path: Path
    size: int
    used: int
    complete: bool


def files(directory: Path) -> Iterator[File]:
    """The files that the cache has written to a folder. OSError if the folder cannot be read."""
    with os.scandir(directory) as found:
        for each in found:
            complete = _ENTRY.fullmatch(each.name) is not None
            if complete or _TEMPORARY.fullmatch(each.name):
                with contextlib.suppress(FileNotFoundError):  # another process was faster
                    info = each.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        yield File(directory / each.name, info.st_size, info.st_mtime_ns, complete)


def clear(directory: Path) -> list[File]:
    """Remove all entries and temporary files; returns the entries. An entry that is needed is made again."""
    found = list(files(directory))
    for file in found:
        file.path.unlink(missing_ok=True)
    return [file for file in found if file.complete]


def _make_room(directory: Path, most: int, written: int) -> None:
    """Keep within the limit.

    The folder is looked at when this process has written an eighth of the room that was left. That is seldom enough to
    take no time, and several processes at once exceed the limit by little.
    """
    left = _room.get((directory, most), 0) - written
    if left < 0:
        left = (most - _evict(directory, most)) // 8
    _room[directory, most] = left


def _evict(directory: Path, most: int) -> int:
    """Remove the temporary files of dead writers and, near the limit, the least recently used entries; returns the
    bytes that are left.

    Within a sixteenth of the limit, entries are removed until an eighth of it is free. The newest entry stays.
    """
    found = sorted(files(directory), key=lambda file: file.used)
    stale = time.time_ns() - _STALE_SECONDS * 10**9
    total = sum(file.size for file in found)
    enough = most - most // 8 if total > most - most // 16 else most
    for file in found[:-1]:
        if total > enough if file.complete else file.used < stale:
            file.path.unlink(missing_ok=True)
            total -= file.size
    return total
