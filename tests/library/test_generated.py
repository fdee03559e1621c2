"""generated/example is what `optgen build` writes today; `pytest --update-golden` writes it anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from optgen.backends.target import llvm_version
from tests.library.c_library import build

EXAMPLE = Path(__file__).parents[2] / "generated" / "example"
COMMAND = ("lion", "--cpu", "x86-64-v3", "--triple", "x86_64-linux-gnu")
SUFFIXES = (".h", ".json", ".ll", ".ptx")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def texts(folder: Path) -> dict[str, str]:
    """The files that people read, by their paths, without what another LLVM writes in another way."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and (path.suffix != ".ptx" or written_by() == llvm_version()):
            text = path.read_text()
            is_manifest = path.suffix == ".json"
            name = str(path.relative_to(folder))
            found[name] = json.dumps(json.loads(text) | {"llvm": ""}) if is_manifest else text
    return found


def written_by() -> str:
    """The LLVM that wrote the committed files."""
    return str(json.loads((EXAMPLE / "lion.json").read_text())["llvm"])


def test_it_is_what_build_writes(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "cc")  # the machine's own is good enough, as no object code is compared
    build(tmp_path, *COMMAND)
    build(tmp_path, *COMMAND, "--target", "cuda")
    if request.config.getoption("--update-golden"):
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        for path in tmp_path.rglob("*"):
            if path.suffix in SUFFIXES:
                place = EXAMPLE / path.relative_to(tmp_path)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)
        return
    assert texts(tmp_path) == texts(EXAMPLE)
