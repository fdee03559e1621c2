"""MXNet's guides, run as scripts: they print what the guides print."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.process import run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "guides"


def guide(name: str, *args: str) -> str:
    """What the script prints."""
    command = [sys.executable, FOLDER / f"{name}.py", *args]
    done = run(command, timeout=120, cwd=ROOT, env={"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_guide_is_tested_and_in_the_readme() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert set(re.findall(r'guide\("(\w+)"', Path(__file__).read_text())) == names
    assert set(re.findall(r"^\| `(\w+)\.py`", (FOLDER / "README.md").read_text(), re.MULTILINE)) == names


def test_perceptron() -> None:
    printed = guide("perceptron")
    rows = {
        what: [float(x) for x in row.split()]
        for what, row in re.findall(r"^(\w.*) \n\[\[(.*)\]\]\n<NDArray 1x4 @cpu\(0\)>$", printed, re.MULTILINE)
    }
    before, after, by_hand, adam = rows.values()
    assert after == by_hand != before
    assert adam == pytest.approx([w - 1 for w in after], abs=1e-3)  # a first step of Adam is the learning rate long
    assert printed.endswith("learning rate 1.0\nlearning rate 0.1\n")


def test_optimizers(tmp_path: Path) -> None:
    printed = guide("optimizers", "--out", str(tmp_path))
    losses = re.findall(r"^(\w.*?) +loss ([\d.]+) -> ([\d.]+)$", printed, re.MULTILINE)
    assert len(losses) == 18
    assert [name for name, first, last in losses if float(last) > 0.25 * float(first)] == ["SGLD"]  # it samples
    assert (tmp_path / "optimizers.png").read_bytes().startswith(b"\x89PNG")


def test_schedules(tmp_path: Path) -> None:
    """The rate is 0.03, and a tenth of it after epochs 4, 7 and 9, whoever sets it."""
    printed = guide("schedules", "--out", str(tmp_path))
    assert (tmp_path / "schedules.png").read_bytes().startswith(b"\x89PNG")
    assert "Learning rate drops after iterations: [116, 203, 261]\n" in printed
    lines = re.findall(r"^Epoch: (\d+); Batch 1; Loss ([\d.]+); LR ([\d.]+)$", printed, re.MULTILINE)
    assert [int(epoch) for epoch, _, _ in lines] == [*range(1, 11)] * 2
    assert [rate for _, _, rate in lines] == [*["0.030000"] * 4, *["0.003000"] * 3, *["0.000300"] * 2, "0.000030"] * 2
    for losses in ([float(loss) for _, loss, _ in half] for half in (lines[:10], lines[10:])):
        assert losses[0] > 2 and losses[-1] < 0.5


def test_custom_optimizer() -> None:
    printed = guide("custom_optimizer")
    losses = re.findall(r"^step +\d+: loss ([\d.]+) by hand, ([\d.]+) compiled$", printed, re.MULTILINE)
    assert len(losses) == 4 and all(by_hand == compiled for by_hand, compiled in losses)
    assert float(losses[-1][0]) < 0.05 * float(losses[0][0])
    assert float(printed.split()[-1]) < 1e-5


def test_text() -> None:
    printed = guide("text", "--epochs", "2")
    learned = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert printed.startswith(f"{len(learned)} characters, {len(set(learned))} different ones\n")
    first, second = map(float, re.findall(r"^epoch +\d  perplexity ([\d.]+)$", printed, re.MULTILINE))
    assert second < 0.9 * first < 0.9 * len(set(learned))
    text = printed.partition("\noptgen ")[2]
    assert len(text) == 300 + len("\n") and set(text) <= set(learned)
