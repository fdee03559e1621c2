"""Fingerprints: what the compiler makes of all specs is what a golden file says, and what differs is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from optgen import passes
from optgen.backends import target
from optgen.passes.hoist_host import hoist_host
from optgen.passes.plan_sweeps import plan_sweeps
from tests.compiler.fingerprints.__main__ import main
from tests.compiler.fingerprints.cases import Case, all_specs, cases
from tests.compiler.fingerprints.changes import differences, to_text
from tests.compiler.fingerprints.lines import brief_lines, counts
from tests.compiler.harness import PLAIN
from tests.process import run

GOLDEN = Path(__file__).parent / "golden" / "fingerprints.txt"
Capture = pytest.CaptureFixture[str]


def is_golden(case: Case) -> bool:
    """Whether a variant is in the golden file: those of float32, in which plans differ most."""
    return case.variant.dtype == "float32" and not case.variant.boxes


def found(every: Iterable[Case], counted_only: Collection[str] = ()) -> str:
    lines = {
        name: line
        for case in every
        for name, line in (counts(case) if case.spec in counted_only else brief_lines(case)).items()
    }
    return to_text(lines, "plans of float32 variants, and LLVM IR for GPUs of default ones")


MESSAGE = "what the compiler makes of specs is not what it was (--update-golden):"


@pytest.mark.stress
def test_golden(request: pytest.FixtureRequest) -> None:
    """No count and no text for GPUs changes unseen: a commit that changes this file says why."""
    text = found(case for spec in all_specs() for case in cases(spec) if is_golden(case))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8", newline="")
    changed = differences(GOLDEN.read_text(encoding="utf-8"), text)
    assert not changed, "\n".join([MESSAGE, *changed])


def test_golden_of_default_variants() -> None:
    """The same of the default variant of each spec, but for those of other libraries, and for transforms.

    Of plain specs the counts alone: their text for GPUs is made of what others have.
    """
    specs = [spec for spec in all_specs() if not re.search(r"torch/|optax/| with ", spec)]
    text = found((next(cases(spec)) for spec in specs), counted_only=PLAIN)
    names = {line.rpartition(" | ")[0] for line in text.splitlines()}
    held = [x for x in GOLDEN.read_text(encoding="utf-8").splitlines() if x.rpartition(" | ")[0] in names]
    held = [re.sub(r" gpu=\w+ launches=\d+", "", x) if x.partition(" | ")[0] in PLAIN else x for x in held]
    changed = differences("\n".join(held) + "\n", text)
    assert not changed, "\n".join([MESSAGE, *changed])


OLD = """\
# LLVM 1, llvmlite 2
sgd | a=true float32 | avx2=0a gpu=0b ptx=0c sweeps=2 bytes=12
sgd | a=false float32 | avx2=1a gpu=1b ptx=1c sweeps=1 bytes=28.5
sgd with ema | float32 | avx2=2a
"""
NEW = """\
# LLVM 1, llvmlite 2
sgd | a=true float32 | avx2=0a gpu=ff ptx=ff sweeps=10 bytes=9
sgd | a=false float64 | avx2=1a
sgd with ema | float32 | avx2=2a gpu=2b
"""


def test_what_differs_is_named() -> None:
    assert differences(OLD, OLD) == []
    assert differences(OLD, NEW) == [
        "sgd with ema | float32: gpu added",
        "sgd | a=false float32: removed",
        "sgd | a=false float64: added",
        "sgd | a=true float32: gpu, ptx, sweeps rose 2 -> 10, bytes fell 12 -> 9",
        "lines that differ: 4; added 1, bytes fell 1, gpu 2, ptx 1, removed 1, sweeps rose 1",
    ]
    assert differences(OLD, NEW, ["sgd with ema"]) == [
        "sgd with ema | float32: gpu added",
        "lines that differ: 1; gpu 1",
    ]


def test_ptx_is_that_of_one_version() -> None:
    """Another LLVM makes other PTX of the same text, so only the text is compared."""
    other = OLD.replace("LLVM 1", "LLVM 3").replace("ptx=0", "ptx=9")
    said = "made with other versions, so PTX is not compared: LLVM 1, llvmlite 2, and now LLVM 3, llvmlite 2"
    assert differences(OLD, other) == [said]
    assert differences(OLD, other.replace("gpu=0", "gpu=9"))[1:] == [
        "sgd | a=true float32: gpu",
        "lines that differ: 1; gpu 1",
    ]


def test_the_command(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restructured compiler that makes the same changes nothing; one without a pass changes texts and counts."""
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    assert main([str(before), "optax/sign_sgd", "optax/fromage"]) == 0
    assert main([str(after), "optax/sign_sgd", "--compare", str(before)]) == 0
    assert capsys.readouterr().out == "nothing differs\n"
    assert set(after.read_text().splitlines()) < set(before.read_text().splitlines())
    monkeypatch.setattr(passes, "PASSES", (hoist_host, plan_sweeps))
    assert main([str(after), "optax/sign_sgd", "--compare", str(before)]) == 1
    *changed, _ = capsys.readouterr().out.splitlines()
    assert len(changed) == len(list(cases("optax/sign_sgd")))
    assert all("operations rose" in line and "sweeps" not in line for line in changed)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["out", "nog"], "no spec 'nog'"),
        (["out", "nag", "--compare", "nothing"], "--compare nothing: "),
        (["out", "nag", "--compare", "empty"], "--compare empty: its first line does not say what it is of"),
        (["out", "nag", "--compare", "other"], "--compare other: line 2 is not NAME | KEY=VALUE ...: 'nag'"),
        (["out", "nag", "--compare", "words"], "--compare words: line 2: sweeps is no number: 'two'"),
        (["out", "nag", "--compare", "twice"], "--compare twice: line 3 is the second one of 'nag | float32'"),
        (["nowhere/out", "nag"], "nowhere/out cannot be written: it must be a file in a folder that is there"),
    ],
)
def test_refusals(
    line: list[str], message: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is compiled, or written."""
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("other").write_text("# LLVM 1\nnag\n")
    Path("words").write_text("# LLVM 1\nnag | float32 | sweeps=two\n")
    Path("twice").write_text("# LLVM 1\n" + 2 * "nag | float32 | sweeps=1\n")
    with pytest.raises(SystemExit, match="2"):
        main(line)
    assert message in capsys.readouterr().err and not Path("out").exists()


SCRIPT = """\
from tests.compiler.fingerprints.cases import cases
from tests.compiler.fingerprints.changes import to_text
from tests.compiler.fingerprints.lines import lines

print(to_text(lines(next(cases("lamb"))) | lines(next(cases("matrix/muon"))), "two"), end="")
"""


def test_the_same_on_every_machine(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked of this CPU, and the order of sets, which differs between processes, is of no account."""

    def asked() -> Any:
        raise AssertionError("a text depends on this machine")

    monkeypatch.setattr(target, "host", asked)
    exec(SCRIPT, {})
    own = capsys.readouterr().out
    assert [line.partition(" ")[0] for line in own.splitlines()] == ["#", "lamb", "matrix/muon"]
    other = run([sys.executable, "-c", SCRIPT], timeout=300, env={"PYTHONHASHSEED": "1"}, cwd=Path(__file__).parents[2])
    assert other.stdout == own, other.stderr
