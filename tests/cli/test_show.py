"""`optgen show` and `optgen explain`: the stages of a spec, and what a step of it does with memory."""

from __future__ import annotations

import itertools
import re
import struct
import time
from pathlib import Path
from typing import get_args

import pytest

import optgen
from optgen import pipeline, specfiles
from optgen.backends import target
from optgen.backends.cpu import calls_math
from optgen.backends.gpu.table import Unit
from optgen.bandwidth import bandwidth
from optgen.cli import explain, main
from optgen.expressions import Expr
from optgen.ir import Kernel, Variant
from optgen.passes import PASSES
from optgen.passes.expand_math import expand_math
from optgen.stages.plan import KernelStage
from optgen.symbolic.written import expression

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
        ("kernel", "kernel SGD float64", "\nupdate:\n"),
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


def test_show_a_kernel_with_products_before_it_is_cut(capsys: Capture) -> None:
    assert main(["show", "muon", "--stage", "kernel"]) == 0
    text = capsys.readouterr().out
    assert "\n  repeat ns_steps: %Y.turn: elem f32 = %Y\n" in text and " = matmul %Y.turn " in text


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
    assert main(["show", "sgd", "--stage", "amdgpu", "--arch", "gfx1100"]) == 0
    assert "define amdgpu_kernel void" in capsys.readouterr().out
    for line, message in [
        ("show sgd --stage ptx --arch sm_9", "--arch sm_9: it is one of sm_75, sm_80,"),
        ("show sgd --stage llvm --arch sm_90", "--arch is for --stage ptx and --stage amdgpu"),
        ("show sgd --stage amdgpu", "--stage amdgpu needs --arch, as code for one of them runs on no other: gfx90a"),
        ("build sgd --target cuda --arch 90", "--arch 90: it is one of sm_75, sm_80,"),
        ("build sgd --arch sm_90", "--arch is for --target cuda"),
        ("build sgd --cubin", "--cubin is for --target cuda"),
        ("build sgd --kernels --target cuda --cubin", "--cubin is for libraries, and not for bare kernels"),
        ("build sgd --target cuda --triple arm64-apple-macos", "--triple arm64-apple-macos: there is no CUDA for it"),
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


def test_times(capsys: Capture) -> None:
    """A row for each step that runs, with what the kernel has behind it."""
    flags = {"amsgrad": True}
    found = table_of_times(["adam", "--set", "amsgrad=true", "--dtype", "float64"], capsys)
    adam = optgen.parse(specfiles.spec_path("adam").read_text())
    kernel = pipeline.build(adam, Variant(flags, "float64"))
    expected = {"check": (str(len(adam.update)), "", "", ""), "build": row_of(kernel)}
    for run in PASSES:
        kernel = run(kernel)
        expected[run.__name__] = row_of(kernel)
    host, expanded = target.host(), expand_math(kernel, calls_math)
    text = pipeline.lower(kernel, "second0", host)
    compiled = target.compile_ir(text, host)
    expected["expand_math"] = row_of(expanded)
    expected["lower"] = ("", "", instructions(text), "")
    expected["LLVM's passes"] = ("", "", instructions(compiled.llvm), "")
    expected["object code"] = ("", "", "", f"{executable_bytes(compiled.object):,}")
    assert found == expected | dict.fromkeys(("link", "all"), ("",) * 4)


def test_times_of_several_kernels(capsys: Capture) -> None:
    """The sums over them; loops count with all that is in them, and the arrays between kernels have their bytes."""
    found = table_of_times(["muon"], capsys)
    between = ["whole", "orient", "cut", "fold", "layout"]
    assert list(found) == ["check", *between, *list(table_of_times(["adam"], capsys))[1:]]
    muon = optgen.load("muon")
    variant = muon.variant((768, 768))
    plan = pipeline.stages(muon.spec, variant, (), first=False)
    unfolded = pipeline.stages(muon.spec, variant, (), first=False, folds=False)
    assert [found[x][0] for x in ("cut", "fold")] == [str(len(list(x.walk()))) for x in (unfolded, plan)]
    kernels = [x.kernel for x in plan.walk() if isinstance(x, KernelStage)]
    planned = [pipeline.plan(kernel) for kernel in kernels]
    assert found["build"][0] == str(sum(len(list(k.instrs())) for k in kernels))
    assert found["plan_sweeps"][:2] == (str(sum(len(list(k.instrs())) for k in planned)), str(len(planned) + 1))
    matrices = 5  # Y, two that turns write in turn; A = Y@Y^T, and a polynomial of it
    assert found["layout"][3] == f"{matrices * 4 * 768 * 768:,}"


def table_of_times(line: list[str], capsys: Capture) -> dict[str, tuple[str, ...]]:
    """The rows of `optgen show --times`: of each step, what stands below operations, sweeps, instructions and bytes."""
    assert main(["show", *line, "--times"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    ends = [re.search(name, head).end() for name in ("ms", "operations", "sweeps", "LLVM instructions", "bytes")]  # type: ignore[union-attr]
    rows = lines[: [line[:4] for line in lines].index("all ") + 1]
    assert all(len(line) <= 80 for line in (head, *lines))
    names = [re.match(r"\S+( \S+)*", line)[0] for line in rows]  # type: ignore[index]
    cells = [tuple(line[a:b].strip() for a, b in itertools.pairwise(ends)) for line in rows]
    return dict(zip(names, cells, strict=True))


def row_of(kernel: Kernel) -> tuple[str, ...]:
    sweeps = [phase for phase in kernel.phases if phase.kind == "sweep"]
    return f"{len(list(kernel.instrs())):,}", str(len(sweeps) or ""), "", ""


def instructions(text: str) -> str:
    """How many lines of LLVM IR are instructions, with the cases of switches in one line."""
    inside = re.findall(r"^define .*?^}", re.sub(r"\[\n.*?\n  \]", "", text, flags=re.S), re.M | re.S)
    found = re.findall(r"^  +\S", "".join(inside), re.M)
    return f"{len(found):,}"


def executable_bytes(code: bytes) -> int:
    """The bytes in the sections of an ELF file, of 64 bits, that are executable."""
    (begin,), (size, count) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<2H", code, 0x3A)
    sections = [struct.unpack_from("<2I4Q", code, begin + k * size) for k in range(count)]
    return sum(length for _, _, flags, _, _, length in sections if flags & 4)


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
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 28e9)
    assert main(["explain", "adam"]) == 0
    text = capsys.readouterr().out
    assert "vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²" in text
    assert "  −lr·√(1 − β₂)·gₜ/(ε + √(1 − β₂)·|gₜ|)\n" in text
    assert re.search(r"amsgrad=false +4 read, 3 written +28 +\d+ +1 +100 ms\n", text)
    assert re.search(r"amsgrad=true +5 read, 4 written +36 +\d+ +1 +129 ms\n", text)
    assert "at 28.0 GB/s, measured now with" in text
    assert "\nInputs\n" not in text and "\nRequirements\n" not in text
    assert "Launches of a step on a GPU, by what they go over\n  elements\n" in text
    assert "aligned" not in text
    assert "  amsgrad=false\n    reads w grad m v (16 bytes), writes w m v (12 bytes)\n" in text


def test_explain_latex_is_for_a_paper_and_comes_alone(capsys: Capture) -> None:
    assert main(["explain", "adam", "--latex"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("\\begin{aligned}\n") and text.endswith("\\end{aligned}\n")


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


def test_explain_says_which_phase_the_first_change_is_of(here: Path, capsys: Capture) -> None:
    (here / "up.opt").write_text(
        "optimizer Up\nstate old = 0\nphase up:\n  old' = w\n  w' = w + 2*g\nphase down:\n  old' = old\n"
        "  w' = old - lr*g\n"
    )
    assert main(["explain", "up.opt"]) == 0
    said = capsys.readouterr().out
    assert "Change of the weight in phase 'up' of the first step" in said and "no clipping)\n  2·gₜ" in said.replace(
        "\n    ", " "
    )
    assert main(["explain", "sgd"]) == 0
    assert "\nChange of the weight at the first step" in capsys.readouterr().out


def test_explain_the_roofline_of_matrices(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 20e9)
    monkeypatch.setattr("optgen.bandwidth.product_speed", lambda: 200e9)
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
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 28e9)
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
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 28e9)
    text = "optimizer Rows\nparam beta = 0.9\nstate m: row = 0\nupdate:\n"
    text += "  m' = beta*m + mean(g, per row)\n  w' = w - lr*m'\n"
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


def test_explain_gradients_that_may_be_overwritten(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that changes the sweeps."""
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 28e9)
    line = "(donate_grads=True), reads 24 bytes instead of 28: at most 0.67 of that speed"
    for spec, differs in (("lamb", True), ("novograd", False)):
        assert main(["explain", spec]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "of the speed of one sweep over the same arrays " in text
        assert (line in text) == differs and ("donate_grads" in text) == differs


def test_bandwidth_is_measured_in_a_second() -> None:
    begin = time.thread_time()
    speed = bandwidth()
    assert time.thread_time() - begin < 10  # about 0.5 s
    assert 1e8 < speed < 1e13


def test_every_unit_of_a_launch_is_explained() -> None:
    assert set(explain.UNITS) == set(get_args(Unit))
