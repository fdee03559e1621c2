"""Libraries in C for GPUs come to the bits of Python's steps on the CPU. Their driver is a stand-in, and the PTX
interpreter runs what they launch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from optgen.cli.library import prefix_of
from tests.library.c_library import CLibrary, build
from tests.library.gpu import StandIn
from tests.library.trajectory import compare

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SHAPES: list[tuple[int, ...]] = [(37,), (7, 10), (3, 4, 5), (), (4500,), (0, 4)]
STEPS = 20
CASES = [
    ("adam", ()),
    ("lamb", ()),
    ("torch/adafactor", ()),
    ("adam with sam", ()),
    ("sgld", ()),
    ("adam", ("--storage", "int8_dynamic", "--dtype", "bfloat16", "--master")),
    ("schedulefree_adamw", ()),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize(("spec", "arguments"), CASES, ids=[" ".join([spec, *more]) for spec, more in CASES])
def test_a_context_steps_as_python_does_on_the_cpu(
    spec: str, arguments: tuple[str, ...], driver: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", driver.compiler)
    build(tmp_path, spec, "--target", "cuda", "--cpu", "native", "--name", "own", *arguments)
    own, before = CLibrary(tmp_path, "own").spec(f"{prefix_of(spec)}_cuda"), driver.alive()
    compare(own, spec, arguments, SHAPES, STEPS, tmp_path, driver.array)
    assert not driver.errors and driver.launches
    assert driver.alive()[1:] == before[1:]
