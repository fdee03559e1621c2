"""The command line: what each command prints and writes, where errors go, exit codes, help."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.backends.ptx.table import Unit
from optgen.cli import explain, main
from optgen.cli.bandwidth import bandwidth
from optgen.expressions import Expr
from optgen.symbolic.written import expression

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


COMMANDS = ("build", "check", "fmt", "show", "explain", "list", "new", "doc", "cache", "language")


def test_help_names_every_command(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(f"    {name} " in text for name in COMMANDS) and "examples:" in text


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
        "",
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


def test_the_module_runs_as_a_program() -> None:
    run = subprocess.run([sys.executable, "-m", "optgen", "list"], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[0].split() == ["spec", "flags", "states", "title"]


# ---------------------------------------------------------------- check, fmt, list, new


def test_check(good: Path, bad: Path, capsys: Capture) -> None:
    assert main(["check", "mine.opt"]) == 0
    assert capsys.readouterr() == ("mine.opt: ok\n", "")
    assert main(["check", "bad.opt", "mine.opt"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "mine.opt: ok\n" and "unknown name 'bata'" in captured.err


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


def test_list(capsys: Capture) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr()
    rows = shown.out.splitlines()
    assert [row.split()[0] for row in rows] == ["spec", *specfiles.all_available()]
    assert shown.err.startswith("\na flag in brackets is no argument")
    adam = next(row for row in rows if row.startswith("adam "))
    assert "amsgrad" in adam and "m v" in adam and optgen.parse(_text("adam")).title in adam


def _text(name: str) -> str:
    return specfiles.spec_path(name).read_text("utf-8")


def test_new_is_a_spec_to_start_from(here: Path, capsys: Capture) -> None:
    assert main(["new", "my_adam"]) == 0
    path = here / "my_adam.opt"
    assert capsys.readouterr().out.startswith("wrote my_adam.opt; next: optgen check my_adam.opt")
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


# ---------------------------------------------------------------- show, explain


def test_show_model(capsys: Capture) -> None:
    assert main(["show", "adam", "--stage", "model", "--set", "amsgrad=true", "--set", "beta1=0.8"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "optimizer Adam, amsgrad=true"
    assert "state v_max: elem = 0" in rows
    assert "lr_t: host = lr*sqrt(1 - beta2^t)/(1 - beta1^t)" in rows
    assert rows[-1] == "w': elem = w - lr_t*m'/(sqrt(v_max') + epsilon)"


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a + (b + c)",
        "a - b + c",
        "a*(b/c)",
        "a/b*c",
        "(a^b)^c",
        "a^b^c",
        "(-a)^2",
        "-a^2",
        "-(a + b)*c",
        "a*(-b)",
        "a^(-b)",
        "where(not (a > b or b > c) and a == c, max(a), mean(b, per row)) - norm(c, over params)",
        "where((a > b or b > c) and not a == c, floor(a), 1e-8)",
    ],
)
def test_show_keeps_the_tree(text: str) -> None:
    """An expression that is shown and read again is the same tree."""

    def value(text: str) -> Expr:
        lines = f"  x  = {text}\n  y' = y + x\n  w' = w - y'\n"
        names = "state y = 0\ninput a\ninput b\ninput c\n"
        return optgen.parse(f"optimizer X\n{names}\nupdate:\n{lines}").update[0].value

    tree = value(text)
    assert value(expression(tree)) == tree


@pytest.mark.parametrize(
    ("stage", "start", "inside"),
    [
        ("spec", "optimizer SGD ", "state mom"),
        ("ir", "kernel SGD float64", "buffer mom elem float64 written"),
        ("llvm", "; ModuleID", "double"),
        ("asm", "\t.", "optgen_sgd"),
        ("nvvm", "; ModuleID", "define ptx_kernel void"),
        ("ptx", "//", ".target sm_75"),
    ],
)
def test_show_stages(stage: str, start: str, inside: str, capsys: Capture) -> None:
    assert main(["show", "sgd", "--stage", stage, "--set", "momentum=0.9", "--dtype", "float64"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(start) and inside in text and text.endswith("\n") and not text.endswith("\n\n")


@pytest.mark.parametrize(("stage", "head"), [("llvm", "; ModuleID"), ("ptx", ".version ")])
def test_show_kernels_between_products(stage: str, head: str, capsys: Capture) -> None:
    assert main(["show", "muon", "--stage", stage]) == 0
    text = capsys.readouterr().out
    assert text.count(head) == 2 and all(f"_stage{i}" in text for i in range(2))


def test_show_is_the_spec_without_uses(capsys: Capture) -> None:
    assert main(["show", "adam with lookahead(k=5)"]) == 0
    text = capsys.readouterr().out
    assert optgen.parse(text).name == "AdamLookahead" and "use" not in text.split()


def test_architectures(capsys: Capture) -> None:
    assert main(["show", "sgd", "--stage", "ptx", "--arch", "sm_90"]) == 0
    assert ".target sm_90\n" in capsys.readouterr().out
    for line, message in [
        ("show sgd --stage ptx --arch sm_9", "--arch sm_9: it is one of sm_75, sm_80,"),
        ("show sgd --stage llvm --arch sm_90", "--arch is for --stage ptx"),
        ("build sgd --target cuda --arch 90", "--arch 90: it is one of sm_75, sm_80,"),
        ("build sgd --arch sm_90", "--arch is for --target cuda"),
    ]:
        assert main(line.split()) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"optgen: {message}") and not captured.out
    assert not Path("generated").exists()


def test_show_masters_and_storage(capsys: Capture) -> None:
    line = ["show", "adam", "--stage", "ir", "--dtype", "bfloat16"]
    assert main([*line, "--master", "--storage", "v=bfloat16_stochastic"]) == 0
    buffers = [row.split()[1:4] for row in capsys.readouterr().out.splitlines() if row.startswith("buffer ")]
    storage = {name: storage for name, _, storage in buffers}
    assert (storage["w"], storage["copy"], storage["grad"]) == ("float32", "bfloat16", "bfloat16")
    assert (storage["m"], storage["v"]) == ("float32", "bfloat16_stochastic")
    assert main([*line, "--storage", "v=float8"]) == 2
    assert "cannot be stored as 'float8'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("amsgrad", "'amsgrad' is not NAME=VALUE"),
        ("amsgrad=", "'amsgrad=' is not NAME=VALUE"),
        ("amsgrad=maybe", "'amsgrad' must be True or False, not 'maybe'"),
        ("bata1=0.5", "did you mean 'beta1'?"),
        ("beta1=1", "'beta1' must be in [0, 1), not 1.0"),
        ("beta1=none", "'beta1' must be a number, not None"),
    ],
)
def test_show_settings(setting: str, message: str, capsys: Capture) -> None:
    assert main(["show", "adam", "--stage", "model", "--set", setting]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.startswith("optgen: ") and not captured.out


def test_explain(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optgen.cli.bandwidth.bandwidth", lambda: 28e9)
    assert main(["explain", "adam"]) == 0
    text = capsys.readouterr().out
    assert "vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²" in text
    assert "  −lr·√(1 − β₂)·gₜ/(ε + √(1 − β₂)·|gₜ|)\n" in text
    assert re.search(r"amsgrad=false +4 read, 3 written +28 +\d+ +1 +100 ms\n", text)
    assert re.search(r"amsgrad=true +5 read, 4 written +36 +\d+ +1 +129 ms\n", text)
    assert "at 28.0 GB/s, measured now with" in text
    assert "\nInputs\n" not in text and "\nRequirements\n" not in text
    assert "Launches of a step on a GPU, by what they go over\n  elements\n" in text
    assert "\\begin{aligned}" in text
    assert "  amsgrad=false\n    reads w grad m v (16 bytes), writes w m v (12 bytes)\n" in text


DECLARING = """\
optimizer Declaring alias Other "declares everything"
param beta = 0.9 in [0, 1) alias rho, decay "how slow"
flag  kind = 'a' | 'b' "which"
flag  frozen per param = false
flag  matrix = rank >= 2
state v: row = beta if matrix "rows"
state m = 0
input h "curvature"
require beta > 0 or kind == 'a' "beta is needed"
update:
  v' = beta*v + mean(g^2, per row)   if matrix
  m' = m + g*h
  d  = m'                            if kind == 'a'
  d  = sign(m')                      otherwise
  w' = w                             if frozen
  w' = w - lr*d/(v' + 1)             if matrix
  w' = w - lr*d                      otherwise
"""


def test_explain_the_roofline_of_matrices(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optgen.cli.bandwidth.bandwidth", lambda: 20e9)
    monkeypatch.setattr("optgen.cli.bandwidth.product_speed", lambda: 200e9)
    assert main(["explain", "muon"]) == 0
    shown = capsys.readouterr().out.partition("Roofline of a float32 update, the mean of many\n")[2].splitlines()
    n, m = 768, 3072
    flops = 5 * (n * n * m + n**3 + 2 * n * n * m)  # of the three products of a turn two are symmetric
    moved = 9 * 4 * n * m  # grad m m', grad m' Y, w Y' w'
    row = next(line for line in shown if line.startswith(f"  {n} x {m} ")).split()[3:]
    times = f"{flops / 200e9 * 1e3:,.1f}", "ms"
    assert row == [f"{flops / 1e9:,.1f}", f"{moved / 1e6:,.0f}", f"{flops / moved:.0f}", *times, "products"]
    assert "at 200 GFLOP/s for products of 1024 x 1024 and 20.0 GB/s, both measured now" in "\n".join(shown)
    assert "memory limits below 10.0 operations a byte" in "\n".join(shown)
    assert main(["explain", "adam"]) == 0 and "Roofline" not in capsys.readouterr().out


def test_explain_what_is_declared(here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optgen.cli.bandwidth.bandwidth", lambda: 28e9)
    (here / "all.opt").write_text(DECLARING)
    assert main(["explain", "all.opt"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Declaring\nalso called Other\ndeclares everything\n\nEquations\n")
    assert "  where matrix: rank ≥ 2\n" in text
    lines = [re.sub(" +", " ", line.strip()) for line in text.splitlines()]
    for title, *rows in (
        ("Hyper-parameters", "beta or rho or decay 0.9 [0, 1) how slow"),
        ("Flags", "kind a a or b which", "frozen false true or false, for each parameter", "matrix rank >= 2"),
        ("States", "v one for each row starts at beta if matrix rows", "m one for each element starts at 0"),
        ("Inputs", "h curvature"),
        ("Requirements", "beta > 0 or kind == 'a' beta is needed"),
    ):
        at = lines.index(title)
        assert lines[at + 1 : at + 1 + len(rows)] == rows
    assert "rows: a thread computes the values of one row" in lines


def test_explain_values_of_rows(here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optgen.cli.bandwidth.bandwidth", lambda: 28e9)
    text = GOOD.replace("state m = 0", "state m: row = 0").replace("+ g", "+ mean(g, per row)")
    (here / "rows.opt").write_text(text)
    assert main(["explain", "rows.opt"]) == 0
    text = capsys.readouterr().out
    assert "mₜ = β·mₜ₋₁ + mean[per row](gₜ)" in text
    assert re.search(r"all variants +2 read, 1 written +12 +\d+ +2 +43 ms\n", text)
    assert "by what they go over\n  rows, row blocks, rows, elements\n" in text
    assert (
        "  reads grad (4 bytes)\n  reads w (4 bytes), writes w (4 bytes)\n  at most 1.00 of the speed of one sweep"
        in text
    )


def test_explain_gradients_given_away(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that changes the sweeps."""
    monkeypatch.setattr("optgen.cli.bandwidth.bandwidth", lambda: 28e9)
    line = "with gradients given away (donate_grads=True) reads 24 bytes instead of 28: at most 0.67 of that speed"
    for spec, differs in (("lamb", True), ("novograd", False)):
        assert main(["explain", spec]) == 0
        text = capsys.readouterr().out
        assert "of the speed of one sweep over the same arrays\n" in text
        assert (line in text) == differs and ("given away" in text) == differs


def test_a_terminal_without_unicode(good: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "optgen", "explain", "mine.opt"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=good.parent, env=environment, check=True)
    assert r"m\u209c = " in run.stdout


def test_bandwidth_is_measured_in_a_second() -> None:
    begin = time.thread_time()
    speed = bandwidth()
    assert time.thread_time() - begin < 10  # about 0.5 s
    assert 1e8 < speed < 1e13


def test_every_unit_of_a_launch_is_explained() -> None:
    assert set(explain.UNITS) == set(get_args(Unit))
