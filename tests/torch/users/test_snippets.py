"""The snippets of docs/pytorch.md with other libraries, each a program, print what their comments say."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.process import run

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "pytorch.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(# needs (\w+)(; run by torchrun)?\n.*?)```", TEXT, re.DOTALL)
SNIPPETS = [found for found in SNIPPETS if found[1] != "a"]  # those that need a GPU: tests/gpu/test_docs.py
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "DS_ACCELERATOR": "cpu",
}
WITHOUT_COMPILING = "import deepspeed.ops\ndeepspeed.ops.__compatible_ops__.clear()\n"
"""Has DeepSpeed leave out its own collectives in shared memory, for which it would run a C++ compiler for minutes."""

pytestmark = pytest.mark.stress


@pytest.mark.parametrize(
    ("script", "library", "ranks"),
    [(script, library, 2 if torchrun else 0) for script, library, torchrun in SNIPPETS],
    ids=[library for _, library, _ in SNIPPETS],
)
def test_snippet(script: str, library: str, ranks: int, tmp_path: Path) -> None:
    pytest.importorskip(library)
    (tmp_path / "script.py").write_text(WITHOUT_COMPILING + script if library == "deepspeed" else script)
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks else []
    done = run([sys.executable, *torchrun, "script.py"], timeout=240, cwd=tmp_path, env=ENVIRONMENT, grace=10.0)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"print\(.*\)  # (.*)$", script, re.MULTILINE)
    printed = done.stdout.splitlines()
    assert said and [line for line in printed if line in said] == said, done.stdout


def test_each_library_has_a_snippet() -> None:
    libraries = [library for _, library, _ in SNIPPETS]
    assert libraries == ["transformers", "accelerate", "lightning", "peft", "torch", "deepspeed"]
