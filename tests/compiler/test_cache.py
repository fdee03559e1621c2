"""What the cache may never do: run what was not written by it, stand in the way, or forget."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import pipeline, serial
from optgen.execute import cache
from tests.compiler.harness import SPECS, python

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
    assert not list(folder.glob(".*"))


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

    monkeypatch.setattr(cache.tempfile, "mkstemp", full)
    works(optgen.load("sgd"))
    assert not list(folder.iterdir())
    monkeypatch.setenv("OPTGEN_CACHE_DIR", "/proc/no/such/folder")
    works(optgen.load("sgd"))


def test_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.os, "replace", interrupted)
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
    assert not list(folder.glob(".*"))
    for path in folder.iterdir():
        assert cache._read(path) is not None
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("name", SPECS)
def test_model_survives_serialisation(name: str) -> None:
    spec = SPECS[name]
    again = serial.loads(serial.dumps(spec))
    assert (again, again.source, again.warnings) == (spec, spec.source, spec.warnings)
    assert [repr(e) for e in again.update] == [repr(e) for e in spec.update]  # spans too


def test_import_is_light() -> None:
    code = "import sys, optgen; print(sorted({'sympy', 'lark', 'mpmath', 'runtime'} & set(sys.modules)))"
    assert python(code).stdout == "[]\n"
    python(LOAD)
    warm = f"{LOAD}\nimport sys; print(sorted({{'sympy', 'lark', 'optgen.backends.cpu'}} & set(sys.modules)))"
    assert python(warm).stdout == "[]\n"
