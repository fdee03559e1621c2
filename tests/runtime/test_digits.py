"""The example, from the command line to its files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import files
from tests.process import run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "digits"


def train(*args: str) -> subprocess.CompletedProcess[str]:
    return run(
        [sys.executable, FOLDER / "train.py", *args],
        timeout=120,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
    )


@pytest.mark.parametrize(
    ("title", "args"),
    [
        ("Adam", []),
        ("SoftSign", ["--optimizer", "examples/digits/mine.opt"]),
    ],
)
def test_training(title: str, args: list[str], tmp_path: Path) -> None:
    done = train(*args, "--epochs", "12", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    epochs = re.findall(r"epoch +(\d+)  loss ([\d.]+)  test accuracy ([\d.]+)%", done.stdout)
    assert [int(n) for n, _, _ in epochs] == list(range(1, 13))
    assert done.stdout.startswith(f"{title}: 1437 digits to train with, 360 to test with")
    assert float(epochs[-1][1]) < 0.2 < float(epochs[0][1])
    assert max(float(accuracy) for _, _, accuracy in epochs) >= 97
    assert "epoch 12/12:" in done.stderr  # the progress bar
    assert (tmp_path / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    shapes = [x.shape for x in files.load(tmp_path / "digits.safetensors").values()]
    assert sorted(shapes) == sorted([(256, 64), (256,), (128, 256), (128,), (10, 128), (10,)])


def test_the_same_seed_gives_the_same_numbers(tmp_path: Path) -> None:
    first, second = (train("--epochs", "1", "--seed", "1", "--out", str(tmp_path)).stdout for _ in range(2))
    line = re.compile(r"epoch.*%")
    assert line.search(first)[0] == line.search(second)[0]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--optimizer", "adm"], "unknown optimizer 'adm'; did you mean 'adam'?"),
        (["--optimizer", "nowhere.opt"], "nowhere.opt"),
        (["--lr", "nan"], "'lr' must be a number"),
        (["--epochs", "0"], "at least 1"),
    ],
)
def test_bad_arguments_end_with_one_line(args: list[str], words: str, tmp_path: Path) -> None:
    done = train(*args, "--out", str(tmp_path))
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_help_has_examples() -> None:
    done = train("--help")
    assert done.returncode == 0
    assert "--optimizer examples/digits/mine.opt" in done.stdout
