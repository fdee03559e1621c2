"""README, docs/training.md and docs/kernels.md: the spec and the scripts run, the commands parse, the paths exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.cli import main, parser

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TRAINING = (ROOT / "docs" / "training.md").read_text("utf-8")
CHOOSING = (ROOT / "docs" / "choosing.md").read_text("utf-8")
KERNELS = (ROOT / "docs" / "kernels.md").read_text("utf-8")


def code(text: str) -> list[str]:
    """The blocks that are a spec or a script; others name what they are."""
    return [
        body
        for kind, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if kind in ("", "python")
    ]


SPEC, TORCH, TRAIN = code(README)


def example(heading: str) -> str:
    """The first script of a section of docs/training.md."""
    _, found, section = TRAINING.partition(f"# {heading}\n")
    assert found, heading
    return code(section)[0]


def run(script: str, folder: Path) -> str:
    (folder / "train.py").write_text(script)
    command = [sys.executable, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_spec_is_what_the_text_says() -> None:
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=100).astype("float32"), np.zeros(100, "float32")
    step = optgen.load(optgen.parse(SPEC)).bind([w], [g])
    expected, m = w.astype("float64"), np.zeros(100)
    for _ in range(20):
        g[:] = rng.normal(size=100)
        step(lr=0.01, wd=0.1)
        m = 0.95 * m + 0.05 * g
        expected -= 0.01 * (np.tanh(m / 0.001) + 0.1 * expected)
    np.testing.assert_allclose(w, expected, atol=1e-6)


def test_the_first_page_is_short() -> None:
    assert len(README.splitlines()) < 130 and len(SPEC.splitlines()) <= 12


def test_the_loop_is_what_the_compiler_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of it, in this order."""
    (tmp_path / "smooth_sign.opt").write_text(SPEC)
    assert main(["show", str(tmp_path / "smooth_sign.opt"), "--stage", "ir"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    lines = [line for line in shown.splitlines() if line != "  ..."]
    assert len(lines) > 8 and all(line in printed for line in lines)


@pytest.mark.parametrize("script", [TORCH, TRAIN], ids=["PyTorch", "runtime"])
def test_the_spec_trains(script: str, tmp_path: Path) -> None:
    (tmp_path / "smooth_sign.opt").write_text(SPEC)
    assert "smooth_sign" not in specfiles.available()
    assert 0 < float(run(script, tmp_path).removeprefix("loss ")) < 0.3


def test_the_network(tmp_path: Path) -> None:
    losses = [float(line.rpartition(" ")[2]) for line in run(example("Training with runtime"), tmp_path).splitlines()]
    assert len(losses) == 40 and losses[-1] < 0.1 * losses[0]
    assert (tmp_path / "lenet.safetensors").exists()


def test_the_script_with_masters_and_stored_states(tmp_path: Path) -> None:
    assert run(example("Optimizers"), tmp_path) == "[1 0]\n"


def test_the_script_with_a_flag_and_an_input(tmp_path: Path) -> None:
    script = example("Flags and inputs of your own spec")
    assert run(script, tmp_path).strip() == script.strip().rpartition("  # ")[2]


def test_the_script_with_matrices(tmp_path: Path) -> None:
    script = example("Matrices")
    assert run(script, tmp_path).strip() == script.strip().rpartition("  # ")[2]


def test_the_script_with_a_loss(tmp_path: Path) -> None:
    assert run(example("The loss"), tmp_path) == "True\n"


def test_the_script_with_several_gradients(tmp_path: Path) -> None:
    assert float(run(example("Steps with several gradients"), tmp_path).removeprefix("loss ")) < 1


def test_the_script_that_donates_gradients(tmp_path: Path) -> None:
    assert run(example("Donated gradients"), tmp_path) == "[4. 4. 4.]\n"


def test_the_table_by_use_is_a_part_of_that_of_choosing() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (`optgen.load[^|]+`) \| (\S+) \|$", README, re.MULTILINE)
    known = [re.split(r" ?\| ?", line)[1:5] for line in CHOOSING.splitlines() if line.startswith("| ")]
    assert len(rows) == 7 and all(
        [use, call, size] in [[x[0], x[1], x[3]] for x in known if len(x) == 4] for use, call, size in rows
    )


def test_the_number_of_specs() -> None:
    number = int(re.search(r"More\s+than (\d+) optimizers", README)[1])
    assert number < len(specfiles.all_available()) < number + 20


@pytest.mark.parametrize("line", re.findall(r"^    optgen (.*?)(?:   |$)", README + KERNELS, re.MULTILINE))
def test_commands_parse(line: str) -> None:
    assert parser().parse_args(line.split()).run


def test_make_targets_exist() -> None:
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    assert targets and set(targets) <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_table_names_every_document_and_folder() -> None:
    """Links of the table lead somewhere (tests/runtime/test_documents.py), and nothing is left out."""
    linked = set(re.findall(r"\]\(([\w./-]+)\)", README.partition("## What is where")[2]))
    documents = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    folders = {"specs", "optgen", "runtime", "tests", "examples/digits", "examples/distributed", "examples/guides"}
    folders |= {"examples/cuda"}
    assert not (documents | folders | {"CHANGELOG.md", "benchmarks/README.md", "generated/README.md"}) - linked
