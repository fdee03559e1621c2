"""The folder of a checkpoint: generations of files, of which the file `latest` names the current one.

The files of a generation are written, each by whoever has its content, before `latest` is replaced by one that names
them and their checksums. So a generation is there in whole or not at all, whenever the writers are killed. The one
before is kept; what is older, and what a killed writer left, is removed.

The file `lock` is locked by the process that writes `latest`, as long as that lives, and says which one it is. A hard
link in its place is locked, and not written to.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core import files

try:
    import fcntl
except ImportError:  # Windows has other locks
    fcntl = None

FORMAT, VERSION = "runtime.checkpoint", 1
_TEMPORARY = r"\.(?:[0-9a-f]{8}-)?[0-9a-f]{16}\.tmp"
"""How temporary files end (`optgen.files`), those of earlier versions, too."""
_OURS = re.compile(rf"(\d{{6,}})-(?:rank\d+|states|servers)[\w-]*\.safetensors({_TEMPORARY})?|latest{_TEMPORARY}")
_HOLDER = re.compile(rb"(process \d+ on [^\n]*)?")
"""What `lock` holds."""
_LOCK_WAIT_SECONDS = 10.0
"""A process waits so long for another one that holds the lock and may be about to end."""
_TAKEN: dict[Path, int] = {}
"""The lock files that this process holds, open, by path. None is ever closed: that would release the lock."""


@dataclass(frozen=True)
class Generation:
    """What `latest` says: the number of the generation, how many ranks wrote it, and its files' checksums by name."""

    number: int
    ranks: int
    checksums: Mapping[str, str]


class Folder:
    """A folder, which is made if there is none; all ranks see the same one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._latest = self.path / "latest"

    def take(self) -> None:
        """Have the folder until this process ends; MXNetError if another one has it, or if `lock` is no file of ours.

        Where files have no locks, and where the folder can only be read, all processes have it.
        """
        path = self.path.resolve() / "lock"
        if fcntl is None or path in _TAKEN:
            return
        file = _lock_file(path)
        if file is None:
            return
        deadline = time.monotonic() + _LOCK_WAIT_SECONDS
        while not _locked(file):
            if time.monotonic() > deadline:
                holder = os.pread(file, 200, 0).decode(errors="replace") if _has_one_name(file) else "another process"
                raise MXNetError(
                    f"the checkpoint in '{self.path}' is in use by {holder}: wait for its end, or choose another folder"
                )
            time.sleep(0.05)
        _TAKEN[path] = file
        if not _has_one_name(file):  # a hard link, whose content may be somebody's
            return
        with contextlib.suppress(OSError):  # a disk may be full
            os.ftruncate(file, 0)
            os.pwrite(file, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)

    def latest(self) -> Generation | None:
        """The current generation; None if there is none. MXNetError for a file that is none of ours."""
        if self._latest.exists() and not self._latest.is_file():  # a pipe would never end
            raise MXNetError(f"'{self._latest}' is no file, as that of a checkpoint is; remove it")
        try:
            content = json.loads(self._latest.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise MXNetError(f"'{self._latest}' is damaged, or nothing that a checkpoint wrote: {error}") from None
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
            raise MXNetError(
                f"'{self._latest}' is nothing that this library, version {VERSION}, wrote for a checkpoint"
            )
        number, ranks, checksums = (content.get(name) for name in ("generation", "ranks", "files"))
        counts = isinstance(number, int) and isinstance(ranks, int) and min(number, ranks) > 0
        if not counts or not isinstance(checksums, dict):
            raise MXNetError(f"'{self._latest}' is damaged: it must name a generation, its ranks and its files")
        return Generation(number, ranks, checksums)

    def file(self, number: int, what: str) -> Path:
        """The file of a generation that holds `what`, in letters, digits and '-'."""
        return self.path / f"{number:06}-{what}.safetensors"

    def new_file(self, number: int, what: str) -> Path:
        """The path of a file that is to be written: no link in its place."""
        return files.without_link(self.file(number, what))

    def read(self, generation: Generation, what: str) -> tuple[dict[str, np.ndarray], Any]:
        """The arrays and the header of a file that `files.save` wrote; MXNetError, naming it, if it is not that one."""
        path = self.checked(generation, what)
        return files.parse(path.read_bytes(), f"'{path}'")

    def header(self, number: int, what: str) -> Any:
        """The header alone of a file that `files.save` wrote, of a generation that may not be complete."""
        return json.loads(_metadata(self.file(number, what))["header"])

    def checked(self, generation: Generation, what: str) -> Path:
        """The path of a file that says it is the one which the generation was completed with: whoever reads it compares
        its content with the checksum that it has of it."""
        path = self.file(generation.number, what)
        expected = generation.checksums.get(path.name)
        if expected is None:
            raise MXNetError(
                f"'{self._latest}' names no file '{path.name}': is the checkpoint of another kind of kvstore?"
            )
        if _metadata(path)["sha256"] != expected:
            raise MXNetError(f"'{path}' is not the file that the checkpoint was completed with, but another")
        return path

    def complete(self, number: int, ranks: int, whats: Sequence[str]) -> None:
        """Make a generation, all of whose files are there, the current one, and remove those before the last."""
        before = self.latest()
        paths = [self.file(number, what) for what in whats]
        content = {
            "format": FORMAT,
            "version": VERSION,
            "generation": number,
            "ranks": ranks,
            "files": {path.name: _metadata(path)["sha256"] for path in paths},
        }
        files.write(self._latest, json.dumps(content, indent=1).encode(), follow=False)
        _sync(self.path)
        wanted = {number, before.number if before else 0}
        self._remove(lambda n: n not in wanted)

    def missing(self, number: int, whats: Sequence[str]) -> list[str]:
        """Those of the files of a generation that are not there."""
        return [what for what in whats if not self.file(number, what).exists()]

    def remove_incomplete(self) -> None:
        """Remove what killed writers have left. There must be no others."""
        latest = self.latest()
        current = latest.number if latest else 0
        self._remove(lambda n: n > current)

    def _remove(self, unwanted: Callable[[int], bool]) -> None:
        """Remove the files of unwanted generations, finished or not: a late writer of a wanted one may still be at it.

        `latest` has no other writer than the process that removes.
        """
        for path in self.path.iterdir():
            match = _OURS.fullmatch(path.name)
            is_whole = match is not None and match[1] is not None and match[2] is None
            if match and (match[1] is None or unwanted(int(match[1]))) and not (is_whole and not _is_ours(path)):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()


def _lock_file(path: Path) -> int | None:
    """The lock file, open; None where it cannot be written to. MXNetError for one that no checkpoint wrote."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise MXNetError(f"'{path}' is no file, as that of a checkpoint is; remove it") from None
        return None
    regular = stat.S_ISREG(os.fstat(file).st_mode)
    if regular and _HOLDER.fullmatch(os.pread(file, 1000, 0)):
        return file
    os.close(file)
    raise MXNetError(f"'{path}' is nothing that a checkpoint wrote; choose another folder, or remove it")


def _has_one_name(file: int) -> bool:
    return os.fstat(file).st_nlink == 1


def _locked(file: int) -> bool:
    """Lock a file, unless another process has. Where the file system has no locks, there are no other processes."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _metadata(path: Path) -> dict[str, str]:
    """What a safetensors file that this library wrote says of its content: `header`, and the checksum, `sha256`."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > path.stat().st_size:
                raise ValueError("it is cut off")
            metadata = json.loads(file.read(size))["__metadata__"]
            return {name: str(metadata[name]) for name in ("header", "sha256")}
    except FileNotFoundError:
        raise MXNetError(
            f"'{path}' is missing; the folder of a checkpoint must be one that all ranks see, and be kept in whole"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MXNetError(f"'{path}' is damaged, or nothing that a checkpoint wrote: {error!r}") from None


def _is_ours(path: Path) -> bool:
    """Whether a file of a finished name is one that a checkpoint wrote: no other is ever removed."""
    try:
        return bool(_metadata(path))
    except (MXNetError, OSError):
        return False


def _sync(folder: Path) -> None:
    """Let the names in a folder survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
