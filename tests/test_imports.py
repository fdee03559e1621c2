"""Imports point one way, as the layout has it: what a folder may see is written here, and held."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTING = ROOT / "docs" / "testing.md"
FILES = sorted(p for package in ("optgen", "runtime") for p in (ROOT / package).rglob("*.py"))

LAYERS: dict[str, list[str]] = {
    "optgen": [
        "cache_folder children diagnostics extras facts files forks groups names_elsewhere observer shapes",
        "axes",
        "expressions",
        "functions",
        "declarations truth",
        "model",
        "bounds by_name outer serial specfiles",
        "spec_identity used",
        "lang symbolic ir",
        "arguments polynomials",
        "precision",
        "averages",
        "passes backends stages",
        "objectcode compiled",
        "pipeline threads",
        "emit loops",
        "linalg",
        "execute",
        "api",
        "__init__",
        "bandwidth figures tables",
        "analysis library pycuda tune torch uses",
        "races",
        "comparing pages",
        "cli",
        "__main__",
    ],
    "optgen.functions": [
        "builder interval",
        "math record",
        "comparisons draws exponential matrices powers rounding trigonometric",
        "reductions",
        "table",
    ],
    "optgen.analysis": [
        "folding statement",
        "subject",
        "characters counts epsilons run turning words",
        "averages frozen trial",
        "cut rotation symmetry",
        "constant scale sign weights",
        "bound cycle stability",
        "equations",
        "reals",
        "field",
        "settings",
        "matches proof",
        "together",
        "equal",
        "answers",
        "__init__",
    ],
    "optgen.comparing": ["comparison", "shown", "side_by_side", "__init__"],
    "optgen.library": [
        "c_text calls cpus systems gpus",
        "products stages",
        "specs",
        "conditions kernels",
        "header",
        "rust tables",
        "source",
        "files",
    ],
    "optgen.execute": [
        "buffers transaction",
        "garbage kernel overlap scaler storage",
        "hyper piece",
        "table",
        "protocols",
        "stages",
        "cpu",
        "choice cuda state tensors",
        "steps",
        "rule",
        "planned",
    ],
    "optgen.execute.tensors": [
        "checks places sparse",
        "gradients watch",
        "donation",
    ],
    "optgen.execute.steps": [
        "active evaluation exclusive",
        "step",
        "phased",
    ],
    "optgen.execute.stages": [
        "group_calls",
        "group_loops",
        "calls staged_kernel",
        "array_calls bound_stages",
        "stage_device",
        "stage_run",
        "staged_table",
        "joint",
        "staged_runner",
    ],
    "optgen.execute.cpu": [
        "kernel exchange fold",
        "boxes dlpack groups ranges",
        "chain sequence table",
        "runner stages",
        "device",
    ],
    "optgen.execute.cuda": ["driver interface", "memory kernel", "table", "capturable runner stages", "device"],
    "optgen.pages": [
        "contours families html",
        "page svg topic traits",
        "choosing costs declared equations laws races snippets text trajectories",
        "report",
        "gallery",
    ],
    "optgen.pycuda": ["library", "gpu", "device", "__init__"],
    "optgen.loops": [
        "language",
        "compile code writes",
        "fallback_gemm",
        "numpy_blas",
        "trampoline",
        "checked",
        "kernel",
    ],
    "optgen.linalg": ["errors matrices", "blocks own stacks lapack", "products factorizations", "roots", "__init__"],
    "optgen.races": [
        "contender digits functions protocol ranks text",
        "results trajectories",
        "pictures table task",
        "__init__ shown",
        "tasks",
        "trials",
        "how pool store",
        "baselines racing",
        "in_process",
    ],
    "runtime.profiler": ["records", "operators", "control", "parts results", "__init__"],
    "optgen.torch": [
        "requirement features networks spelling",
        "memory following",
        "checksums values",
        "forms hooks owners grouping",
        "codes halves",
        "state",
        "bound",
        "host",
        "rules",
        "foreign owned plan replaced",
        "binding carried loading",
        "group",
        "updating",
        "accumulating capturing evaluating monitoring",
        "skipping",
        "stepping workers",
        "base",
        "torch_classes",
        "classes regrouping",
        "conversion",
        "stub",
        "__init__",
    ],
    "runtime": [
        "base engine log native",
        "libinfo error registry core library",
        "recordio",
        "context name attribute",
        "util runtime autograd",
        "ndarray",
        "plan random lr_scheduler tune",
        "initializer metric optimizer io",
        "symbol",
        "executor kvstore image model monitor onnx operator profiler visualization symbol_doc",
        "callback misc module rnn",
        "gluon",
        "checkpoint contrib launch",
        "compat",
        "__init__",
        "test_utils",
    ],
    "runtime.gluon": [
        "utils parameter",
        "block",
        "nn loss",
        "rnn data",
        "step_arguments store_choice trainer_groups trainer_params trainer_plan workers",
        "trainer",
        "contrib",
        "model_zoo",
        "__init__",
    ],
}
"""The files and folders of each package, by the order of their imports.

A line may import what is on the lines above it, and nothing else of the package: not what is beside it. Imports inside
functions and for types alone count as well.
"""

SEES: dict[str, set[str]] = {
    "lang": {
        "axes",
        "bounds",
        "diagnostics",
        "expressions",
        "functions",
        "groups",
        "model",
        "outer",
        "specfiles",
        "truth",
    },
    "symbolic": {"axes", "diagnostics", "expressions", "functions", "groups", "truth", "model"},
    "ir": {"axes", "diagnostics", "expressions", "functions", "groups", "truth", "model", "bounds", "shapes"},
    "passes": {"axes", "diagnostics", "expressions", "functions", "truth", "model", "ir"},
    "backends": {"axes", "cache_folder", "forks", "diagnostics", "expressions", "functions", "truth", "model", "ir"},
    "loops": {"backends", "objectcode", "threads"},
    "linalg": {"axes", "backends", "ir", "model", "objectcode", "threads", "loops"},
}
"""What parts of optgen may import of the lines above them, where that is less than all."""

LIBRARIES = {
    "sympy": {"symbolic"},
    "llvmlite": {"backends", "linalg", "objectcode"},
    "ml_dtypes": {"execute"},
    "pycuda": {"pycuda"},
    "torch": {"races", "torch", "tune"},
}
"""Who may import a library."""
NEVER = {"pickle", "marshal", "shelve", "dill"}


@functools.cache
def tree(path: Path) -> ast.Module:
    """A file as Python reads it, which all tests here share."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module or name a file imports, in full: at once, in functions, or for types."""
    return tuple(_imports(tree(path), path.relative_to(ROOT).with_suffix("").parts))


def _imports(module_tree: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(module_tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: -node.level]) + "." if node.level else ""
            module = (base + (node.module or "")).rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


@functools.cache
def parts_of(package: str) -> set[str]:
    """The names of a package's files and folders; `__init__` if it imports anything of the package."""
    folder = ROOT / package.replace(".", "/")
    files = {p.stem for p in folder.glob("*.py")} | {p.name for p in folder.iterdir() if any(p.rglob("*.py"))}
    sees_package = any(within(module, package) for module in imports(folder / "__init__.py"))
    return files if sees_package else files - {"__init__"}


def part_of(module: str, package: str) -> str | None:
    """The part of a package that an imported module is, or is in; None for a module outside the package."""
    if not within(module, package):
        return None
    part = module.removeprefix(package).removeprefix(".").partition(".")[0]
    return part if part in parts_of(package) else "__init__"  # a name, or the package itself


def within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


@pytest.mark.parametrize("package", LAYERS)
def test_each_line_imports_what_is_above_it(package: str) -> None:
    above: set[str] = set()
    for line in LAYERS[package]:
        for part in line.split():
            for path in files_of(package, part):
                for module in imports(path):
                    seen = part_of(module, package)
                    assert seen in {None, part} | above, f"{path.relative_to(ROOT)} never sees {module}"
        above |= set(line.split())


@pytest.mark.parametrize("package", ["optgen", "runtime"])
def test_no_file_imports_itself_through_others(package: str) -> None:
    """Within a line as well. `graphlib` names the files of a circle."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}
    seen = {
        name: {m if m in names else m.rpartition(".")[0] for m in imports(path)} & names.keys() - {name}
        for name, path in names.items()
        if within(name, package)
    }
    assert len(list(graphlib.TopologicalSorter(seen).static_order())) >= len(seen)


def test_each_class_of_optgen_has_a_name_of_its_own() -> None:
    found = Counter(
        node.name
        for path in FILES
        if path.is_relative_to(ROOT / "optgen")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize("package", LAYERS)
def test_each_part_is_on_one_line(package: str) -> None:
    named = [part for line in LAYERS[package] for part in line.split()]
    assert sorted(named) == sorted(parts_of(package))


def files_of(package: str, part: str) -> list[Path]:
    path = ROOT / package.replace(".", "/") / part
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def test_the_picture_of_the_packages_is_fresh() -> None:
    from tests import packages

    drawn = packages.PICTURE.read_text(encoding="utf-8")
    assert drawn == packages.picture(), "python -m tests.packages draws it anew"


def test_the_map_of_contributing_has_every_part_of_optgen() -> None:
    """A line for each package, in the order of the layers, and then the names of the single files."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("    optgen/\n")[2].partition("    runtime/\n")[0]
    layer = {part: number for number, line in enumerate(LAYERS["optgen"]) for part in line.split()}
    packages = re.findall(r"^ {6}(\w+)/ +\S", section, re.MULTILINE)
    assert set(packages) == {part for part in layer if (ROOT / "optgen" / part).is_dir()}
    assert packages == sorted(packages, key=layer.__getitem__)
    assert layer.keys() - {*packages, "__init__", "__main__"} <= set(re.findall(r"`(\w+)`", section))


def test_import_rules() -> None:
    broken = [f"{path.relative_to(ROOT)}: {rule}" for path in FILES for rule in broken_rules(path)]
    assert not broken, "\n".join(broken)


def broken_rules(path: Path) -> Iterator[str]:
    """What a file imports and should not, each with the reason."""
    in_optgen = path.is_relative_to(ROOT / "optgen")
    part = path.relative_to(ROOT / "optgen").with_suffix("").parts[0] if in_optgen else "runtime"
    for module in imports(path):
        top = module.split(".")[0]
        if top in NEVER:
            yield f"{module}: nothing is unpickled"
        if in_optgen and top == "runtime":
            yield f"{module}: optgen never sees runtime"
        if top == "optgen" and part in SEES and not any(within(module, f"optgen.{a}") for a in SEES[part] | {part}):
            yield f"{part} never sees {module}"
        if top in LIBRARIES and in_optgen and part not in LIBRARIES[top]:
            yield f"{part} never sees {top}"


RUNTIMES_TESTS = ("gluon", "kvstore", "module", "ndarray", "runtime", "symbol")
"""The folders of tests of `runtime`. The other tests are optgen's, or of both packages."""
OF_BOTH = {
    *("test_module_names.py", "benchmarks/test_layers.py", "examples/test_distributed.py", "gpu/test_training.py"),
    *("counts/processes.py", "counts/training.py"),
}
_MODULE = rf"(?:runtime|tests(?:\.|\s+import\s+)(?:{'|'.join(RUNTIMES_TESTS)}))\b"
OF_RUNTIME = re.compile(rf"""(?:^|["';])\s*(?:import|from)\s+(?:[\w., ]+,\s*)?{_MODULE}""", re.M)


def test_tests_of_optgen_import_nothing_of_runtime() -> None:
    """Neither do the programs in them that they run, so they say what optgen does by itself."""
    tests = ROOT / "tests"
    others = [p for p in tests.rglob("*.py") if p.relative_to(tests).parts[0] not in RUNTIMES_TESTS]
    found = {str(p.relative_to(tests)) for p in others if OF_RUNTIME.search(p.read_text(encoding="utf-8"))}
    assert found == {*OF_BOTH, "conftest.py"}  # with --on-gpu, which tests of runtime are run with


def test_slow_libraries_are_imported_when_they_are_needed() -> None:
    code = "import sys, optgen; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert not {"sympy", "ml_dtypes"} & set(found.split())


def test_the_rules_name_parts_that_exist() -> None:
    assert set().union(SEES, *SEES.values(), *LIBRARIES.values()) <= parts_of("optgen")


def test_the_scan_sees_lazy_and_relative_imports(tmp_path: Path) -> None:
    text = "import a.b\nfrom . import c\ndef f():\n    from ..d import e\n"
    path = ROOT / "optgen" / "lang" / "nothing.py"

    class Fake(type(path)):  # type: ignore[misc]
        def read_text(self, *args: object, **kwargs: object) -> str:
            return text

    assert list(imports(Fake(path))) == ["a.b", "optgen.lang.c", "optgen.d.e"]


def test_the_lazy_names_of_optgen_are_its_public_ones() -> None:
    import optgen

    assert set(optgen._MODULES) == set(optgen.__all__)
    assert all(getattr(optgen, name).__name__ == name for name in optgen.__all__)


def test_every_package_has_tests_that_are_named() -> None:
    """The table in docs/testing.md of which tests are for which change."""
    rows = re.findall(r"^\| (.*`.*) \| `(.*)`.* \|$", TESTING.read_text(encoding="utf-8"), re.MULTILINE)
    named = {package for changed, _ in rows for package in re.findall(r"`optgen/(\w+)", changed)}
    packages = {p.parent.name for p in (ROOT / "optgen").glob("*/__init__.py")}
    assert packages <= named
    assert all((ROOT / "tests" / part).exists() for _, parts in rows for part in parts.split())


def test_lines_of_c_are_as_long_as_those_of_python() -> None:
    sources = [p for folder in ("optgen", "tests", "examples") for p in (ROOT / folder).rglob("*.[chu]*")]
    long = [
        f"{p.relative_to(ROOT)}:{number}"
        for p in sources
        if p.suffix in (".c", ".h", ".cu", ".cpp")
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not long
