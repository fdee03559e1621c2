"""The picture of steps beside other libraries is what chart.py draws of the stored results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def chart() -> ModuleType:
    pytest.importorskip("matplotlib")
    found = importlib.util.spec_from_file_location("chart", ROOT / "benchmarks" / "chart.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_ratios_are_of_the_same_round(chart: ModuleType) -> None:
    seconds = {"ceiling": [1.0, 2.0, 4.0], "optgen": [1.0, 2.0, 8.0], "optax": [3.0, 4.0, 4.0], "other": [1.0] * 3}
    assert chart.ratios({"seconds": seconds}) == {"optgen": 1.0, "optax": 2.0}


def test_the_picture_has_the_stored_numbers(chart: ModuleType) -> None:
    results = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())["results"]
    drawn = (ROOT / "docs" / "step.svg").read_text()
    numbers = [f"{x:.1f}" for r in results for x in chart.ratios(r).values()]
    assert len(numbers) == 14 and all(f">{number}<" in drawn for number in numbers)
    assert all(f">{name}<" in drawn for name in (*chart.BARS.values(), "AdamW", "Lion"))
