"""What is shipped: the wheel holds every module, the specs, the grammar and the reference of the language, and finds
them when installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import optgen
from optgen import specfiles

ROOT = Path(__file__).resolve().parents[2]


def copied(tree: Path) -> Path:
    """A copy of the sources, so that nothing is left in the checkout."""
    for name in ("optgen", "runtime", "specs", "docs", "benchmarks/races"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    (tree / "tests").mkdir()
    shutil.copy(__file__, tree / "tests" / "test_x.py")
    return tree


def built(kind: str, tree: Path, out: Path) -> str:
    """What is said while a wheel, or an sdist, is built without the network."""
    code = f"from setuptools.build_meta import build_{kind}; build_{kind}({str(out)!r})"
    run = subprocess.run([sys.executable, "-c", code], cwd=tree, check=True, capture_output=True, text=True)
    return run.stdout + run.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    setuptools = pytest.importorskip("setuptools", minversion="77", reason="older ones need the wheel package")
    assert setuptools
    out = tmp_path_factory.mktemp("wheel")
    assert "is absent from" not in built("wheel", copied(tmp_path_factory.mktemp("tree")), out)
    return next(out.glob("*.whl"))


def test_the_wheel_holds_every_source_file(wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    sources = [
        path.relative_to(ROOT).as_posix()
        for package in ("optgen", "runtime")
        for suffix in ("*.py", "*.c", "*.ll", "py.typed")
        for path in (ROOT / package).rglob(suffix)
    ]
    assert sources and not set(sources) - shipped
    assert {f"optgen/specs/{name}.opt" for name in specfiles.all_available()} <= shipped
    assert {f"optgen/benchmarks/races/{path.name}" for path in specfiles.races().glob("*.json")} <= shipped
    assert {name for name in shipped if name.startswith("optgen/docs/")} == {
        f"optgen/docs/{name}.md" for name in ("language", "arithmetic", "errors")
    }
    assert not [name for name in shipped if name.startswith(("tests", "examples", "benchmarks", "specs", "docs"))]


def test_the_version_is_that_of_the_module(wheel: Path) -> None:
    assert wheel.name.startswith(f"optgen-{optgen.__version__}-")


def test_the_source_distribution(tmp_path: Path) -> None:
    """It has what wheels are made of, and the changelog, and no test."""
    pytest.importorskip("setuptools", minversion="77")
    (tmp_path / "tree").mkdir()
    said = built("sdist", copied(tmp_path / "tree"), tmp_path)
    assert "warning" not in said.lower() and "is absent from" not in said
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"CHANGELOG.md", "README.md", "setup.py", "docs/language.md", "optgen/lang/grammar.py"} <= names
    assert {f"specs/{name}.opt" for name in specfiles.all_available()} <= names
    assert not any(name.startswith("tests") for name in names)


def test_specs_are_found_in_a_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "from optgen import specfiles; print(specfiles.folder(), *specfiles.all_available())"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert run.stdout.split() == [str(tmp_path / "optgen" / "specs"), *specfiles.all_available()]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("optgen doc", "name the file to write with -o FILE"),
        ("optgen doc --check", "name the file to write with -o FILE"),
        ("optgen fmt", "name the files to format"),
        ("optgen build --kernels", "name the folder to write to with -o FOLDER"),
        ("optgen build adam", "name the folder to write to with -o FOLDER"),
        ("optgen.torch.stub", "only a checkout of it is written to"),
        ("optgen.objectcode.generate", "only a checkout of it is written to"),
        ("runtime.optimizer.stub", "only a checkout of it is written to"),
    ],
)
def test_an_installed_package_writes_nothing_that_is_not_named(
    command: str, wanted: str, wheel: Path, tmp_path: Path
) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    own = tmp_path / "own"
    (own / "docs").mkdir(parents=True)
    (own / "docs" / "optimizers.md").write_text("# Mine\n")

    def everything() -> dict[str, int]:
        paths = [path for path in tmp_path.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        return {str(path): path.stat().st_mtime_ns for path in paths}

    spec = tmp_path / "site" / "optgen" / "specs" / "adam.opt"
    spec.write_text(spec.read_text().replace("  ", "   "))  # something to format
    before = everything()
    line = [sys.executable, "-m", *command.split()]
    run = subprocess.run(line, cwd=own, env=os.environ | {"PYTHONPATH": str(tmp_path / "site")}, capture_output=True)
    assert run.returncode and wanted in run.stderr.decode()
    assert everything() == before


def test_specs_are_checked_in_a_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    check = [sys.executable, "-m", "optgen", "fmt", "--check"]
    subprocess.run(check, cwd=tmp_path, check=True, capture_output=True)


def test_the_language_is_described_in_a_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    command = [sys.executable, "-m", "optgen", "language", "guards"]
    run = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert run.stdout.startswith("### guards\n")


def test_the_licence_is_shipped(wheel: Path) -> None:
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("licenses/LICENSE")]
    assert "Apache License" in zipfile.ZipFile(wheel).read(name).decode()


def test_an_unknown_spec_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="no spec named 'adamm'; did you mean 'adam'"):
        specfiles.spec_path("adamm")
    with pytest.raises(FileNotFoundError, match="no spec named 'torch/adamm'; did you mean 'torch/adam'"):
        specfiles.spec_path("torch/adamm")
    (tmp_path / "mine.opt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="'mine'; for the file of that name write 'mine"):
        specfiles.spec_path("mine")


def test_a_family_is_part_of_the_name_and_other_folders_are_of_a_path(tmp_path: Path) -> None:
    for name in specfiles.all_available():
        assert specfiles.is_name(name) and specfiles.name_of(specfiles.spec_path(name)) == name
    assert not specfiles.is_name("torch/adam.opt") and not specfiles.is_name("my/adam")
    assert specfiles.name_of(tmp_path / "torch" / "adam.opt") == "adam"
