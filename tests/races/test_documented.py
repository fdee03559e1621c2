"""The example of docs/evidence.md, as it stands there, with fewer steps and seeds."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = [x for x in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "optgen.race(" in x]
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    shorter = code.replace("STEPS = 200", "STEPS = 10").replace('budget="2min"', "seeds=1")
    exec(compile(shorter, str(PAGE), "exec"), names)
    assert {"results.json", "table.txt"} <= {*os.listdir("squashed")}
    race = names["race"]
    assert race.contenders == ("adamw", "lion", "Squashed")  # type: ignore[attr-defined]
    assert all(entry.mean_loss < 1 for entry in race.entries)  # type: ignore[attr-defined]
