"""Contexts of libraries in C come to the bits of Python's steps: weights, states, and weights to evaluate with."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from optgen.cli.library import prefix_of
from tests.library.c_library import CLibrary, build
from tests.library.trajectory import compare

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SHAPES: list[tuple[int, ...]] = [(37,), (70, 90), (3, 4, 5), (), (9000,), (0, 4), (128, 64)]
STEPS = 4
CASES = [
    ("adam", ()),
    ("adam", ("--set", "amsgrad=true", "--set", "clip_gradient=0.5", "--dtype", "float64")),
    ("adam", ("--storage", "int8_dynamic", "--dtype", "bfloat16", "--master")),
    ("adam", ("--storage", "int4_dynamic")),
    ("adam", ("--dtype", "float16", "--master")),
    ("lamb", ()),
    ("lamb", ("--cpu", "x86-64")),
    ("adam", ("--cpu", "x86-64", "--storage", "int8_dynamic")),
    ("torch/adafactor", ()),
    ("sgd", ("--set", "momentum=0.9")),
    ("prodigy", ()),
    ("schedulefree_adamw", ()),
    ("sgld", ()),
    ("adam with sam", ()),
    ("lbfgs", ()),
    ("lbfgs", ("--set", "history=3", "--dtype", "bfloat16", "--master")),
]


@pytest.mark.parametrize(("spec", "arguments"), CASES, ids=[" ".join([spec, *more]) for spec, more in CASES])
def test_a_context_steps_as_python_does(spec: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    if "--cpu" in arguments and platform.machine() != "x86_64":
        pytest.skip("a level of x86-64")
    build(tmp_path, spec, "--cpu", "native", "--name", "own", *arguments)
    own = CLibrary(tmp_path, "own").spec(prefix_of(spec))
    compare(own, spec, arguments, SHAPES, STEPS, tmp_path)


def test_openmp_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nothing.c").write_text("int main(void) { return 0; }\n")
    command = ["cc", "-fopenmp", str(tmp_path / "nothing.c"), "-o", str(tmp_path / "nothing")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the C compiler has no OpenMP")
    monkeypatch.setenv("CC", "cc -fopenmp -DOPTGEN_OPENMP")
    test_a_context_steps_as_python_does("lamb", (), tmp_path)
