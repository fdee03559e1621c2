"""What is written in C: its LLVM IR is up to date, the mirrors of its structures fit, ThreadSanitizer finds no race."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from optgen.backends.target import CpuTarget, compile_ir
from optgen.execute.cpu import chain, dlpack, ranges, sequence
from optgen.execute.kernel import StepStruct
from optgen.loops import trampoline
from optgen.objectcode import generate
from optgen.threads import openmp, pool
from tests.process import run

CC = shutil.which("cc")
FILES = {path.stem: path for path in generate.SOURCES}
STRESS = Path(__file__).with_name("pool_stress.c")
MIRRORS: dict[str, dict[str, type[ctypes.Structure]]] = {
    "pool": {"line": pool._Line, "pool": pool._Memory},
    "openmp": {"team": openmp._TeamMemory},
    "chain": {"link": chain._Link, "chain": chain._Chain},
    "dlpack": {"reader": dlpack._Reader},
    "ranges": {"ranges": ranges._Ranges},
    "sequence": {
        name.lstrip("_").lower(): getattr(sequence, name) for name in ("_Call", "_Sequence", "_Loop", "_Sequences")
    },
    "trampoline": {"python": trampoline._Python, "entry": trampoline._Entry, "kernel": trampoline.Loaded},
}
sources = pytest.mark.parametrize("source", generate.SOURCES, ids=lambda path: path.name)
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler: cc")


def test_every_c_file_is_listed() -> None:
    """But those that libraries in C are made of, which are compiled with them."""
    ours = [path for path in generate.PACKAGE.rglob("*.c") if path.parent.name != "library"]
    assert sorted(generate.SOURCES) == sorted(ours)


@sources
def test_the_text_is_of_this_file(source: Path) -> None:
    """Where there is no clang, too: after a change of a C file, its LLVM IR is to be made anew."""
    text = source.with_suffix(".ll").read_text()
    found = re.match(r"; Made from .* with clang ([\d.]+)\.\n", text)
    assert found and text.startswith(generate.header(source, found[1])), "run python -m optgen.objectcode.generate"


@sources
def test_the_text_is_what_clang_makes(source: Path) -> None:
    clang = generate.find_clang()
    if clang is None:
        pytest.skip(f"there is no clang {generate.OLDEST} or newer")
    _, _, body = source.with_suffix(".ll").read_text().split("\n", 2)
    assert body == generate.body(source, clang)


@sources
def test_the_text_names_no_target(source: Path) -> None:
    text = source.with_suffix(".ll").read_text()
    assert not re.search(r"target |attributes|#\d|![\w\d]|dso_local|x86|aarch64|asm", text)


@pytest.mark.parametrize(("machine", "hint"), [("x86_64", "pause"), ("aarch64", "(yield|hint\t#0x1)")])
def test_threads_that_spin_say_so(machine: str, hint: str) -> None:
    """The loops of the workers and of the caller, and the one that is timed, hold the hint itself and no call."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = FILES["pool"].with_suffix(".ll").read_text().replace(pool._SPIN_HINT, pool._SPIN_HINTS[machine])
    assembly = compile_ir(text, CpuTarget(f"{machine}-unknown-linux-gnu", "", "")).assembly
    assert len(re.findall(rf"^\t{hint}\n", assembly, flags=re.MULTILINE)) == 3
    assert "optgen_spin_hint" not in assembly


# ------------------------------------------------------------ structures


def llvm_type(kind: type) -> str:
    """The type of a field, as LLVM has it."""
    if issubclass(kind, ctypes.Array):
        return f"[{kind._length_} x {llvm_type(kind._type_)}]"
    if issubclass(kind, ctypes.Structure):
        return f"%struct.{kind.__name__.lower().lstrip('_')}"
    return "ptr" if kind is ctypes.c_void_p else f"i{8 * ctypes.sizeof(kind)}"


@pytest.mark.parametrize("file", MIRRORS)
def test_mirrors_have_the_fields_of_the_text(file: str) -> None:
    text = FILES[file].with_suffix(".ll").read_text()
    for name, mirror in MIRRORS[file].items():
        fields = ", ".join(llvm_type(field[1]) for field in mirror._fields_)
        assert f"%struct.{name} = type {{ {fields} }}\n" in text


@needs_cc
@pytest.mark.parametrize("file", MIRRORS)
def test_mirrors_have_the_offsets_of_the_c_file(file: str, tmp_path: Path) -> None:
    pairs = [(name, mirror, field[0]) for name, mirror in MIRRORS[file].items() for field in mirror._fields_]
    if file == "chain":
        pairs += [("step", StepStruct, field) for field in ("n", "size", "buffers", "t")]
    rows = [f'printf("%zu\\n", offsetof({name}, {field}));' for name, _, field in pairs]
    sizes = [f'printf("%zu\\n", sizeof({name}));' for name in MIRRORS[file]]
    lines = "\n    ".join([*rows, *sizes])
    program = f"""\
#include "{file}.c"
#include <stddef.h>
#include <stdio.h>
void optgen_spin_hint(void) {{}}
int main(void)
{{
    {lines}
}}
"""
    (tmp_path / "offsets.c").write_text(program)
    subprocess.run([CC, f"-I{FILES[file].parent}", "offsets.c", "-o", "offsets"], cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True, timeout=60)
    expected = [getattr(mirror, field).offset for _, mirror, field in pairs]
    assert list(map(int, done.stdout.split())) == expected + [ctypes.sizeof(m) for m in MIRRORS[file].values()]


# ------------------------------------------------------------ races


@needs_cc
@pytest.mark.stress
def test_thread_sanitizer_finds_no_race_in_the_pool(tmp_path: Path) -> None:
    flags = ("-O1", "-g", "-fsanitize=thread", "-pthread", f"-I{FILES['pool'].parent}")
    (tmp_path / "none.c").write_text("int main(void) { return 0; }\n")
    none = subprocess.run([CC, *flags, "none.c", "-o", "none"], cwd=tmp_path, capture_output=True, timeout=60)
    if none.returncode or subprocess.run([tmp_path / "none"], capture_output=True, timeout=60).returncode:
        pytest.skip("cc has no ThreadSanitizer that runs here")
    subprocess.run(
        [CC, *flags, "-Wall", "-Wextra", "-Werror", STRESS, "-o", tmp_path / "stress"], check=True, timeout=60
    )
    for waits in ([], ["on a condition"]):
        done = run([tmp_path / "stress", "500000", *waits], timeout=300, env={})
        assert (done.returncode, done.stderr) == (0, "")
