"""Coverage by test: which tests run which blocks of code. A plugin for pytest, and what makes Python note blocks.

A block is a run of statements without branches: a function's body, a branch, the body of a loop. While modules of
optgen and runtime are imported, a statement is put at the start of each that notes it. Programs that tests start note
theirs, too, by the `sitecustomize.py` beside this file. What a compiled kernel runs is noted by the call of it.

`python -m pytest -p tests.mutants.touched`, with the environment variable TOUCHED naming a folder, writes a line
for each test into a file of each process, which `read` reads.
"""

from __future__ import annotations

import ast
import atexit
import importlib.machinery
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("optgen", "runtime")
_MARKS = "_touched_marks_"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_tables: dict[str, tuple[bytearray, list[str]]] = {}
"""For each file that was imported, a byte for each of its blocks, and their names."""
_BEGAN = time.time_ns()
"""In the name of this process's file, as numbers of processes come again."""
_numbers: dict[str, int] = {}
"""The blocks that ran in this process, each with the number that stands for it in the file."""


@dataclass(frozen=True)
class Block:
    """The statements `body`, by the function they are in and their number there: lines above may change."""

    name: str
    first: int
    last: int
    body: list[ast.stmt]


def blocks(tree: ast.Module) -> list[Block]:
    """The blocks of a module but for those that run when it is imported."""
    found: list[Block] = []
    _find_blocks(tree, "", found)
    return found


def _find_blocks(node: ast.AST, function: str, found: list[Block], inside: bool = False) -> None:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if inside and isinstance(body, list) and body and not isinstance(node, ast.ClassDef):
            # Defaults and what is on one line with `def` are the function's.
            first = node.lineno if isinstance(node, _FUNCTIONS) and name == "body" else body[0].lineno
            found.append(Block(f"{function}:{len(found)}", first, body[-1].end_lineno or first, body))
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, _FUNCTIONS)
        path = f"{function}.{child.name}".lstrip(".") if isinstance(child, (*_FUNCTIONS, ast.ClassDef)) else function
        own: list[Block] = []  # those of a function are numbered from 0
        _find_blocks(child, path, own if is_function else found, inside or is_function)
        found += own


def block_of(text: str, line: int) -> str | None:
    """The name of the innermost block that a line is in; None for a line that runs when the module is imported."""
    around = [block for block in blocks(ast.parse(text)) if block.first <= line <= block.last]
    return min(around, key=lambda block: block.last - block.first).name if around else None


class _Loader(importlib.machinery.SourceFileLoader):
    """One that puts marks into what it compiles. `sys.pycache_prefix` keeps the result apart from others' files."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = ast.parse(data)
        found = blocks(tree)
        for i, block in enumerate(found):
            mark = ast.parse(f"{_MARKS}[{i}] = 1").body[0]
            for node in ast.walk(mark):
                if isinstance(node, (ast.stmt, ast.expr)):
                    ast.copy_location(node, block.body[0])
            block.body.insert(_docstring(block.body), mark)
        names = [block.name for block in found]
        start = f"import sys as {_MARKS}; {_MARKS} = {_MARKS}.modules[{__name__!r}].marks({str(path)!r}, {names})"
        tree.body[_after_future(tree.body) : 0] = ast.parse(start).body
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)


def _docstring(body: list[ast.stmt]) -> int:
    return int(isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))


def _after_future(body: list[ast.stmt]) -> int:
    places = [i for i, x in enumerate(body) if isinstance(x, ast.ImportFrom) and x.module == "__future__"]
    return places[-1] + 1 if places else _docstring(body) if body else 0


def marks(path: str, names: list[str]) -> bytearray:
    """What a module that is imported notes its blocks in."""
    table = _tables[path] = bytearray(len(names)), names
    return table[0]


class _Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def begin() -> None:
    """Have all that is imported from now on note its blocks."""
    sys.pycache_prefix = str(Path(os.environ["TOUCHED"]) / "pycache")
    os.register_at_fork(after_in_child=_numbers.clear)  # the child writes a file of its own
    sys.meta_path.insert(0, _Finder)


def collected() -> list[str]:
    """The blocks that ran since the last call, as `file:function:number`."""
    found = []
    for path, (table, names) in list(_tables.items()):
        if any(table):
            file = os.path.relpath(path, ROOT)
            found += [f"{file}:{names[i]}" for i, mark in enumerate(table) if mark]
            table[:] = bytes(len(table))
    return found


def write(test: str, seconds: float) -> None:
    """Write a line: the test, its time, the blocks that have no number yet (they get the next ones), all numbers."""
    found = list(dict.fromkeys(collected()))  # functions of one name, as a property's two, share their blocks' names
    new = [name for name in found if name not in _numbers]
    for name in new:
        _numbers[name] = len(_numbers)
    row = [test, round(seconds, 3), new, [_numbers[name] for name in found]]
    with open(Path(os.environ["TOUCHED"]) / f"{os.getpid()}-{_BEGAN}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


@dataclass
class Noted:
    """What is known of a test: the seconds it takes, and the blocks that it runs."""

    seconds: float
    blocks: set[str]


def read(folder: Path) -> dict[str, Noted]:
    """The tests of all files that `write` wrote."""
    tests: dict[str, Noted] = {}
    for path in sorted(folder.glob("*.jsonl")):
        names: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            name, seconds, new, numbers = json.loads(line)
            names += new
            test = tests.setdefault(name, Noted(0.0, set()))
            test.seconds += seconds
            test.blocks.update(names[i] for i in numbers)
    return tests


def note_kernels() -> None:
    """Have calls of compiled kernels note the blocks of their Python, and those of the functions they call."""
    from optgen.loops import kernel, trampoline
    from optgen.loops.language import Function

    def mark(f: Function, seen: set[Function]) -> None:
        seen.add(f)
        code = f.python.__code__
        table, names = _tables.get(code.co_filename, (bytearray(), []))  # none for kernels of tests
        for i, name in enumerate(names):
            if name.rpartition(":")[0] == code.co_qualname:
                table[i] = 1
        for called in f.called():
            if called not in seen:
                mark(called, seen)

    def noting(method: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            mark(self, set())
            return method(self, *args, **kwargs)

        return call

    trampoline.install = lambda *args, **kwargs: False  # calls would not be seen
    for name in ("in_python", "prepared", "checked", "text"):
        setattr(kernel.LoopKernel, name, noting(getattr(kernel.LoopKernel, name)))
    kernel.LoopKernel.__call__ = kernel.LoopKernel.in_python


# ---------------------------------------------------------------- pytest


def pytest_configure(config: pytest.Config) -> None:
    begin()
    os.environ["TOUCHED_WITH"] = ON_GPU if config.getoption("--on-gpu") else ""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "site"), str(ROOT)])


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    yield
    note_kernels()
    collected()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    start = time.perf_counter()
    yield
    write(named(item), time.perf_counter() - start)


ON_GPU = " --on-gpu"
"""What follows the name of a test that is run with that flag."""


def named(item: pytest.Item) -> str:
    return item.nodeid + (ON_GPU if item.config.getoption("--on-gpu") else "")


def begin_program() -> None:
    """In a program that a test has started: note its blocks for that test."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0] + os.environ["TOUCHED_WITH"]
    begin()
    atexit.register(write, test, 0.0)
