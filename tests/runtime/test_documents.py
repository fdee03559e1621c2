"""What the documents say is so: their code runs and prints what it says, their links and tables are true."""

from __future__ import annotations

import ast
import operator
import re
import sys
from pathlib import Path

import pytest

import runtime as mx
from tests.process import run

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "from-mxnet.md").read_text("utf-8")
KERNELS = (ROOT / "docs" / "kernels.md").read_text("utf-8")
PYTORCH = (ROOT / "docs" / "pytorch.md").read_text("utf-8")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/*/README.md", "benchmarks/*.md", "generated/*.md")
    for path in ROOT.glob(pattern)
)


FORKS = """
import importlib, os, runpy, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
for folder in os.listdir():
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for descriptor, name in ((1, "output"), (2, "errors")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
        runpy.run_path("script.py", run_name="__main__")
        sys.exit()
    with open(f"{folder}/status", "w") as file:
        file.write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
"""Runs the scripts in the folders that are here, each in a process and a folder of its own; all of these processes
begin with the modules that are named, which are so imported once (`torch._dynamo` else by each of PyTorch's own)."""


@pytest.mark.parametrize(
    ("text", "modules"),
    [(GUIDE, ["runtime"]), (KERNELS, ["optgen"]), (PYTORCH, ["torch._dynamo", "optgen.torch"])],
    ids=["from-mxnet", "kernels", "pytorch"],
)
def test_code_prints_what_its_comments_say(text: str, modules: list[str], tmp_path: Path) -> None:
    found = re.findall(r"```python\n(?!# needs )(.*?)```(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    scripts, printed = zip(*found, strict=True)
    for number, script in enumerate(scripts):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "script.py").write_text(script)
    env = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}  # threads of PyTorch would spin while they wait
    done = run([sys.executable, "-c", FORKS, *modules], timeout=60 * len(scripts), cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    for number, script in enumerate(scripts):
        status, output, errors = ((tmp_path / str(number) / f).read_text() for f in ("status", "output", "errors"))
        assert status == "0", f"{script}\n{errors}"
        said = re.findall(r"^ *print\(.*\)  # (.*)$", script, re.MULTILINE) or printed[number].splitlines()
        assert said and output.splitlines() == said, script


def test_what_is_not_there_says_so() -> None:
    table = GUIDE.partition("## What is not")[2]
    names = [name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall("`(.*?)`", cell)]
    assert names
    for name in names:
        module, _, last = name.rpartition(".")
        with pytest.raises(AttributeError, match=rf"runtime[.\w]* does not provide '{last}': "):
            getattr(operator.attrgetter(module)(mx) if module else mx, last)


def test_what_is_said_to_be_missing_is() -> None:
    table = GUIDE.partition("## What is there")[2]
    for module in ("nd", "nd.contrib"):
        (absent,) = re.findall(rf"^\| `{module}` \| .*? \| (.*) \|$", table, re.MULTILINE)
        names = re.findall(r"`(\w+)`", absent)
        assert names and not [name for name in names if hasattr(operator.attrgetter(module)(mx), name)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text("utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith(("http", "#"))]
    assert not [link for link in links if not ((ROOT / document).parent / link.partition("#")[0]).exists()]


# ---------------------------------------------------------------- the tree in CONTRIBUTING.md, and that of gluon

SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("    runtime/\n")[2].partition("\n## ")[0]
LINE = re.compile(r"^ {4,6}([\w.]+/?) +\S", re.MULTILINE)
LINES = [
    line
    for name in LINE.findall(SECTION)
    for line in (name, *(f"gluon/{part}" for part in LINE.findall(mx.gluon.__doc__ or "") if name == "gluon/"))
]
TREE = [f"runtime.{line.removesuffix('.py').rstrip('/').replace('/', '.')}" for line in LINES if line != "gluon/"]
BESIDES = {f"runtime.{name}" for name in re.findall(r"`(\w+)`", SECTION.partition("Besides")[2])}


def parts(folder: Path) -> set[str]:
    """The modules and packages in a folder, in full."""
    found = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return {".".join((*folder.relative_to(ROOT).parts, name)) for name in found - {"__init__"}}


def test_the_tree_is_that_of_the_files() -> None:
    assert all((ROOT / "runtime" / line).exists() for line in LINES)
    assert set(TREE) | BESIDES | {"runtime.gluon"} == parts(ROOT / "runtime") | parts(ROOT / "runtime" / "gluon")


def imported(module: str) -> set[str]:
    """What a part imports when it is itself imported."""
    place = ROOT.joinpath(*module.split("."))
    names = set()
    for path in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("runtime"):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_a_line_imports_what_is_above_it() -> None:
    for line, module in enumerate(TREE):
        below = tuple(f"{later}." for later in TREE[line + 1 :])
        assert not [name for name in imported(module) if f"{name}.".startswith(below)], module


def test_the_files_that_contributing_names_are_there() -> None:
    documents = ("CONTRIBUTING.md", "docs/extending.md", "docs/testing.md", "docs/walks.md")
    text = "\n".join((ROOT / document).read_text("utf-8") for document in documents)
    for path in set(re.findall(r"`(\w+/[\w./]*)`", text)):
        inside = (ROOT / package for package in ("optgen", "runtime", "tests"))
        assert (ROOT / path).exists() or any(True for folder in inside for _ in folder.rglob(path)), path
