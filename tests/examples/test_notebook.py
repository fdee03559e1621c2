"""The notebook in examples/notebook: its cells run in one namespace, and what they end with shows itself."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "optimizer.ipynb"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return found


def run(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell. The value of its last line is returned, if that is an expression."""
    *lines, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        return exec(source, scope)
    exec(compile(ast.Module(lines, []), NOTEBOOK.name, "exec"), scope)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), scope)


def test_the_file_is_as_it_is_written_without_outputs() -> None:
    text = NOTEBOOK.read_text("utf-8")
    assert json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n" == text
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells())
    ids = [cell["id"] for cell in cells()]
    assert len(set(ids)) == len(ids)


def test_its_cells_run_and_show_what_they_make(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    scope: dict[str, Any] = {"__name__": "__main__"}
    values = {c["id"]: run("".join(c["source"]), scope) for c in cells() if c["cell_type"] == "code"}
    latex = {id: values[id]._repr_mimebundle_()["text/latex"] for id in ("spec", "rule", "torch")}
    assert r"\text{if ahead}" in latex["spec"]
    assert r"d_t &= \beta_1 \, m_t + (1 - \beta_1) \, g_t" in latex["rule"]
    assert r"d_t &= m_t \\" in latex["torch"]
    assert values["bytes"].bytes == 20
    assert (abs(values["step"]) < [1, 0.1, 0.01]).all()
    assert "invariant to the scale of the gradients" in " ".join(capsys.readouterr().out.split())
    race = values["race"]
    assert {entry.contender for entry in race.entries} == {"SoftSign", "adamw"}
    assert all(name in race._repr_html_() for name in ("SoftSign", "adamw"))
