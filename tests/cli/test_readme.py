"""The README is true to the letter: its spec and scripts run, its commands parse, its tree is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import optgen
from optgen import specfiles
from optgen.cli import parser

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SPEC, TRAIN, LENET, PLAIN, STORED = re.findall(r"```(?:python)?\n(.*?)```", README, re.DOTALL)


def run(script: str, folder: Path) -> str:
    (folder / "train.py").write_text(script)
    command = [sys.executable, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_spec_has_ten_lines_and_trains(tmp_path: Path) -> None:
    assert len([line for line in SPEC.splitlines() if line]) <= 10
    (tmp_path / "lion.opt").write_text(SPEC)
    losses = [float(line.rpartition(" ")[2]) for line in run(TRAIN, tmp_path).splitlines()]
    assert len(losses) == 20 and losses[-1] < 0.5 * losses[0]


def test_the_network(tmp_path: Path) -> None:
    losses = [float(line.rpartition(" ")[2]) for line in run(LENET, tmp_path).splitlines()]
    assert len(losses) == 40 and losses[-1] < 0.1 * losses[0]
    assert (tmp_path / "lenet.safetensors").exists()


def test_the_plain_script(tmp_path: Path) -> None:
    assert run(PLAIN, tmp_path) == "0.999 [1 1]\n"


def test_the_script_with_masters_and_stored_states(tmp_path: Path) -> None:
    assert run(STORED, tmp_path) == "[1 0]\n"


def test_every_optimizer_is_named() -> None:
    section = README.partition("\n- Of MXNet 1.9.1")[2].partition("\n\n")[0]
    named = set(re.findall(r"\w+", section))
    assert not [x for x in specfiles.available() if optgen.parse(specfiles.spec_path(x).read_text()).name not in named]


@pytest.mark.parametrize("line", re.findall(r"^    optgen (.*?)(?:   |$)", README, re.MULTILINE))
def test_commands_parse(line: str) -> None:
    assert parser().parse_args(line.split()).run


def test_make_targets_exist() -> None:
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    assert targets and set(targets) <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_tree_is_there() -> None:
    section = README.partition("## The tree")[2].partition("\n## ")[0]
    top = [*re.findall(r"^    (\w+/)", section, re.MULTILINE), "examples/", "benchmarks/", "tests/"]
    inside = ["optgen/" + name for name in re.findall(r"^      ([\w.]+/?)", section, re.MULTILINE)]
    assert len(top) >= 7 and len(inside) >= 10
    assert not [name for name in (*top, *inside) if not (ROOT / name).exists()]
