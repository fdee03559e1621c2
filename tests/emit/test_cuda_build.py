"""What `optgen build --kernels --target cuda` writes, beside what the CPU's build wrote, and that PTX and headers are
sound."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optgen.backends.gpu.nvidia import Nvidia
from optgen.backends.gpu.table import AREAS, COLUMNS
from optgen.cli import main, workers
from tests.cuda.assemble import assemble, ptxas

SPEC = """\
optimizer Odd "a test"
flag kind = 'plain' | 'normed'

state m = 0
state k: host = 0

update:
  k' = k + lr
  m' = k'*m + g
  w' = w - lr*m'            if kind == 'plain'
  w' = w - lr*m'/norm(m')   otherwise
"""
PLAIN, NORMED = "optgen_odd_kind_plain_f32", "optgen_odd_kind_normed_f32"
CPU = (".ll", ".o", ".h")
CUDA = (".ptx", "_cuda.ll", "_cuda.h", "_host.ll", "_host.o")


def names(symbols: list[str], ends: tuple[str, ...]) -> set[str]:
    return {symbol + end for symbol, end in itertools.product(symbols, ends)}


def build(folder: Path, *line: str) -> Path:
    (folder / "odd.opt").write_text(SPEC)
    assert main(["build", "--kernels", str(folder / "odd.opt"), *line, "-o", str(folder)]) == 0
    return folder / "odd"


def held(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def manifest(folder: Path, name: str = "cuda.json") -> Any:
    return json.loads((folder / name).read_text())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The products of both targets, in one folder."""
    folder = tmp_path_factory.mktemp("both")
    build(folder, "--all")
    return build(folder, "--all", "--target", "cuda", "--arch", "sm_80")


def test_products_of_both_targets_lie_beside_each_other(both: Path) -> None:
    assert held(both) == names([PLAIN, NORMED], CPU + CUDA) | {"manifest.json", "cuda.json"}
    for name, ends in (("manifest.json", CPU), ("cuda.json", CUDA)):
        named = {file for v in manifest(both, name)["variants"] for file in v["files"].values()}
        assert named == names([PLAIN, NORMED], ends)


def test_a_build_replaces_what_its_target_had(tmp_path: Path) -> None:
    build(tmp_path, "--all", "--target", "cuda")
    build(tmp_path, "--all")
    folder = build(tmp_path, "--target", "cuda")
    assert held(folder) == names([PLAIN, NORMED], CPU) | names([PLAIN], CUDA) | {"manifest.json", "cuda.json"}
    build(tmp_path)
    assert held(folder) == names([PLAIN], CPU + CUDA) | {"manifest.json", "cuda.json"}


def test_the_manifest_says_what_to_launch(both: Path) -> None:
    data, cpu = manifest(both), manifest(both, "manifest.json")
    about = data.pop("target")
    assert about["table"]["columns"] == list(COLUMNS) and about["table"]["areas"] == list(AREAS)
    assert (about["arch"], about["host"]) == ("sm_80", cpu.pop("target"))
    assert data.pop("sha256") != cpu.pop("sha256")
    plain, normed = data.pop("variants")
    for ours, theirs in zip((plain, normed), cpu.pop("variants"), strict=True):
        assert {k: v for k, v in theirs.items() if k not in ("files", "sha256")}.items() <= ours.items()
    assert data == cpu
    (sweep,) = plain["launches"]
    assert sweep["name"] == f"{PLAIN}_0_sweep" and sweep["unit"] == "elements"
    assert [x["unit"] for x in normed["launches"]] == ["blocks", "tensor", "elements"]
    assert [x["folds"] for x in normed["launches"]] == [False, True, False]
    assert (normed["counts"]["buffers"], normed["counts"]["partials"], normed["counts"]["stride"]) == (4, True, 1)
    for v in (plain, normed):
        text = (both / v["files"]["ptx"]).read_text()
        assert ".target sm_80\n" in text and all(f".entry {x['name']}(" in text for x in v["launches"])
        assert f"{v['symbol']}_host" in (both / v["files"]["host_llvm"]).read_text()
        again = Nvidia("sm_80").compile((both / v["files"]["llvm"]).read_text())
        assert again.decode() == text  # from here PTX for other architectures can be made


@pytest.mark.skipif(ptxas() is None, reason="no ptxas: install CUDA or the package nvidia-cuda-nvcc")
def test_ptx_assembles(both: Path) -> None:
    for v in manifest(both)["variants"]:
        used = assemble((both / v["files"]["ptx"]).read_text(), "sm_80")
        assert set(used) == {x["name"] for x in v["launches"]}
        assert not any(x.spill_stores or x.spill_loads for x in used.values())


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("cc", ["-std=c99", "-pedantic"]),
        ("c++", ["-std=c++11", "-pedantic", "-x", "c++"]),
    ],
)
def test_headers_of_both_targets_go_into_one_program(
    program: str, options: list[str], both: Path, tmp_path: Path
) -> None:
    """Every header twice in one file, for C and for C++."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")
    headers = sorted(both.glob("*.h"))
    assert len(headers) == 4
    source = tmp_path / "all.c"
    used = f"int main(void) {{ return {NORMED}_cuda.n_launches == 3 && {PLAIN}_buffer_k == 3; }}\n"
    source.write_text("".join(f'#include "{path}"\n' for path in headers * 2) + used)
    line = [program, *options, "-Wall", "-Wextra", "-Werror", "-c", str(source), "-o", str(tmp_path / "all.o")]
    subprocess.run(line, check=True)


def test_16_bit_parameters_have_headers(tmp_path: Path) -> None:
    line = ["--dtype", "float16", "bfloat16"]
    build(tmp_path, *line)
    folder = build(tmp_path, *line, "--target", "cuda")
    text = (folder / "optgen_odd_kind_plain_bf16_cuda.h").read_text()
    assert "_buffer_w, /* uint16_t, the bits of a bfloat16, of each element, read and written */" in text
    assert "_buffer_k, /* double of the tensor, read and written, starts as 0.0, in the memory of the host */" in text
    assert text.partition("_NAMES\n")[2] and (folder / "optgen_odd_kind_plain_f16.h").exists()


@pytest.mark.parametrize("line", [[], ["--target", "cuda"]])
def test_processes_make_the_same_files(line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    one = build(tmp_path, "--all", *line)
    files = {path.name: path.read_bytes() for path in one.iterdir()}
    shutil.rmtree(one)
    monkeypatch.setattr(workers, "KERNELS_PER_PROCESS", 1)
    two = build(tmp_path, "--all", *line)
    assert {path.name: path.read_bytes() for path in two.iterdir()} == files
