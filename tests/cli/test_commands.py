"""The command line: what each command prints and writes, where errors go, exit codes, help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.cli import main

GOOD = """\
optimizer Mine "a test"

param beta = 0.9 in [0, 1)

state m = 0

update:
  m' = beta*m + g
  w' = w - lr*m'
"""
BAD = GOOD.replace("beta*m", "bata*m").replace("lr*m'", "lr*mm")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def good(here: Path) -> Path:
    path = here / "mine.opt"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(here: Path) -> Path:
    path = here / "bad.opt"
    path.write_text(BAD)
    return path


# ---------------------------------------------------------------- the line itself


COMMANDS = (
    "analyze",
    "build",
    "check",
    "compare",
    "fmt",
    "show",
    "explain",
    "list",
    "new",
    "doc",
    "cache",
    "tune",
    "language",
)


def test_help_names_every_command(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(f"    {name} " in text for name in COMMANDS) and "examples:" in text


def test_no_command_is_help(capsys: Capture) -> None:
    assert main([]) == 0
    bare = capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert bare == capsys.readouterr() and "usage: optgen" in bare.out


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0 and capsys.readouterr().out == f"optgen {optgen.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"examples:\n  optgen {name}" in text


@pytest.mark.parametrize(
    "line",
    [
        "compile adam",
        "build --target abacus",
        "show adam --stage soul",
        "show",
        "new",
        "check --fast",
        "cache empty",
    ],
)
def test_usage_errors_are_2(line: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert "usage: optgen" in captured.err and not captured.out


@pytest.mark.parametrize("command", ["build", "check", "fmt", "show --stage ir", "explain"])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("adamm", "no spec named 'adamm'; did you mean 'adam'?"),
        ("no/such.opt", "no such file: no/such.opt"),
        ("./", "./ is a folder; name its files"),
        ("latin.opt", "latin.opt: not UTF-8 text (byte 3)"),
    ],
)
def test_a_spec_that_is_not_there_is_2(command: str, spec: str, message: str, here: Path, capsys: Capture) -> None:
    (here / "latin.opt").write_bytes(b"abc\xe9")
    assert main([*command.split(), spec]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"optgen: {message}\n" and not captured.out


@pytest.mark.parametrize("command", ["build --kernels", "fmt", "doc"])
def test_commands_on_files_say_how_to_make_one(command: str, capsys: Capture) -> None:
    assert main([*command.split(), "sgd with ema"]) == 2
    assert capsys.readouterr().err.endswith("optgen show 'sgd with ema' > mine.opt\n")


@pytest.mark.parametrize("command", ["build", "check", "show --stage ir", "explain"])
def test_spec_errors_are_1_and_all_shown(command: str, bad: Path, capsys: Capture) -> None:
    assert main([*command.split(), str(bad)]) == 1
    captured = capsys.readouterr()
    assert "bad.opt:8:8" in captured.err and "bad.opt:9:15" in captured.err
    assert "did you mean 'beta'?" in captured.err
    assert "Traceback" not in captured.err and not captured.out


def test_a_closed_pipe_is_no_error(good: Path) -> None:
    code = "import sys; from optgen.cli import main; sys.exit(main(['show', 'mine.opt', '--stage', 'llvm']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=good.parent, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_the_module_runs_as_a_program(good: Path) -> None:
    command = [sys.executable, "-m", "optgen", "check", "mine.opt"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=good.parent, check=True)
    assert run.stdout == "mine.opt: ok\n"


def test_a_terminal_without_unicode(good: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "optgen", "explain", "mine.opt"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=good.parent, env=environment, check=True)
    assert r"m\u209c = " in run.stdout


# ---------------------------------------------------------------- check, fmt, list, new


def test_check(good: Path, bad: Path, capsys: Capture) -> None:
    assert main(["check", "mine.opt"]) == 0
    assert capsys.readouterr() == ("mine.opt: ok\n", "")
    assert main(["check", "bad.opt", "mine.opt"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "mine.opt: ok\n" and "unknown name 'bata'" in captured.err


@pytest.mark.usefixtures("checked_once")
def test_check_of_all_specs(capsys: Capture) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out.count(": ok") == len(specfiles.all_available()) + len(specfiles.transforms())


def test_warnings_do_not_fail(good: Path, capsys: Capture) -> None:
    good.write_text(GOOD.replace("update:", "param unread = 1\n\nupdate:"))
    assert main(["check", "mine.opt"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "mine.opt: ok\n" and "warning[" in captured.err and "unread" in captured.err


def test_fmt(good: Path, capsys: Capture) -> None:
    assert main(["fmt", "mine.opt"]) == 0
    settled = good.read_text()
    good.write_text(settled.replace("m' = ", "m'  =   "))
    capsys.readouterr()
    assert main(["fmt", "--check", "mine.opt"]) == 1
    assert capsys.readouterr().out == "would change mine.opt\n"
    assert good.read_text() != settled
    assert main(["fmt", "mine.opt"]) == 0
    assert capsys.readouterr().out == "changed mine.opt\n"
    assert good.read_text() == settled
    assert main(["fmt", "--check", "mine.opt"]) == 0
    assert capsys.readouterr() == ("", "")
    assert [p.name for p in good.parent.iterdir()] == ["mine.opt"]


def test_fmt_of_a_line_that_does_not_parse(good: Path, capsys: Capture) -> None:
    text = GOOD.replace("w - lr", "w - * lr")
    good.write_text(text)
    assert main(["fmt", "mine.opt"]) == 1
    assert "mine.opt:9:" in capsys.readouterr().err
    assert good.read_text() == text


def test_specs_that_come_along_are_formatted() -> None:
    assert main(["fmt", "--check"]) == 0


@pytest.mark.usefixtures("checked_once")
def test_list(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == list(specfiles.all_available())
    assert max(map(len, rows)) <= 80
    assert "adam                      Adam: a method for stochastic optimization" in rows
    assert "accsgd                    On the insufficiency of existing momentum schemes for…" in rows
    assert main(["list", "--long"]) == 0
    shown = capsys.readouterr()
    assert max(map(len, shown.out.splitlines())) <= 80 and shown.err.startswith("\na flag in brackets is no argument")
    blocks = shown.out.rstrip("\n").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == list(specfiles.all_available())
    adam = blocks[specfiles.all_available().index("adam")]
    assert adam.endswith("\n    flags: amsgrad\n    states: m v v_max") and "arXiv:1412.6980" in adam


@pytest.mark.usefixtures("checked_once")
def test_some_of_the_list(capsys: Capture) -> None:
    def names(*line: str) -> list[str]:
        assert main(["list", *line]) == 0
        return [row.split()[0] for row in capsys.readouterr().out.splitlines()]

    assert names("--family", "matrix") == list(specfiles.available("matrix"))
    assert names("--family", "noise") == ["ivon", "noisysgd", "psgld", "sghmc", "sgld"]
    assert names("--search", "SUBLINEAR", "memory") == ["adafactor"]
    assert set(names("--search", "lion")) >= {"lion", "cautious_lion", "dadaptlion"}
    for words in ("schedule free", "Schedule-Free", "schedule_free"):
        assert {"schedulefree_adamw", "schedulefree_radam", "schedulefree_sgd"} <= set(names("--search", words))
    assert main(["list", "--search", "abacus"]) == 1
    assert capsys.readouterr() == ("", "no spec has all that was asked for; 'optgen list' shows all\n")


def test_new_is_a_spec_to_start_from(here: Path, capsys: Capture) -> None:
    assert main(["new", "my_adam"]) == 0
    path = here / "my_adam.opt"
    assert capsys.readouterr().out.startswith("wrote my_adam.opt; next:\n  optgen check my_adam.opt\n")
    optimizer = optgen.parse(path.read_text())
    assert optimizer.name == "MyAdam" and not optimizer.warnings
    assert path.read_text().count("#") > 5
    assert not any(line.startswith("#") for line in path.read_text().splitlines())  # no remark of `optgen doc`
    assert main(["fmt", "--check", "my_adam.opt"]) == 0
    path.write_text("mine")
    assert main(["new", "my_adam.opt"]) == 2
    assert "my_adam.opt exists; nothing is overwritten" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_new_matrix_writes_a_spec_that_trains(here: Path, capsys: Capture) -> None:
    assert main(["new", "--matrix", "my_muon"]) == 0 and main(["fmt", "--check", "my_muon.opt"]) == 0
    text = (here / "my_muon.opt").read_text()
    assert not any(line.startswith("#") for line in text.splitlines())
    assert not optgen.parse(text).warnings and main(["check", "my_muon.opt"]) == 0
    rng = np.random.default_rng(0)
    wanted = rng.normal(size=(6, 4))
    weights, grads = [np.zeros((6, 4), "f"), np.zeros(4, "f")], [np.zeros((6, 4), "f"), np.zeros(4, "f")]
    step = optgen.load(str(here / "my_muon.opt"), lr=0.1, adam_lr=0.05).bind(weights, grads)
    for _ in range(100):
        for g, w, x in zip(grads, weights, (wanted, wanted[0]), strict=True):
            g[...] = w - x
        step()
    assert all(np.abs(w - x).max() < 0.2 for w, x in zip(weights, (wanted, wanted[0]), strict=True))


def test_new_makes_a_folder_that_is_not_there(here: Path, capsys: Capture) -> None:
    for name in ("mine", "other.opt"):
        assert main(["new", f"my/{name}"]) == 0
    assert sorted(path.name for path in (here / "my").iterdir()) == ["mine.opt", "other.opt"]
    (here / "file").touch()
    capsys.readouterr()
    assert main(["new", "file/mine.opt"]) == 2
    assert capsys.readouterr().err == "optgen: no such folder: file\n"


@pytest.mark.parametrize("name", ["1st", "a-b", "", "a b.opt", "no/such/folder/x"])
def test_new_refuses(name: str, here: Path, capsys: Capture) -> None:
    assert main(["new", name]) == 2
    assert capsys.readouterr().err.startswith("optgen: ")
    assert not list(here.iterdir())


# ---------------------------------------------------------------- cache, variables


def test_cache(here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "kept"
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(folder))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{folder}\n0 entries, 0 bytes; the limit is 512.0 MiB (536,870,912 bytes)\n"
    optgen.load("sgd").cost  # noqa: B018 (checks a model)
    monkeypatch.setenv("OPTGEN_CACHE_SIZE", "1500000")
    (folder / ("0" * 64)).write_bytes(b"x" * 5000)
    (folder / f"{0:064x}.01234567-0123456789abcdef.tmp").write_bytes(b"half")
    (folder / "README").write_text("not of the cache")
    (model,) = (p for p in folder.iterdir() if len(p.name) == 64 and p.name != "0" * 64)
    size = 5000 + model.stat().st_size
    text = f"{size / 1024:.1f} KiB ({size:,} bytes)"
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{folder}\n2 entries, {text}; the limit is 1.4 MiB (1,500,000 bytes)\n"
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 2 entries, {text}\n"
    assert [p.name for p in folder.iterdir()] == ["README"]
    folder.chmod(0o755)
    assert main(["cache"]) == 2
    assert capsys.readouterr().err.startswith(f"optgen: the cache {folder} is not used: it cannot be made, or is not a")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OPTGEN_NUM_THREADS", "many", "OPTGEN_NUM_THREADS must be a number from 1 to 256, not 'many'"),
        ("OPTGEN_CACHE_SIZE", "1X", "OPTGEN_CACHE_SIZE must be a number of bytes, as 512M or 2G, not '1X'"),
    ],
)
@pytest.mark.parametrize("line", ["list", "check sgd", "explain sgd", "cache"])
def test_bad_variables_are_2(
    line: str, name: str, value: str, message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.err == f"optgen: {message}\n" and not captured.out
    monkeypatch.setenv(name, "")  # as if it were not set
    assert main(line.split()) == 0
