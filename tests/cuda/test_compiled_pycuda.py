"""PyCUDA itself, as it was compiled, over a stand-in for the driver's library, which a process of its own finds first.
Skipped where PyCUDA is not installed. To compile PyCUDA where there is no driver, link it with this library as
`libcuda.so`: its `configure.py` has `--cudadrv-lib-dir`."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process import run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.stress
@pytest.mark.skipif(importlib.util.find_spec("pycuda") is None, reason="PyCUDA is not installed")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler: cc")
def test_steps_with_pycuda_itself(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    options = ["-std=gnu11", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(["cc", *options, "-o", library, HERE / "libcuda_pycuda.c"], check=True, timeout=60)
    env = {"LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(ROOT), "CUDA_DEVICE": "1"}
    program = [sys.executable, "-m", "tests.cuda.compiled_pycuda", library, tmp_path]
    done = run(program, timeout=600, cwd=ROOT, env=env)
    assert done.returncode == 0 and "done" in done.stdout, done.stdout + done.stderr
