"""Files that are replaced in one step: what is kept of the old one, and what killed writers leave."""

from __future__ import annotations

import os
import pty
import random
import secrets
import signal
import ssl
import stat
import sys
import tty
from pathlib import Path

import pytest

from optgen import files
from tests.process import started

ROOT = Path(__file__).parents[1]
WRITER = """
import sys, time
from optgen import files
with files.replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    time.sleep(60)
"""
FOREVER = """
import sys
from optgen import files
for number in range(10**9):
    with files.replacing(sys.argv[1]) as file:
        file.write(b"%d " % number * 5000)
    print(number, flush=True)
"""


def write(path: Path | str, content: bytes = b"new") -> None:
    with files.replacing(path) as file:
        file.write(content)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o444])
def test_the_mode_is_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "states"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode and path.read_bytes() == b"new"


def test_nobody_else_reads_what_replaces_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "states"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with files.replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_a_new_file_is_as_the_users_others(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    write(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_group_that_cannot_be_kept_is_allowed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, status = tmp_path / "states", os.stat

    def of_another_group(*args: object, **kwargs: object) -> os.stat_result:
        fields = list(status(*args, **kwargs))
        fields[stat.ST_GID] += 1
        return os.stat_result(fields)

    def refused(*args: object) -> None:
        raise PermissionError(1, "not permitted")

    path.write_bytes(b"old")
    path.chmod(0o664)
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", of_another_group)
        patch.setattr(os, "fchown", refused)
        write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and path.read_bytes() == b"new"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    links = {"relative": "disk/a", "second": "relative", "to nothing yet": tmp_path / "disk" / "b"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
        write(tmp_path / name, name.encode())
        assert (tmp_path / name).is_symlink() and (tmp_path / name).read_bytes() == name.encode()
    assert names(tmp_path / "disk") == {"a", "b"} and names(tmp_path) == {*links, "disk"}
    assert (tmp_path / "disk" / "a").read_bytes() == b"second"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="round"):
        write(tmp_path / "round")


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    first, second = pty.openpty()  # a device of this test's own: what replaces one would replace it for all programs
    tty.setraw(second)
    device = tmp_path / "device"
    device.symlink_to(os.ttyname(second))
    write(device)
    assert os.read(first, 10) == b"new" and stat.S_ISCHR(device.stat().st_mode)
    device.unlink()
    os.close(first)
    os.close(second)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe"):  # nobody reads
        write(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe)
    assert os.read(reader, 10) == b"new" and names(tmp_path) == {"pipe"}
    os.close(reader)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "nowhere" / "states")
    assert caught.value.filename == str(tmp_path / "nowhere" / "states") and caught.value.filename2 is None
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        write(tmp_path)
    with pytest.raises(OSError) as caught, files.replacing(tmp_path / "states"):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path / "states")
    with pytest.raises(FileNotFoundError, match="something else"), files.replacing(tmp_path / "states"):
        Path("something else").read_bytes()
    for error in (ssl.SSLError(1, "bad record"), ConnectionResetError(104, "reset by peer")):
        with pytest.raises(OSError) as caught, files.replacing(tmp_path / "states"):
            raise error
        assert caught.value is error and caught.value.filename is None
    with pytest.raises(KeyboardInterrupt), files.replacing(tmp_path / "states"):
        raise KeyboardInterrupt
    assert not names(tmp_path)


def test_the_longest_names(tmp_path: Path) -> None:
    for name in ("n" * 255, "ü" * 127, os.fsdecode(b"\xff" * 255)):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"


# ---------------------------------------------------------------- what is left


def test_what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "states"
    write(path, b"old")
    with started([sys.executable, "-c", WRITER, path], timeout=60, cwd=ROOT) as program:
        program.line("half")
        (temporary,) = names(tmp_path) - {"states"}
        program.signal(signal.SIGSTOP)  # it is no less alive
        write(path)
        write(tmp_path / "another")
        assert names(tmp_path) == {"states", "another", temporary}
        program.signal(signal.SIGKILL)
        program.wait()
    assert (tmp_path / temporary).read_bytes() == b"half" and path.read_bytes() == b"new"
    write(tmp_path / "another")
    assert names(tmp_path) == {"states", "another"}


def test_whenever_it_is_killed_the_file_is_whole(tmp_path: Path) -> None:
    path, chance = tmp_path / "numbers", random.Random(os.urandom(8))
    for _ in range(4):
        with started([sys.executable, "-c", FOREVER, path], timeout=60, cwd=ROOT) as program:
            program.line(str(chance.randrange(50)))
            program.signal(signal.SIGKILL)
            program.wait()
        content = path.read_bytes().split()
        assert len(content) == 5000 and len(set(content)) == 1
        write(path)
        assert names(tmp_path) == {"numbers"}


def test_only_what_is_certainly_left_is_removed(tmp_path: Path) -> None:
    here, elsewhere = files._kernel(), "0" * 8
    assert here != elsewhere

    def left(kernel: str, name: str = "states") -> str:
        return f"{name}.{kernel}-{secrets.token_hex(8)}.tmp"

    gone = {left(here), left(here, "of another\nname")}
    kept = {left(elsewhere), f"states.{secrets.token_hex(8)}.tmp", "states.tmp", "mine.tmp"}
    for name in gone | kept:
        (tmp_path / name).write_bytes(b"half")
    folder, link, pipe = left(here), left(here), left(here)
    (tmp_path / folder).mkdir()
    (tmp_path / link).symlink_to("mine.tmp")
    os.mkfifo(tmp_path / pipe)
    write(tmp_path / "states")
    assert names(tmp_path) == {"states", folder, link, pipe, *kept}


def test_a_writer_that_another_takes_for_dead_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the making of its temporary file and the lock, another writer has locked it, or removed it."""
    locked, tries = files._locked, []

    def late(file: int) -> bool | None:
        tries.append(file)
        if len(tries) == 1:
            return False
        if len(tries) == 2:
            os.unlink(os.readlink(f"/proc/self/fd/{file}"))
        return locked(file)

    monkeypatch.setattr(files, "_locked", late)
    write(tmp_path / "states")
    assert len(tries) > 2 and names(tmp_path) == {"states"}


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = f"states.{files._kernel()}-{secrets.token_hex(8)}.tmp"
    (tmp_path / left).write_bytes(b"half")
    monkeypatch.setattr(files.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "not supported")))
    write(tmp_path / "states")
    assert names(tmp_path) == {"states", left}


# ---------------------------------------------------------------- names that no user chose


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_that_is_not_followed_is_replaced(dangling: bool, tmp_path: Path) -> None:
    target, path = tmp_path / "precious", tmp_path / "link"
    if not dangling:
        target.write_bytes(b"old")
    path.symlink_to(target)
    with files.replacing(path, follow=False) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and not path.is_symlink()
    assert not target.exists() if dangling else target.read_bytes() == b"old"


def test_a_pipe_that_is_not_followed_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with files.replacing(tmp_path / "pipe", follow=False) as file:
        file.write(b"new")
    assert (tmp_path / "pipe").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "pipe").stat().st_mode) == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
