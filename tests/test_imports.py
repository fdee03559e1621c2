"""Imports point one way, as the layout has it: what a folder may see is written here, and held."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(p for package in ("optgen", "runtime") for p in (ROOT / package).rglob("*.py"))

LAYERS: dict[str, set[str]] = {
    "diagnostics": set(),
    "model": {"diagnostics"},
    "lang": {"diagnostics", "model", "bounds"},
    "symbolic": {"diagnostics", "model"},
    "bounds": {"model"},
    "ir": {"diagnostics", "model", "bounds"},
    "passes": {"diagnostics", "model", "ir"},
    "backends": {"diagnostics", "model", "ir"},
    "loops": {"backends", "objectcode", "execute"},
}
"""What each part of optgen may import of optgen besides itself; parts that are not here may see all."""

LIBRARIES = {
    "lark": {"lang"},
    "sympy": {"symbolic"},
    "llvmlite": {"backends", "execute", "objectcode"},
    "ml_dtypes": {"execute"},
}
"""Who may import a library."""
NEVER = {"pickle", "marshal", "shelve", "dill"}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module a file imports, in full, and whether it does so on being imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    for branch in ast.walk(tree):
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test):
            lazy.update(n for statement in branch.body for n in ast.walk(statement))
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node not in lazy
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: -node.level]) + "." if node.level else ""
            module = (base + (node.module or "")).rstrip(".")
            for alias in node.names:
                yield f"{module}.{alias.name}", node not in lazy


def part_of(path: Path) -> str:
    """The folder or module of optgen that a file belongs to."""
    return path.relative_to(ROOT / "optgen").with_suffix("").parts[0]


def within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_import_rules(path: Path) -> None:
    in_optgen = path.is_relative_to(ROOT / "optgen")
    part = part_of(path) if in_optgen else "runtime"
    for module, _ in imports(path):
        top = module.split(".")[0]
        assert top not in NEVER, f"{module}: nothing is unpickled"
        if in_optgen:
            assert top != "runtime", f"{module}: optgen never sees runtime"
        if top == "optgen" and part in LAYERS and module != "optgen":
            assert any(within(module, f"optgen.{a}") for a in LAYERS[part] | {part}), f"{part} never sees {module}"
        if top in LIBRARIES and in_optgen:
            assert part in LIBRARIES[top], f"{part} never sees {top}"


def test_slow_libraries_are_imported_when_they_are_needed() -> None:
    code = "import sys, optgen; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert not {"sympy", "lark", "ml_dtypes"} & set(found.split())


def test_the_rules_name_parts_that_exist() -> None:
    parts = {part_of(p) for p in FILES if p.is_relative_to(ROOT / "optgen")}
    assert set(LAYERS) <= parts


def test_the_scan_sees_lazy_and_relative_imports(tmp_path: Path) -> None:
    text = "import a.b\nfrom . import c\ndef f():\n    from ..d import e\n"
    path = ROOT / "optgen" / "lang" / "nothing.py"

    class Fake(type(path)):  # type: ignore[misc]
        def read_text(self, *args: object, **kwargs: object) -> str:
            return text

    found = list(imports(Fake(path)))
    assert found == [("a.b", True), ("optgen.lang.c", True), ("optgen.d.e", False)]
