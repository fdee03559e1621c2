"""Lines of specs in kernels: the instructions of each equation name its line, whatever file that stands in, and are
those of a kernel without lines; linkers, debuggers and profilers find them."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.api import read
from optgen.backends import target
from optgen.backends.gpu.nvidia import Nvidia
from optgen.cli.interleaved import OF_NO_EQUATION, assembly, llvm
from optgen.ir import Kernel
from optgen.model import Equation, Optimizer
from optgen.objectcode import shared_library
from optgen.stages.plan import KernelStage
from tests.cuda.assemble import ptxas
from tests.process import run

GPU = Nvidia("sm_80")
MINE = """\
optimizer Mine
param k: int = 5
state slow = w

def mixed(a, b) = a + 0.5*(b -
                           a)

update:
  fast = use adam(lr = 2*lr)
  slow' = where(mod(t, k) == 0,
                mixed(slow, fast),
                slow)
  w'   = where(mod(t, k) == 0, slow', fast)
"""
ADAM = [("adam.opt", line) for line in range(19, 26)]
OWN = [("mine.opt", 10), ("mine.opt", 13)]
COMPUTED = {*OWN, *(("adam.opt", line) for line in (19, 20, 21, 22, 25))}
"""The lines of a variant without amsgrad."""
STEPS = """
import sys, numpy as np, optgen
w = np.linspace(-1, 1, 70_001, dtype=np.float32)
step = optgen.load(sys.argv[1]).bind([w], [w.copy()])
for _ in range(int(sys.argv[2])):
    step()
"""


def missing(*programs: str) -> pytest.MarkDecorator:
    absent = [x for x in programs if shutil.which(x) is None]
    return pytest.mark.skipif(bool(absent) or sys.platform != "linux", reason=f"needs Linux and {', '.join(programs)}")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.opt"
    path.write_text(MINE)
    return path


def planned(name: str) -> Iterator[tuple[Optimizer, Kernel]]:
    """The kernels of a spec for a matrix, ready for backends."""
    rule = optgen.load(name)
    spec, variant = rule.spec, rule.variant((64, 32))
    if not spec.is_staged(variant.flags):
        yield spec, pipeline.plan(pipeline.build(spec, variant))
        return
    for section in pipeline.stages(spec, variant, spec.timings, first=False).walk():
        if isinstance(section, KernelStage):
            yield spec, pipeline.plan(section.kernel)


def cpu_llvm(kernel: Kernel) -> str:
    return pipeline.lower(kernel, "kernel", target.host())


def gpu_llvm(kernel: Kernel) -> str:
    return pipeline.lower_gpu(kernel, "kernel", GPU).llvm


def cpu(kernel: Kernel) -> str:
    return target.compile_ir(cpu_llvm(kernel), target.host()).assembly


def ptx(kernel: Kernel) -> str:
    return GPU.compile(gpu_llvm(kernel)).decode()


def without_comments(text: str) -> str:
    """A text without equations; metadata of LLVM IR without numbers."""
    plain = re.sub(rf"^\t(#|//|;) ({OF_NO_EQUATION}|.*:\d+  ).*\n", "", text, flags=re.M)
    return re.sub(r"!\d+", "!N", plain).rstrip()


@pytest.mark.parametrize("name", ["sgd", "lamb with lookahead", "muon"])
def test_lines_change_no_instruction(name: str) -> None:
    """LLVM promises as much, but for faults of its own."""
    for spec, kernel in planned(name):
        source = spec.source
        for lowered in (cpu_llvm, gpu_llvm):
            shown = llvm(lowered(replace(kernel, source=source)), source)
            assert without_comments(shown) == re.sub(r"!\d+", "!N", lowered(kernel)).rstrip()
        for compiled in (cpu, ptx):
            shown = assembly(compiled(replace(kernel, source=source)), source)
            assert re.search(r"\n\t(#|//) \w+\.opt:\d+  \w+'? += .*\n", shown)
            assert without_comments(shown) == compiled(kernel).rstrip()


# ---------------------------------------------------------------- from an equation to its file


def places(spec: Optimizer, equations: Sequence[Equation]) -> list[tuple[str, int]]:
    found = [spec.source.where(x.span) for x in equations]
    return [(Path(x.file).name, x.line) for x in found if x is not None]


@pytest.mark.parametrize(
    ("chain", "behind"),
    [
        ("{}", []),
        ("{} with ema", [("ema.opt", 11), ("ema.opt", 14)]),
        ("{} otherwise sgd", [("sgd.opt", 14), ("sgd.opt", 15), ("sgd.opt", 16)]),
    ],
)
def test_equations_know_the_files_that_they_were_written_in(
    chain: str, behind: list[tuple[str, int]], mine: Path
) -> None:
    """So they do where more is monitored, which stands in no file."""
    spec = pipeline.checked(read(chain.format(mine)))
    monitored = pipeline.monitored(spec.source, ["norm(w')"]).spec
    for each in (spec, monitored):
        assert places(each, [*each.update, *each.evaluate]) == [*ADAM, *OWN, *behind]
    assert len(monitored.update) == len(spec.update) + 1


def test_a_line_that_moves_is_found_again(mine: Path) -> None:
    """A chain stands for the same text as before, and for other lines."""
    for above in ("", "# a comment\n"):
        mine.write_text(f"{above}{MINE}")
        spec = pipeline.checked(read(f"{mine} with ema"))
        assert places(spec, spec.update)[len(ADAM)] == ("mine.opt", 10 + above.count("\n"))


# ---------------------------------------------------------------- what tools find


def lines_of(library: Path) -> set[tuple[str, int]]:
    """The lines in the line table of an object, by readelf; 0 is that of no equation, 1 that of a function."""
    command = ["readelf", "--wide", "--debug-dump=decodedline", library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^(\S+\.opt) +(\d+) +0x", text, re.M)
    return {(Path(file).name, int(line)) for file, line in rows if int(line) > 1}


@missing("ld", "readelf")
def test_kernels_are_libraries_in_a_folder_that_is_asked_for(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have the lines, and come to the same bits."""

    def updated() -> bytes:
        w = np.linspace(-1, 1, 70_001, dtype=np.float32)
        step = optgen.load(str(mine)).bind([w], [w.copy()])
        for _ in range(6):
            step()
        return w.tobytes()

    plain = updated()
    monkeypatch.setenv("OPTGEN_DEBUG_DIR", str(tmp_path / "kernels"))
    assert updated() == plain
    (library,) = (tmp_path / "kernels").glob("optgen_mine_f32-*.so")
    assert lines_of(library) == COMPUTED
    assert str(library) in Path("/proc/self/maps").read_text()


@missing("ld")
def test_a_damaged_library_is_replaced(tmp_path: Path) -> None:
    """So is a link in its place, which leads out of the folder."""
    rule = optgen.load("sgd")
    code, symbol = rule.kernel((3,)).native.object, rule.kernel((3,)).native.symbol
    shared_library.load(tmp_path, code, (symbol,))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / path.name).write_bytes(whole[:4000])
    assert shared_library.load(other, code, (symbol,))[symbol]
    assert (other / path.name).stat().st_size == len(whole)
    link = tmp_path / "link"
    link.mkdir(mode=0o700)
    (link / path.name).symlink_to(tmp_path / "elsewhere")
    assert shared_library.load(link, code, (symbol,))[symbol]
    assert not (tmp_path / "elsewhere").exists() and not (link / path.name).is_symlink()


@pytest.mark.parametrize("chosen", ["open", "file"])
def test_other_folders_are_refused(chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their code would be executed."""
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPTGEN_DEBUG_DIR", str(tmp_path / chosen))
    with pytest.raises(ValueError, match=r"OPTGEN_DEBUG_DIR=.*chmod 700"):
        backend = pipeline.CpuBackend(target.host())
        pipeline.code(backend, optgen.load("sgd").spec, optgen.load("sgd").variant((3,)))


def bound(text: str) -> optgen.BoundStep:
    w = np.ones(3, np.float32)
    return optgen.load(optgen.parse(text)).bind([w], [w.copy()])


@pytest.mark.parametrize(
    ("variable", "value"), [("OPTGEN_DEBUG_DIR", "/dev/null/kernels"), ("OPTGEN_CACHE_SIZE", "much")]
)
def test_no_parameter_is_to_blame_for_a_variable(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"^{variable}.*{value}"):
        bound(f"optimizer X\nupdate:\n  w' = w - {len(value)}*lr*g\n")


@missing("ld")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **options: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device", "kernels/code.so")

    monkeypatch.setattr(shared_library, "replacing", full)
    monkeypatch.setenv("OPTGEN_DEBUG_DIR", str(tmp_path / "kernels"))
    with pytest.raises(
        ValueError, match=rf"^OPTGEN_DEBUG_DIR: {tmp_path}/kernels cannot be .*: No space left on device"
    ):
        bound("optimizer X\nupdate:\n  w' = w - 11*lr*g\n")


def test_a_linker_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_library, "LINKER", ("no-such-linker",))
    with pytest.raises(RuntimeError, match="needs the linker ld; install binutils"):
        shared_library.load(tmp_path, b"", ("f",))


def test_ptx_has_lines(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of equations of elements: others are computed on the host."""
    rule = optgen.load(str(mine))
    backend = pipeline.GpuBackend(GPU, target.host())
    assert b".loc" not in pipeline.code(backend, rule.spec, rule.variant((64, 32))).ptx
    monkeypatch.setenv("OPTGEN_DEBUG_DIR", str(tmp_path / "kernels"))
    text = pipeline.code(backend, rule.spec, rule.variant((64, 32))).ptx.decode()
    files = dict(re.findall(r'\t\.file\t(\d+) "(?:.*/)?(.*)"', text))
    found = {(files[file], int(line)) for file, line in re.findall(r"\t\.loc\t(\d+) (\d+)", text)}
    assert {x for x in found if x[1] > 1} == COMPUTED - {("adam.opt", 19)}
    assert ".target sm_80\n" in text  # and not "debug", which has ptxas optimize nothing


@missing("readelf")
@pytest.mark.skipif(ptxas() is None, reason="no ptxas: install CUDA or the package nvidia-cuda-nvcc")
def test_ptxas_takes_lines_and_makes_the_same_code(tmp_path: Path) -> None:
    ((spec, kernel),) = planned("lion")
    made = [cubin(ptx(k), tmp_path) for k in (kernel, replace(kernel, source=spec.source))]
    assert b"lion.opt\0" in made[1] and b"lion.opt\0" not in made[0]
    first, second = ({name: x[a : a + n] for name, a, n in code_of(x, tmp_path)} for x in made)
    assert first == second and len(first) == 1


def cubin(text: str, place: Path) -> bytes:
    source, made = place / "kernel.ptx", place / "kernel.cubin"
    source.write_text(text)
    subprocess.run([str(ptxas()), "-lineinfo", "-arch=sm_80", source, "-o", made], check=True)
    return made.read_bytes()


def code_of(made: bytes, place: Path) -> list[tuple[str, int, int]]:
    """The sections of instructions in an object: names, where they begin, how many bytes they are."""
    (place / "read.cubin").write_bytes(made)
    command = ["readelf", "--wide", "--section-headers", place / "read.cubin"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"(\.text\.\S+) +PROGBITS +\w+ (\w+) (\w+)", text)
    return [(name, int(begin, 16), int(size, 16)) for name, begin, size in rows]


@pytest.mark.stress
@missing("ld", "gdb")
def test_gdb_stops_at_an_equation(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    orders = ("set breakpoint pending on", "break mine.opt:13", "run", "backtrace 1")
    program = [sys.executable, str(tmp_path / "steps.py"), str(mine), "6"]
    command = ["gdb", "-q", "-batch", *(x for order in orders for x in ("-ex", order)), "--args", *program]
    done = run(command, timeout=120, env={"OPTGEN_DEBUG_DIR": str(tmp_path / "kernels"), "PYTHONPATH": "."})
    assert "13\t  w'   = where(mod(t, k) == 0, slow', fast)\n" in done.stdout
    assert re.search(r"#0  .*optgen_mine_f32.* at .*/mine\.opt:13\n", done.stdout)


@pytest.mark.stress
@missing("ld", "perf", "objdump")
def test_perf_knows_equations(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    asked = {"OPTGEN_DEBUG_DIR": str(tmp_path / "kernels"), "PYTHONPATH": "."}
    data, program = str(tmp_path / "perf.data"), [sys.executable, str(tmp_path / "steps.py"), str(mine), "9000"]
    done = run(["perf", "record", "-e", "cpu-clock", "-o", data, *program], timeout=120, env=asked)
    if done.returncode:
        pytest.skip(f"perf may not record here: {done.stderr[:200]}")
    (library,) = (tmp_path / "kernels").glob("optgen_mine_f32-*.so")
    shown = run(["perf", "annotate", "-i", data, "--stdio", "-l", "--dsos", library.name], timeout=60).stdout
    summary, _, code = shown.partition(" Percent |")
    assert {line for file, line in COMPUTED if f"{file}:{line}\n" in summary} >= {20, 21, 22, 25}
    assert "w'   = where(mod(t, k) == 0, slow', fast)\n" in code
