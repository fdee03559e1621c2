"""The scripts of examples/cuda, which end with the bits of the CPU. tests/cuda runs them with stand-ins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from optgen.cli import main
from tests.process import run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "cuda"


def printed(script: str, argument: Path | str) -> str:
    done = run([sys.executable, FOLDER / script, argument], timeout=240, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_emitted_ptx_with_pycuda(tmp_path: Path) -> None:
    pytest.importorskip("pycuda")
    assert main(["build", "adam", "--target", "cuda", "--kernels", "-o", str(tmp_path)]) == 0
    assert printed("emitted_ptx.py", tmp_path / "adam").endswith("the same bits as on the CPU\n")


@pytest.mark.parametrize("library", ["pycuda", "cupy"])
def test_arrays(library: str) -> None:
    pytest.importorskip(library)
    assert printed("arrays.py", library) == "the same bits as on the CPU\n"
