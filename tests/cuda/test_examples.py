"""The examples of PyCUDA and CuPy, with stand-ins for both, and the PTX interpreter as the GPU."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from optgen.cli import main
from tests.cuda import standin_pycuda
from tests.cuda.emulation import Gpu, emulated

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "cuda"
SAME = "the same bits as on the CPU\n"


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated() as (gpu,), standin_pycuda.installed(gpu):
        yield gpu


def run(monkeypatch: pytest.MonkeyPatch, script: str, argument: str) -> None:
    monkeypatch.setattr(sys, "argv", [script, argument])
    found = runpy.run_path(str(FOLDER / script))
    found["main"].__globals__.update(STEPS=5, SHAPES=((4, 30), (7,), (1,)))
    found["main"]()


def test_the_emitted_ptx(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "adam", "--target", "cuda", "--kernels", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    run(monkeypatch, "emitted_ptx.py", str(tmp_path / "adam"))
    assert capsys.readouterr().out.endswith(SAME)


def test_the_plane(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "adam", "--target", "cuda", "--kernels", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["plane_pycuda.py", str(tmp_path / "adam")])
    runpy.run_path(str(FOLDER.parent / "embed" / "plane_pycuda.py"), run_name="__main__")
    assert capsys.readouterr().out == "2.000 -3.000 1.000, loss 0.000000\n"


def test_arrays_of_pycuda(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "arrays.py", "pycuda")
    assert capsys.readouterr().out == SAME


def test_arrays_of_cupy(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with emulated(cupy.cuda.runtime.getDeviceCount()):
        run(monkeypatch, "arrays.py", "cupy")
    assert capsys.readouterr().out == SAME
