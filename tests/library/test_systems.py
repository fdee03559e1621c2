"""What `optgen build --triple` writes where there is no compiler for a system, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from optgen.cli import main
from optgen.library.systems import TRIPLES

BEGINNINGS = {
    "x86_64-linux-gnu": (b"\x7fELF", "libodd.a"),
    "aarch64-linux-gnu": (b"\x7fELF", "libodd.a"),
    "x86_64-apple-macos": (b"\xcf\xfa\xed\xfe", "libodd.a"),
    "arm64-apple-macos": (b"\xcf\xfa\xed\xfe", "libodd.a"),
    "x86_64-pc-windows-gnu": (b"\x64\x86", "libodd.a"),
    "x86_64-pc-windows-msvc": (b"\x64\x86", "odd.lib"),
    "wasm32-wasi": (b"\0asm", "libodd.a"),
}
"""How object files of each system begin, and the name of the static library."""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CC", "no-such-compiler")
    path = tmp_path / "odd.opt"
    path.write_text("optimizer Odd\nstate m = 0\nupdate:\n  m' = m + g\n  w' = w - lr*m'\n")
    return str(path)


@pytest.mark.parametrize("triple", TRIPLES)
def test_kernels_are_object_files_of_the_system(
    triple: str, spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["build", spec, "-o", str(out), "--triple", triple]) == 1
    assert "no library, as CC=no-such-compiler is not installed" in capsys.readouterr().err
    beginning, static = BEGINNINGS[triple]
    kernels = [x for x in (out / "kernels").iterdir() if x.suffix != ".ll"]
    assert len(kernels) == (3 if triple.startswith("x86_64") else 1)
    assert all(x.read_bytes().startswith(beginning) for x in kernels)
    assert {x.suffix for x in kernels} == {".obj" if "msvc" in triple else ".o"}
    assert f"/{static}" in (out / "odd.pc").read_text() and f"/{static}" in (out / "oddConfig.cmake").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--triple riscv64-linux-gnu", "it is one of x86_64-linux-gnu, "),
        ("--triple wasm32-wasi --cpu x86-64-v3", "for wasm32-wasi it is one of generic, simd128"),
        ("--triple wasm32-wasi --cpu generic,simd128", "cannot choose between CPUs; name one"),
        ("--triple x86_64-pc-windows-gnu --cpu native", "it is one of x86-64, x86-64-v2"),
        ("--triple x86_64-pc-windows-gnu --dtype float16", "build with --cpu x86-64-v3,x86-64-v4"),
        ("--triple x86_64-pc-windows-msvc --storage float16", "build with --cpu x86-64-v3,x86-64-v4"),
        ("--triple aarch64-linux-gnu --cpu neoverse-v1,neoverse-v2", "each has all that the one before has, and more"),
    ],
)
def test_what_a_system_has_not_is_refused_in_words(
    arguments: str, said: str, spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", spec, "-o", str(tmp_path / "out"), *arguments.split()]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_newer_cpus_convert_float16_on_windows(spec: str, tmp_path: Path) -> None:
    chosen = ["--triple", "x86_64-pc-windows-gnu", "--dtype", "float16", "--cpu", "x86-64-v3,x86-64-v4"]
    assert main(["build", spec, "-o", str(tmp_path / "out"), *chosen]) == 1
    assert len(list((tmp_path / "out" / "kernels").glob("*.o"))) == 2
