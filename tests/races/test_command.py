"""`optgen race`: the whole command on a tiny task, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from optgen import specfiles
from optgen.cli import main
from optgen.races import baselines, protocol, task
from optgen.races.contender import read
from optgen.races.results import Race

TINY = str(Path(__file__).with_name("tiny.py"))


def test_a_race_against_a_stored_baseline(
    here: Any, own_store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of the baseline is trained again."""
    line = ["race", "sgd", "sophia", "--task", TINY, "--seeds", "4,7", "-o", str(tmp_path / "first")]
    assert main(line) == 0
    first = capsys.readouterr().out
    lines = first.splitlines()
    assert max(len(x) for x in lines if not x.startswith(str(tmp_path))) <= 80
    written = ["results.json", "table.txt", "tiny-rate.svg", "tiny-steps.svg"]
    assert lines[-4:] == [str(tmp_path / "first" / name) for name in written]
    assert "sophia is out: sophia needs 'h_hat'" in first
    race = Race.from_json((tmp_path / "first" / "results.json").read_bytes())
    monkeypatch.setattr(specfiles, "races", lambda: tmp_path)
    own = [task.load(TINY)]
    data = baselines.encoded(race, read("sgd"), own, protocol.full((4, 7)))
    data = data.replace(f'"torch":"{torch.__version__}"'.encode(), b'"torch":"1.99.0"')
    (tmp_path / "sgd.json").write_bytes(data)
    here.ran.clear()
    own_store.rename(tmp_path / "away")
    assert (
        main(
            [
                "race",
                "sgd(rescale_grad=1)",
                " sgd(rescale_grad=1)",
                "--against",
                "sgd",
                "--task",
                TINY,
                "--seeds",
                "4,7",
            ]
        )
        == 0
    )
    assert {job.contender for job in here.ran} == {"sgd(rescale_grad=1)"}
    second = capsys.readouterr().out
    assert "sgd*" in second and "*: from a stored baseline" in second
    assert "Stored baselines of other versions (sgd: torch 1.99.0)" in " ".join(second.split())
    assert second.count("16 trials") == 0 and second.count("13 trials") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["adamv"], "no spec named 'adamv'"),
        (["sophia", "adahessian"], "sophia needs 'h_hat'"),
        (["adam(lr=1)"], "the race finds the rate itself"),
        (["adam", "--tasks", "mnist"], "no task named 'mnist'"),
        (["adam", "--task", "mine.py"], "no such task: mine.py"),
        (["adam", "--task", __file__], "it has no function train"),
        (["adam", "adam()"], "adam and adam() are the same optimizer"),
        (["adam", "--task", TINY, "-o", __file__], f"-o {__file__}: no folder can be made there: File exists"),
        (["adam", "--seeds", "0"], "--seeds 0: how many"),
        (["adam", "--seeds", "a"], "--seeds a: how many"),
        (["adam", "--sweep", "beta2"], "--sweep beta2: write a param and its values"),
        (["adam", "--sweep", "beta7=1,2"], "did you mean 'beta"),
        (
            ["adam(beta2=.9)", "--task", TINY, "--baseline"],
            "--baseline: adam(beta2=.9) is no spec that comes with optgen",
        ),
    ],
)
def test_wrong_lines(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", *line]) == 2
    assert message in capsys.readouterr().err
