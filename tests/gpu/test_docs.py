"""The examples of docs/cuda.md and docs/pytorch.md that need a GPU, each a program that must also end in silence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.process import run

ROOT = Path(__file__).resolve().parents[2]
TEXT = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("cuda.md", "pytorch.md"))
EXAMPLES = re.findall(r"```python\n(# needs a GPU and (\w+)\n.*?)```", TEXT, re.DOTALL)
ENDS = {"step": "[1 1]", "cupy": "uint8", "graph": "[100]", "capturable": "[100]", "optimizer": "11", "states": "cpu"}
"""Of what they print, by what they show."""


@pytest.mark.parametrize(
    ("code", "library", "end"), [(*e, end) for e, end in zip(EXAMPLES, ENDS.values(), strict=True)], ids=ENDS
)
def test_example(code: str, library: str, end: str) -> None:
    pytest.importorskip({"PyTorch": "torch", "CuPy": "cupy"}[library])
    done = run([sys.executable, "-c", code], timeout=240, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f" {end}\n")
    assert "Error" not in done.stderr and "Exception" not in done.stderr, done.stderr
