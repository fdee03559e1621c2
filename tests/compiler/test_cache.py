"""What the cache may never do: run what was not written by it, stand in the way, or forget."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import files, pipeline, serial
from optgen.model import Optimizer
from optgen.objectcode import cache
from tests.compiler.harness import SPECS, TORCH, python

LOAD = """
import numpy as np, optgen
for name in ("adam", "sgd"):
    optgen.load(name).init([np.ones(3, np.float32)])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(path))
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note of every parse and compilation."""
    notes: list[str] = []
    for owner, name in ((pipeline, "check"), (pipeline, "plan")):
        real = getattr(owner, name)

        def spy(*args: object, real: Callable[..., object] = real, name: str = name) -> object:
            notes.append(name)
            return real(*args)

        monkeypatch.setattr(owner, name, spy)
    return notes


def works(rule: optgen.UpdateRule) -> None:
    w, g = [np.ones(5, np.float32)], [np.ones(5, np.float32)]
    rule.bind(w, g, rule.init(w))(lr=0.5)
    assert np.allclose(w[0], 0.5)


def test_second_load_does_nothing_again(folder: Path, compiled: list[str]) -> None:
    works(optgen.load("sgd"))
    assert compiled == ["check", "plan"]
    works(optgen.load("sgd"))
    assert compiled == ["check", "plan"]
    works(optgen.load("sgd", momentum=0.9))  # another variant of a spec that is known
    assert compiled == ["check", "plan", "plan"]
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert not list(folder.glob("*.tmp"))


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _flip_code(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-len(data) // 3] ^= 1
    path.write_bytes(data)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _only_digest(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:32])


def _swap(path: Path) -> None:
    """Two files of the same cache, each sound in itself, under each other's names."""
    other = next(p for p in path.parent.iterdir() if p.name != path.name)
    data, others = path.read_bytes(), other.read_bytes()
    if path.name < other.name:  # once for the pair
        path.write_bytes(others)
        other.write_bytes(data)


def _a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [_truncate, _flip_code, _empty, _only_digest, _swap, _a_folder])
def test_damaged_entries_are_made_again(damage: Callable[[Path], None], folder: Path, compiled: list[str]) -> None:
    works(optgen.load("sgd"))
    good = {p.name: p.read_bytes() for p in folder.iterdir()}
    for name in good:
        damage(folder / name)
    compiled.clear()
    works(optgen.load("sgd"))
    assert compiled == ["check", "plan"]
    if damage is not _a_folder:
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == good


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # the path of a socket is short
        s.bind(path.name)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")


def _link_out(path: Path) -> None:
    target = path.parent.parent / f"{path.name}.bin"
    target.write_bytes(b"of another")
    path.symlink_to(target)


def _unreadable(path: Path) -> None:
    path.write_bytes(b"secret")
    path.chmod(0)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("odd", [_fifo, _socket, _endless, _device, _link_out, _unreadable, _huge])
def test_odd_things_are_made_again(odd: Callable[[Path], None], folder: Path, compiled: list[str]) -> None:
    """What stands where an entry should be, and no file of the cache's, is neither waited for nor read."""
    works(optgen.load("sgd"))
    good = {p.name: p.read_bytes() for p in folder.iterdir()}
    for name in good:
        (folder / name).unlink()
        odd(folder / name)
    compiled.clear()
    works(optgen.load("sgd"))
    assert compiled == ["check", "plan"]
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and not p.is_symlink()} == good
    assert all(p.read_bytes() == b"of another" for p in folder.parent.glob("*.bin"))


def test_odd_things_beside_the_entries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not counted, not removed, and nobody waits for them, though their names be those of entries."""
    for k, odd in enumerate((_fifo, _socket, _endless, Path.mkdir, _link_out)):
        odd(folder / (str(k) * 64))
    (folder / "notes.txt").write_text("mine" * 1000)
    before = set(folder.iterdir())
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", "2000")
    put("a" * 64, 1500)
    put("b" * 64, 1500)
    assert set(folder.iterdir()) - before == {folder / ("b" * 64)} and before < set(folder.iterdir())
    assert [file.path.name[0] for file in cache.clear(folder)] == ["b"]
    assert set(folder.iterdir()) == before


# ---------------------------------------------------------------- its size


def put(name: str, size: int) -> bytes:
    """An entry that is a file of so many bytes."""
    return cache.get(name, lambda: bytes(size - cache._DIGEST))


def name_of(k: int) -> str:
    return f"{k:064x}"


def kept(folder: Path) -> list[int]:
    """The numbers of the entries that are there."""
    return sorted(int(file.path.name, 16) for file in cache.files(folder) if file.complete)


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_what_was_not_used_for_longest_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", "80K")
    for k in range(8):
        put(name_of(k), 10_000)
        age(folder / name_of(k), 100_000 - k)
    used = (folder / name_of(1)).stat().st_mtime
    assert put(name_of(1), 0) == bytes(10_000 - cache._DIGEST)  # read
    assert time.time() - (folder / name_of(1)).stat().st_mtime < 60 < time.time() - used
    put(name_of(8), 10_000)
    assert kept(folder) == [1, 3, 4, 5, 6, 7, 8]  # down to seven eighths, 71680 bytes


def test_reading_is_not_writing(folder: Path) -> None:
    """That an entry is used is noted once an hour, and nobody looks at the others for that."""
    put(name_of(0), 1000)
    age(folder / name_of(0), 3000)
    before = (folder / name_of(0)).stat().st_mtime_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache.os, "scandir", None)
        put(name_of(0), 0)
    assert (folder / name_of(0)).stat().st_mtime_ns == before


def test_the_limit_holds_and_the_folder_is_seldom_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 128 << 10
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", str(most))
    looks: list[Path] = []
    real = cache._evict
    monkeypatch.setattr(cache, "_evict", lambda path, most: looks.append(path) or real(path, most))
    sizes = np.random.default_rng(0).integers(33, 300, 1500)
    for k, size in enumerate(sizes):
        put(name_of(k), int(size))
        if k % 50 == 49:
            total = sum(file.size for file in cache.files(folder))
            assert min(sizes[: k + 1].sum(), 0.8 * most) <= total <= most
    assert kept(folder)[-1] == len(sizes) - 1
    assert len(looks) < len(sizes) / 8, len(looks)


def test_an_entry_larger_than_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]) -> None:
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", "3000")
    put(name_of(1), 2900)
    assert len(put(name_of(2), 4000)) == 4000 - cache._DIGEST
    assert kept(folder) == [1]
    put(name_of(3), 2900)
    assert kept(folder) == [3]
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", "0")
    for _ in range(2):
        works(optgen.load("sgd"))
    assert compiled == ["check", "plan"] * 2 and kept(folder) == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", cache.LIMIT),
        ("0", 0),
        ("1000", 1000),
        (" 3k ", 3072),
        ("512M", 512 << 20),
        ("2 GiB", 2 << 30),
        ("1tb", 1 << 40),
    ],
)
def test_limit(text: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", text)
    assert cache.limit() == expected


@pytest.mark.parametrize("text", ["-1", "1.5G", "G", "lots", "10X", "1e9", "²", "9" * 30])
def test_bad_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", text)
    with pytest.raises(ValueError, match="OPTGEN_CACHE_SIZE must be a number of bytes, as 512M or 2G, not"):
        optgen.load("sgd")


def test_what_dead_writers_left_goes(folder: Path) -> None:
    old, new = (folder / f"{name_of(9)}.{host}-0123456789abcdef.tmp" for host in ("01234567", "89abcdef"))
    for path in (old, new):
        path.write_bytes(b"half an entry")
    age(old, 2 * 3600)
    age(new, 3000)  # less than an hour: its writer may be at work
    put(name_of(0), 1000)
    assert not old.exists() and new.exists()


def test_processes_share_a_small_cache(folder: Path) -> None:
    """Four processes write and read far more than there is room for: whatever they read is what was written."""
    code = """
import os, sys
from optgen.objectcode import cache
def data(k): return bytes([k % 256]) * (500 + 37 * k % 1500)
for turn in range(200):
    k = turn * int(sys.argv[1]) % 97
    assert cache.get(f"{k:064x}", lambda: data(k)) == data(k)
"""
    start = f"""
import subprocess, sys
jobs = [subprocess.Popen([sys.executable, "-c", {code!r}, str(k)]) for k in (1, 5, 7, 11)]
sys.exit(max(abs(job.wait()) for job in jobs))
"""
    done = python(start, OPTGEN_CACHE_DIR=str(folder), OPTGEN_CACHE_SIZE="40K")
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob(".*")) and sum(p.stat().st_size for p in folder.iterdir()) < 60 << 10
    assert all(cache._read(path, 40 << 10) is not None for path in folder.iterdir())


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder called ~ is made; a ~ that no shell has seen is the user's home."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPTGEN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "expanduser", lambda path: path)
        assert cache.folder() is None and not list(tmp_path.iterdir())
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPTGEN_CACHE_DIR", "~/kept")
    assert cache.folder() == tmp_path / "home" / "kept"


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o704])
def test_folder_open_to_others_is_not_used(mode: int, folder: Path, compiled: list[str]) -> None:
    folder.chmod(mode)
    for _ in range(2):
        works(optgen.load("sgd"))
    assert compiled == ["check", "plan"] * 2 and not list(folder.iterdir())


def test_link_and_foreign_folder_are_not_used(
    folder: Path, tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(link))
    assert cache.folder() is None
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(folder))
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert cache.folder() is None
    works(optgen.load("sgd"))
    assert compiled == ["check", "plan"] and not list(folder.iterdir())


def test_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "open", full, raising=False)
    works(optgen.load("sgd"))
    assert not list(folder.iterdir())
    monkeypatch.setenv("OPTGEN_CACHE_DIR", "/proc/no/such/folder")
    works(optgen.load("sgd"))


def test_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        optgen.load("sgd")
    assert not list(folder.iterdir())


def test_concurrent_writers(folder: Path) -> None:
    code = f"""
import os, subprocess, sys
children = [subprocess.Popen([sys.executable, "-c", {LOAD!r}]) for _ in range(4)]
sys.exit(max(child.wait() for child in children))
"""
    assert python(code, OPTGEN_CACHE_DIR=str(folder)).returncode == 0
    assert not list(folder.glob("*.tmp"))
    for path in folder.iterdir():
        assert cache._read(path, cache.LIMIT) is not None
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("name", [*SPECS, *TORCH])
def test_model_survives_serialisation(name: str) -> None:
    spec = (SPECS | TORCH)[name]
    again = serial.loads(serial.dumps(spec), Optimizer)
    assert (again, again.source, again.warnings) == (spec, spec.source, spec.warnings)
    assert [repr(e) for e in again.update] == [repr(e) for e in spec.update]  # spans too


def test_import_is_light() -> None:
    code = "import sys, optgen; print(sorted({'sympy', 'mpmath', 'runtime'} & set(sys.modules)))"
    assert python(code).stdout == "[]\n"
    python(LOAD)
    late = {"sympy", "optgen.lang.grammar", "optgen.backends.cpu"}
    warm = f"{LOAD}\nimport sys; print(sorted({late} & set(sys.modules)))"
    assert python(warm).stdout == "[]\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_wait_is_told_on_a_terminal(tmp_path: Path, terminal: bool) -> None:
    """Once, and not where all is in the cache."""
    code = f"""
import os, threading
master, slave = os.openpty()
os.dup2(slave if {terminal} else os.open({str(tmp_path / "log")!r}, os.O_CREAT | os.O_WRONLY), 2)
import numpy as np, optgen
from optgen.objectcode import waiting
waiting.DELAY = 0.02
for spec in ("sgd", "lion"):
    optgen.load(spec).bind([np.ones(3, np.float32)], [np.ones(3, np.float32)])()
os.write(slave, b".\\n")
with os.fdopen(master) as lines:
    print(*iter(lines.readline, ".\\n"), threading.active_count())
"""
    line = "optgen: compiling kernels; later processes find them in the cache\n "
    for expected in ("" if not terminal else line, ""):
        done = python(code, OPTGEN_CACHE_DIR=str(tmp_path / "cache"))
        assert (done.returncode, done.stdout) == (0, f"{expected}1\n"), done.stderr
    assert terminal or not (tmp_path / "log").read_text()
