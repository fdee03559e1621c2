"""docs/embedding.md: its program is compiled and run as it says, and as C++."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.library.c_library import build

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "embedding.md").read_text()
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are given: with the library in `adam`."""
    found = tmp_path_factory.mktemp("embedding")
    build(found / "adam", "adam")
    (program,) = re.findall(r"```c\n(.*?)```", TEXT, re.DOTALL)
    (found / "plane.c").write_text(program)
    return found


def printed(folder: Path, command: list[str]) -> str:
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./plane"], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_program_prints_what_it_says(folder: Path) -> None:
    command, expected = re.findall(r"^    (cc .*)\n    \./plane\n    (.*)$", TEXT, re.MULTILINE)[0]
    assert printed(folder, shlex.split(command)) == expected
    assert printed(folder, ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *shlex.split(command)[1:]]) == expected
    shared = ["cc", "plane.c", "-I", "adam", "adam/libadam.so", "-lm", "-Wl,-rpath,adam", "-o", "plane"]
    assert printed(folder, shared) == expected


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_header_is_of_cpp_too(folder: Path) -> None:
    source = '#include "adam.h"\nint main() { return adam_hyper_defaults().beta1 == 0.9 ? 0 : 1; }\n'
    (folder / "one.cpp").write_text(source)
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", "adam"]
    subprocess.run(["c++", *strict, "one.cpp", "-o", "one"], cwd=folder, check=True)
    assert subprocess.run(["./one"], cwd=folder, check=False).returncode == 0


def test_names_of_two_libraries_do_not_meet(folder: Path) -> None:
    build(folder / "other", "adam", "--name", "other", "--cpu", "native")
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", "other/libother.so"], cwd=folder, capture_output=True, text=True
    )
    names = [line.split()[-1] for line in symbols.stdout.splitlines() if " T " in line]
    assert names and all(name.startswith(("adam_", "other_")) for name in names)
