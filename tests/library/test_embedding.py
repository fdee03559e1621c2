"""docs/embedding.md and examples/embed: programs are compiled and run as they say, and print the same."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optgen.backends.step_struct import STEP_FIELDS
from tests.library.c_library import build
from tests.process import run

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "embedding.md").read_text()
EXAMPLES = ROOT / "examples" / "embed"
README = (EXAMPLES / "README.md").read_text()
EXPECTED = "2.000 -3.000 1.000, loss 0.000000\n"
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are given: the examples, with the library in `adam`."""
    found = tmp_path_factory.mktemp("embedding")
    shutil.copytree(EXAMPLES, found, dirs_exist_ok=True)
    build(found / "adam", "adam")
    return found


def printed(folder: Path, *command: str) -> str:
    done = run(["sh", "-c", " ".join(command)], timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_documents_have_the_program_and_what_it_prints() -> None:
    assert re.findall(r"```c\n(.*?)```", TEXT, re.DOTALL) == [(EXAMPLES / "plane.c").read_text()]
    assert f"\n    {EXPECTED}" in TEXT and f"\n    {EXPECTED}" in README
    assert "    cc plane.c -I adam adam/libadam.a -lm -pthread -o plane\n    ./plane\n" in TEXT


def test_documents_have_the_fields_of_steps() -> None:
    rows = [f"| `{field.c_type}{field.name}` | {field.doc} |" for field in STEP_FIELDS]
    assert "\n| field | |\n|---|---|\n" + "\n".join(rows) + "\n\n" in TEXT


@pytest.mark.parametrize("command", re.findall(r"`([^`\n]+(?:plane|\.so))`", README))
def test_each_program_prints_the_same(command: str, folder: Path) -> None:
    tool = shlex.split(command)[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    assert printed(folder, command.replace("python ", f"{sys.executable} ")).endswith(EXPECTED)


def test_the_program_with_a_matrix(folder: Path) -> None:
    build(folder / "muon", "muon")
    (command,) = re.findall(r"^    (cc matrix\.c .*)$", README, re.MULTILINE)
    assert printed(folder, command) == "loss 0.0000\n"
    about = (folder / "muon" / "muon.h").read_text(encoding="utf-8").partition("*/")[0]
    assert "cc program.c -I FOLDER FOLDER/libmuon.a -lm -pthread" in " ".join(about.split())


def test_the_program_is_c99_and_links_the_shared_library(folder: Path) -> None:
    strict = "cc -std=c99 -Wall -Wextra -Werror -pedantic plane.c -I adam adam/libadam.so -lm -Wl,-rpath,adam -o plane"
    assert printed(folder, strict, "&& ./plane") == EXPECTED


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_header_is_of_cpp_too(folder: Path) -> None:
    strict = "c++ -std=c++17 -Wall -Wextra -Werror -pedantic plane.cpp -I adam adam/libadam.a -lm -pthread -o plane"
    assert printed(folder, strict, "&& ./plane") == EXPECTED


def test_names_of_two_libraries_do_not_meet(folder: Path) -> None:
    build(folder / "other", "adam", "--name", "other", "--cpu", "native")
    listed = ["nm", "-D", "--defined-only", "other/libother.so"]
    symbols = subprocess.run(listed, cwd=folder, capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in symbols.splitlines() if " T " in line]
    assert names and all(name.startswith(("adam_", "other_")) for name in names)
