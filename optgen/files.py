"""Files that are replaced in one step, and what killed writers have left of them.

A file is written beside its place, as NAME.KERNEL-RANDOM.tmp, and moved there. The writer has the temporary file locked
for as long as it lives, whatever ends it. So a lock that can be had tells that the writer is dead, but only among
processes of one running kernel: other machines that see the folder may know nothing of its locks, and numbers of
processes mean nothing in another container. KERNEL says which kernel that is; temporary files of others are left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY = r"\.([0-9a-f]{8})-[0-9a-f]{16}\.tmp"
"""How the names of temporary files end; the group is the kernel."""
_LONGEST = 100
"""Bytes of the name that those begin with: a system may allow 143 in all."""


@contextmanager
def replacing(
    path: str | os.PathLike[str], *, mode: int = 0o666, durable: bool = False, clear: bool = True, follow: bool = True
) -> Iterator[BinaryIO]:
    """`with replacing(path) as file:` what is written to `file` is at `path` once the block has ended without an error.

    Until then, and after an error, the file that was there stays. Its owner, group and mode are kept, as far as the
    system lets; where a symbolic link leads, there the file is replaced. A pipe or a device is written to as it is.
    `mode`: that of a new file, before the umask. `durable`: the content survives a failure of power. `clear`: what
    killed writers have left in the folder is removed, for which all its names are read. `follow=False`: for names that
    the user did not choose, in a folder that others may have filled: a link, a pipe or a device is itself replaced.

    Raises OSError that names `path`.
    """
    with _naming(path):
        before = _status(path, follow)
        regular = before is None or stat.S_ISREG(before.st_mode)
        target = Path(os.path.realpath(path) if follow else os.path.abspath(path))
        file = _temporary(target, mode if before is None else 0o600) if regular else _as_it_is(path)
        if not regular:
            with file:
                yield file
            return
        temporary = file.name
        try:
            if clear:
                _clear(target.parent)
            with file:
                yield file
                file.flush()
                _keep(file, before)
                if durable:
                    os.fsync(file.fileno())
                os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have errors name `path`, and not a temporary file or, as when a disk is full, nothing."""
    try:
        yield
    except OSError as error:
        own = error.filename is None or re.search(f"{TEMPORARY}$", str(error.filename))
        # The block may raise what is no error of files, as of a connection, whose class and words are its own.
        if error.errno and own and type(error) is type(OSError(error.errno, "")) and not _of_connections(error):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _of_connections(error: OSError) -> bool:
    return isinstance(error, (ConnectionError, TimeoutError)) and not isinstance(error, BrokenPipeError)


def _status(path: str | os.PathLike[str], follow: bool) -> os.stat_result | None:
    """What is at `path`, or where it leads; None for nothing, and for what is replaced without a look at it."""
    try:
        found = os.stat(path, follow_symlinks=follow)
    except FileNotFoundError:
        return None
    return found if follow or stat.S_ISREG(found.st_mode) else None


def _as_it_is(path: str | os.PathLike[str]) -> BinaryIO:
    """A pipe or a device, opened; a pipe that nobody reads is an error, and not waited for."""
    file = open(path, "wb", opener=lambda name, flags: os.open(name, flags & ~os.O_CREAT | os.O_NONBLOCK))  # noqa: SIM115
    os.set_blocking(file.fileno(), True)
    return file


def _temporary(target: Path, mode: int) -> BinaryIO:
    """A new file beside the target, locked."""
    begin = os.fsdecode(os.fsencode(target.name)[:_LONGEST])
    while True:
        name = target.with_name(f"{begin}.{_kernel()}-{os.urandom(8).hex()}.tmp")
        file = open(name, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
        # Until it is locked, another writer may take it for one that a dead writer has left, and remove it.
        if _locked(file.fileno()) is not False and name.exists():
            return file
        file.close()
        name.unlink(missing_ok=True)


def _keep(file: BinaryIO, before: os.stat_result | None) -> None:
    """Give a file owner, group and mode of the one that it replaces. Until then only its writer can read it."""
    if before is None:
        return
    now, mode = os.fstat(file.fileno()), stat.S_IMODE(before.st_mode) & 0o777
    if now.st_uid != before.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(file.fileno(), before.st_uid, -1)
    if now.st_gid != before.st_gid:
        try:
            os.fchown(file.fileno(), -1, before.st_gid)
        except OSError:
            mode &= 0o707  # what the group was allowed, another group is not
    os.fchmod(file.fileno(), mode)


# ---------------------------------------------------------------- what is left


def _clear(folder: Path) -> None:
    """Remove the temporary files of writers on this machine that are dead."""
    ours = re.compile(f".*{TEMPORARY}", re.DOTALL)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = ours.fullmatch(entry.name) if entry.name.endswith(".tmp") else None
            if match and match[1] == _kernel():
                with contextlib.suppress(OSError):  # it is gone by now, or another user's
                    _remove_if_dead(entry.path)


def _remove_if_dead(path: str) -> None:
    """Remove a temporary file that no writer has locked; OSError for one that cannot be opened."""
    file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _locked(file):
            os.unlink(path)
    finally:
        os.close(file)


def _locked(file: int) -> bool | None:
    """Lock an open file for as long as it is open; False where another one has the lock, None where there are none."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@functools.cache
def _kernel() -> str:
    """Which running kernel this is: all its processes see each other's locks, in whatever container they are."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        name = os.uname().nodename
    return hashlib.sha256(name.encode()).hexdigest()[:8]
