"""Mutants are what they say, stand where they were found, and the verdicts on record still hold."""

from __future__ import annotations

import ast
import signal
import sys
import time
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.mutants import judge
from tests.mutants.judge import Judges, Verdict, copies, failing, judged, read_verdicts, write_verdicts
from tests.mutants.mutate import Mutant, chosen, mutants
from tests.mutants.touched import ROOT, Noted, block_of, blocks
from tests.process import started

ON_RECORD = sorted((Path(__file__).parent / "verdicts").glob("*.jsonl"))

TEXT = '''\
"""Docs: 1 < 2."""

LIMIT = 3


def first(xs: list[int], *, most: int = 0) -> int:
    """The first."""
    if not xs:
        raise ValueError(f"{len(xs)} of {1}", 2)
    xs.sort(key=abs, reverse=True)
    found = min(xs[0], most) if most is not None else xs[0]
    assert found < 5
    return found
'''

CHANGES = [
    ("constant", "LIMIT = 3", "LIMIT = 4"),
    ("constant", "most: int = 0", "most: int = 1"),
    ("branch", "if not xs:", "if not (not xs):"),
    ("statement", 'raise ValueError(f"{len(xs)} of {1}", 2)', "pass"),
    ("statement", "xs.sort(key=abs, reverse=True)", "pass"),
    ("argument", "key=abs, reverse=True", "key=abs"),
    ("constant", "reverse=True", "reverse=False"),
    ("branch", "min(xs[0], most) if most is not None else xs[0]", "xs[0] if most is not None else min(xs[0], most)"),
    ("argument", "min(", "max("),
    ("argument", "xs[0], most", "most, xs[0]"),
    ("constant", "min(xs[0]", "min(xs[1]"),
    ("comparison", "is not None", "is None"),
    ("constant", "else xs[0]", "else xs[1]"),
]


def test_all_mutants_of_a_text() -> None:
    found = {(m.kind, m.applied(TEXT)) for m in mutants("a.py", TEXT)}
    assert found == {(kind, TEXT.replace(old, new, 1)) for kind, old, new in CHANGES}


def test_a_mutant_is_found_again_where_its_lines_are_nearest() -> None:
    text = "x = 1\n" * 2 + "y = 2\n" + "x = 1\n" * 3
    mutant = Mutant("a.py", 5, "constant", "x = 1", "x = 2")
    assert mutant.applied("# new\n" + text) == "# new\n" + text.replace("y = 2\nx = 1\n", "y = 2\nx = 2\n", 1)
    assert mutant.applied("# x = 1\nx = 10\n") is None
    overlapping = Mutant("a.py", 2, "constant", "x = 1\nx = 1", "x = 1\nx = 2")
    assert overlapping.applied("x = 1\n" * 3) == "x = 1\nx = 1\nx = 2\n"


def test_what_changes_nothing_is_no_mutant(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("f(x, x)\ng(y, z)\n")
    assert {m.after for m in chosen(tmp_path, ["a.py"], 10, 0)} == {"pass", "g(z, y)"}


def test_a_seed_draws_the_same_mutants_of_all_kinds() -> None:
    drawn = [chosen(ROOT, ["optgen/passes", "optgen/files.py"], 10, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sorted(m.kind for m in drawn[0]) == sorted(["argument", "branch", "comparison", "constant", "statement"] * 2)
    for mutant in drawn[0]:
        text = mutant.applied((ROOT / mutant.path).read_text())
        assert text is not None
        ast.parse(text)


def test_blocks_have_the_names_of_their_functions() -> None:
    text = "class A:\n    def f(self):\n        if self:\n            x = 1\n        else:\n            x = 2\n"
    found = [(block.name, block.first) for block in blocks(ast.parse(text))]
    assert found == [("A.f:0", 2), ("A.f:1", 4), ("A.f:2", 6)]
    assert [block_of(text, line) for line in (1, 2, 3, 4, 6)] == [None, "A.f:0", "A.f:0", "A.f:1", "A.f:2"]


def test_those_that_run_the_block_come_first_and_files_take_turns() -> None:
    text = "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
    tests = Judges({
        "a::1": Noted(1.0, {"m.py:f:0"}),
        "a::2": Noted(1.0, {"m.py:f:0", "n.py:h:0"}),
        "b::1": Noted(1.0, {"m.py:f:0", "n.py:h:0", "n.py:i:0"}),
        "b::2": Noted(1.0, {"m.py:g:0"}),
        "b::3": Noted(1000.0, {"m.py:f:0"}),
        "c::1": Noted(1.0, {"n.py:h:0"}),
    })  # fmt: skip
    assert tests.of(Mutant("m.py", 2, "", "", ""), text) == ["a::1", "a::2", "b::1", "b::2"]


def test_the_test_that_fails_is_named(tmp_path: Path) -> None:
    """Whether it fails, ends Python, is not there, or its file cannot be imported."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "tests" / "test_bad.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "tests" / "test_it.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.parametrize('word', ['a - b', 'a'])\n"
        "def test_word(word): assert word != 'a'\n"
        "def test_end(): os.abort()\n"
    )
    names = {x: f"tests/test_it.py::test_{x}" for x in ("word[a - b]", "word[a]", "end", "gone")}
    ok, fails, ends, gone = names.values()
    bad = "tests/test_bad.py::test_it"
    for other in (fails, ends, gone, bad):
        assert failing(tmp_path, [ok, other], "-x") == [other]
    assert failing(tmp_path, [ok], "-x") == []


@pytest.mark.parametrize("bad", ["b", "c", ""])
def test_what_does_not_end_in_time_is_asked_alone(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the tests before it may have taken the time; and those behind it are not forgotten."""
    asked = []

    def run(command: list[str], **_: Any) -> CompletedProcess[str]:
        names = [x for x in command if "::" in x]
        asked.append("".join(x[-1] for x in names))
        if len(names) > 1:
            error = AssertionError()
            error.add_note(f"{names[0]} PASSED   [ 33%]\n{names[1]} \n")
            raise error
        is_bad = names[0][-1] == bad
        return CompletedProcess(command, int(is_bad), f"FAILED {names[0]}\n" * is_bad, "")

    monkeypatch.setattr(judge, "run", run)
    names = [f"tests/test_it.py::test_{x}" for x in "abc"]
    assert failing(ROOT, names, "-x") == [x for x in names if x[-1] == bad]
    assert asked == ["abc", "b"] + ["c"] * (bad != "b")


def test_verdicts_are_read_as_they_were_written(tmp_path: Path) -> None:
    mutant = Mutant("a.py", 3, "statement", "    x += 1\n    y", "    pass\n    y")
    verdicts = [Verdict(mutant, "killed", "a::b"), Verdict(mutant, "survived", why="it is 'equal'")]
    drawn = {"files": ["optgen"], "number": 2, "seed": 7}
    write_verdicts(tmp_path / "x.jsonl", drawn, verdicts)
    assert read_verdicts(tmp_path / "x.jsonl") == (drawn, verdicts)


JUDGE = """
import sys
from pathlib import Path
from tests.mutants.__main__ import end_at_signals
from tests.mutants.judge import Verdict, judged
from tests.mutants.mutate import Mutant

end_at_signals()
mutant = Mutant("a.py", 1, "constant", "x = 1", "x = 2")
list(judged([Verdict(mutant, "survived")], lambda _: ["tests/test_it.py::test_it"], [Path(sys.argv[1])]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_need_not_wait_for_tests(number: int, tmp_path: Path) -> None:
    """The one that runs is ended, and the copy of the tree is as it was."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    test = "from pathlib import Path\nimport time\ndef test_it(): Path('runs').touch(); time.sleep(300)\n"
    (tmp_path / "tests" / "test_it.py").write_text(test)
    with started([sys.executable, "-c", JUDGE, tmp_path], timeout=60, cwd=ROOT) as program:
        while not (tmp_path / "runs").exists():
            assert program.returncode is None, program.errors
            time.sleep(0.05)
        assert (tmp_path / "a.py").read_text() == "x = 2\n"
        program.signal(number)
        assert program.wait().returncode == -signal.SIGINT
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


@pytest.mark.stress
@pytest.mark.parametrize("path", ON_RECORD, ids=lambda path: path.stem)
def test_what_was_killed_is_killed(path: Path) -> None:
    """By the same test, which passes without it: one that is renamed fails, too."""
    killed = [verdict for verdict in read_verdicts(path)[1] if verdict.verdict == "killed"]
    with copies(2) as trees:
        assert failing(trees[0], sorted({verdict.by for verdict in killed})) == []
        now = list(judged(killed, lambda verdict: [verdict.by], trees))
    assert [v.mutant.described() for v in now if v.verdict not in ("killed", "gone")] == []
