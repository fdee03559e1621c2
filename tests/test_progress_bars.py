"""Progress bars are shown in terminals alone: they say what `disable` is."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_bars_do_not_go_into_pipes() -> None:
    shown = []
    for folder in ("benchmarks", "examples", "optgen", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if "tqdm" in text else ():
                bar = isinstance(node, ast.Call) and ast.unparse(node.func) in ("tqdm", "trange")
                if bar and not any(keyword.arg == "disable" for keyword in node.keywords):
                    shown.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not shown
