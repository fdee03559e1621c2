"""What `optgen build --target amdgpu` writes: objects, whose symbols and instructions are looked at. Nothing runs
them."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optgen.backends import target
from optgen.backends.gpu import TARGETS
from optgen.backends.gpu.amd import Amd
from optgen.cli import build as command
from optgen.cli import main
from tests.library.c_library import schema
from tests.sweeps import swept

MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx1100": 0x41}
"""The numbers of architectures in the flags of ELF: LLVM, User Guide for AMDGPU Backend."""
WIDE_LOAD = {"gfx90a": "global_load_dwordx4", "gfx942": "global_load_dwordx4", "gfx1100": "global_load_b128"}
EXPONENTIALS = """\
optimizer Soft "exp and log of each element"
state m = 0
update:
  m' = 0.9*m + log(1 + exp(g))
  w' = w - lr*m'
"""
SPECS: dict[str, tuple[str, ...]] = {
    "sgd": ("sgd",),
    "adam": ("adam",),
    "lamb": ("lamb",),
    "exp and log": ("soft.opt",),
    "codes": ("lion", "--storage", "int8_dynamic"),
    "draws": ("lion", "--storage", "bfloat16_stochastic"),
}
CASES = [(spec, dtype, arch) for spec in SPECS for dtype in ("float32", "bfloat16", "float16") for arch in MACHINES]


def built(folder: Path, name: str, *more: str) -> tuple[Path, Any]:
    """The folder of a spec's kernels, and their manifest."""
    if name == "soft.opt":
        (folder / name).write_text(EXPONENTIALS)
        name = str(folder / name)
    assert main(["build", name, "--target", "amdgpu", *more, "-o", str(folder)]) == 0
    own = folder / Path(name).stem
    return own, json.loads((own / "amdgpu.json").read_text())


@pytest.fixture(scope="module")
def lamb(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    return built(tmp_path_factory.mktemp("lamb"), "lamb", "--arch", "gfx90a")


class Elf:
    """The header and the symbols of a relocatable object of 64 bits: (name, type, section), by System V ABI."""

    def __init__(self, data: bytes) -> None:
        assert data[:6] == b"\x7fELF\x02\x01"
        self.type, self.machine = struct.unpack_from("<HH", data, 16)
        (sections,), (self.flags,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<I", data, 48)
        size, count = struct.unpack_from("<HH", data, 58)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, sections + k * size) for k in range(count)]
        (table,) = [head for head in heads if head[1] == 2]  # SHT_SYMTAB
        start, length, strings = table[4], table[5], heads[table[6]][4]
        rows = [struct.unpack_from("<IBBHQQ", data, at) for at in range(start, start + length, 24)]
        self.symbols = [(_text(data, strings + row[0]), row[1] & 15, row[3]) for row in rows[1:]]


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


@pytest.mark.parametrize(
    ("spec", "dtype", "arch"),
    swept(
        CASES, [("adam", "float16", "gfx942"), ("exp and log", "bfloat16", "gfx1100"), ("codes", "float32", "gfx90a")]
    ),
)
def test_objects(spec: str, dtype: str, arch: str, tmp_path: Path) -> None:
    name, *more = SPECS[spec]
    check(*built(tmp_path, name, "--arch", arch, "--dtype", dtype, *more), arch)


def test_objects_with_sums(lamb: tuple[Path, Any]) -> None:
    check(*lamb, "gfx90a")


def check(folder: Path, data: Any, arch: str) -> None:
    """All objects that a manifest names."""
    schema("kernels.json").validate(data)
    assert data["target"]["arch"] == arch
    for variant in data["variants"]:
        names = {x["name"] for x in variant["launches"]}
        elf = Elf((folder / variant["files"]["object"]).read_bytes())
        assert (elf.type, elf.machine, elf.flags & 0xFF) == (1, 224, MACHINES[arch])  # relocatable, EM_AMDGPU
        assert {name for name, kind, _ in elf.symbols if kind == 2} == names  # STT_FUNC
        assert {name for name, kind, _ in elf.symbols if kind == 1} == {f"{name}.kd" for name in names}  # STT_OBJECT
        assert all(section for _, _, section in elf.symbols)  # nothing is undefined
        check_assembly(assembly((folder / variant["files"]["llvm"]).read_text(), arch), arch, len(names))
        warps = {x["per_block"] for x in variant["launches"] if x["unit"] in ("elements", "blocks")}
        assert warps == {256 // Amd(arch).width}


def assembly(text: str, arch: str) -> str:
    return target.compile_gpu(text, Amd.triple, arch).assembly


def check_assembly(text: str, arch: str, functions: int) -> None:
    """Waves as the architecture has them; subnormals are kept; no calls; variables are in registers; accesses of 16
    bytes."""
    assert re.findall(r"\.wavefront_size: +(\d+)", text) == [str(Amd(arch).width)] * functions
    assert re.findall(r"\.private_segment_fixed_size: +(\d+)", text) == ["0"] * functions
    assert text.count(".amdhsa_float_denorm_mode_32 3") == functions
    assert re.findall(r"\b(?:s_swappc|s_getpc|scratch_load|scratch_store|buffer_load|buffer_store)", text) == []
    assert WIDE_LOAD[arch] in text and text.count("s_endpgm") >= functions


def test_sums_of_a_wave(lamb: tuple[Path, Any], tmp_path: Path) -> None:
    """Partial results are folded by as many exchanges as halve a wave, of both words of a double: those of each sum
    when they are read, and again what is left of them."""
    for (folder, data), halvings in ((lamb, 6), (built(tmp_path, "lamb", "--arch", "gfx1100"), 5)):
        variant = data["variants"][0]
        _, fold, _ = (folder / variant["files"]["llvm"]).read_text().split("\ndefine ")[1:]
        sums = variant["counts"]["stride"]
        assert fold.count('call i32 @"llvm.amdgcn.ds.bpermute"') == 2 * 2 * sums * halvings


@pytest.mark.parametrize("arch", MACHINES)
def test_products_and_sums_stay_apart(arch: str) -> None:
    """No multiplication is contracted with an addition: kernels round as those of CPUs."""
    text = """define amdgpu_kernel void @f(ptr addrspace(1) %p) {
      %x = load float, ptr addrspace(1) %p
      %product = fmul float %x, %x
      %sum = fadd float %product, %x
      store float %sum, ptr addrspace(1) %p
      ret void
    }"""
    found = re.findall(r"[vs]_(?:\w+_)?(mul|add|fma|fmac|mac|mad)\w*_f32", assembly(text, arch))
    assert found == ["mul", "add"]


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="there is no ld.lld")
def test_code_objects_are_linked(lamb: tuple[Path, Any], tmp_path: Path) -> None:
    folder, data = lamb
    for variant in data["variants"]:
        made = tmp_path / "kernels.hsaco"
        line = ["ld.lld", "-shared", "--no-undefined", str(folder / variant["files"]["object"]), "-o", str(made)]
        subprocess.run(line, check=True)
        assert struct.unpack_from("<HH", made.read_bytes(), 16) == (3, 224)  # a shared object


def disassembler() -> str | None:
    """llvm-objdump, if it knows AMD's GPUs."""
    found = shutil.which("llvm-objdump")
    if found is None:
        return None
    known = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if "amdgcn" in known else None


@pytest.mark.skipif(disassembler() is None, reason="there is no llvm-objdump that knows AMD's GPUs")
def test_disassembled_objects(lamb: tuple[Path, Any]) -> None:
    """What is written is code: another LLVM reads all of it as instructions of the architecture."""
    folder, data = lamb
    for variant in data["variants"]:
        program = disassembler()
        assert program is not None
        path = str(folder / variant["files"]["object"])
        text = subprocess.run([program, "-d", path], capture_output=True, text=True, check=True).stdout
        assert "ds_bpermute_b32" in text and "global_load_dwordx4" in text and "s_barrier" in text
        assert text.count("s_endpgm") >= len(variant["launches"]) and "<unknown>" not in text


def test_every_target_is_a_choice() -> None:
    assert set(command.TARGETS) == {"cpu", *TARGETS}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ["adam", "--target", "amdgpu"],
            "--target amdgpu needs --arch, as code for one of them runs on no other: gfx90a",
        ),
        (["adam", "--target", "amdgpu", "--arch", "gfx1200"], "--arch gfx1200: it is one of gfx90a, gfx942, gfx1100"),
        (["adam", "--target", "amdgpu", "--arch", "sm_80"], "--arch sm_80: it is one of gfx90a, gfx942, gfx1100"),
        (["adam", "--target", "cuda", "--arch", "gfx90a"], "--arch gfx90a: it is one of sm_75"),
        (["adam", "--arch", "gfx90a"], "--arch is for --target cuda and --target amdgpu"),
        (
            ["adam", "--target", "amdgpu", "--arch", "gfx90a", "--cpu", "native"],
            "--cpu is for libraries, and not for bare kernels",
        ),
        (["--target", "amdgpu", "--arch", "gfx90a"], "name the specs"),
    ],
)
def test_what_cannot_be_is_an_error(
    line: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", *line, "-o", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_products_of_matrices_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "muon", "--target", "amdgpu", "--arch", "gfx90a", "-o", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert (
        "muon: no bare kernels: a step has products or loops" in said
        and "optgen build NAME -o FOLDER makes a library" in said
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc")
def test_files_of_all_targets_lie_beside_each_other(tmp_path: Path) -> None:
    """Each target replaces its own alone; the headers go into one program."""
    spec = tmp_path / "plain.opt"
    spec.write_text("optimizer Plain\nupdate:\n  w' = w - lr*g\n")

    def build(*more: str) -> set[str]:
        assert main(["build", "--kernels", str(spec), *more, "-o", str(tmp_path)]) == 0
        return {path.name for path in (tmp_path / "plain").iterdir()}

    amd = build("--target", "amdgpu", "--arch", "gfx1100")
    assert len(amd) == 6 and amd < build("--target", "cuda") < build()
    assert len(build("--target", "cuda")) == len(build("--target", "amdgpu", "--arch", "gfx942")) == 6 + 6 + 4
    source, headers = tmp_path / "all.c", (tmp_path / "plain").glob("*.h")
    source.write_text("".join(f'#include "{path}"\n' for path in sorted(headers)))
    line = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-c", str(source)]
    subprocess.run([*line, "-o", str(tmp_path / "all.o")], check=True)
