"""Libraries in C for Windows, in Wine, come to the bits of Python, for MinGW and for MSVC, and refuse what others do.

No compiler of Microsoft's is here. Its place has Clang's `clang-cl` mode, which has the same binary interface, with the
headers and import libraries of MinGW, and `windows_crt.c` for the few functions of the C runtime that these lack. What
this does not show is that Microsoft's own headers and libraries do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.library.c_library import build
from tests.library.many_steps import LIBRARIES, SOURCE, expected, libraries
from tests.library.test_calls import HERE, SPEC
from tests.process import run

GCC, ROOT = "x86_64-w64-mingw32-gcc", Path("/usr/x86_64-w64-mingw32/lib")
CLANG = "clang --target=x86_64-pc-windows-msvc -fuse-ld=lld"
"""A compiler with MSVC's binary interface, by the options of GCC; with `--driver-mode=cl` by those of MSVC."""
HEADERS = "-fgnuc-version=12 -fmsc-version=0 -D_UCRT -D__USE_MINGW_ANSI_STDIO=0 -isystem /usr/share/mingw-w64/include"
"""What makes MinGW's headers those of Microsoft's C runtime."""
MATH = ("ceil", "exp", "floor", "fmin", "ldexp", "pow")
"""Functions of Microsoft's C runtime that MinGW has of its own, and its import library of the former therefore not."""
MISSING = [x for x in (GCC, "wine", "clang", "lld-link", "llvm-lib") if shutil.which(x) is None]
pytestmark = [pytest.mark.stress, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]

Wine = Callable[..., tuple[bytes, str]]


def do(folder: Path, *commands: str) -> None:
    for command in commands:
        done = run(["sh", "-c", command], timeout=120, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Wine:
    """Runs a program: what it printed, and its last line of errors."""
    own = tmp_path_factory.mktemp("wine")

    def ran(folder: Path, program: str, *arguments: str) -> tuple[bytes, str]:
        env = {"WINEPREFIX": str(own / "prefix"), "WINEDEBUG": "-all"}
        command = ["sh", "-c", 'exec wine "$@" > printed', "sh", program, *arguments]
        done = run(command, timeout=300, cwd=folder, env=env, sweep=True)
        assert done.returncode == 0, done.stderr
        return (folder / "printed").read_bytes(), (done.stderr.splitlines() or [""])[-1]

    return ran


def test_mingw_comes_to_the_same_bits(tmp_path: Path, wine: Wine) -> None:
    libraries(tmp_path, "--triple", "x86_64-pc-windows-gnu", "--cpu", "x86-64,x86-64-v3")
    for end, more in ((".a", "-static"), (".dll.a", "")):
        linked = " ".join([*(f"lib{x}{end}" for x in LIBRARIES), more])
        do(tmp_path, f"{GCC} -std=c11 -O1 -Wall -Wextra -Werror {SOURCE} -I . {linked} -lm -o many.exe")
        printed, level = wine(tmp_path, "./many.exe")
        assert printed == expected()
        assert level.strip() in ("x86-64", "x86-64-v3")


def msvc_runtime(folder: Path) -> None:
    """Makes the import libraries that `clang-cl` links, and those of which windows_crt.c is one."""
    (folder / "math.def").write_text("\n".join(["LIBRARY ucrtbase.dll", "EXPORTS", *MATH, ""]))
    shutil.copy(ROOT / "libucrt.a", folder / "ucrt.lib")
    shutil.copy(ROOT / "libkernel32.a", folder / "kernel32.lib")
    do(
        folder,
        "x86_64-w64-mingw32-dlltool -d math.def -l math.lib",
        f"{CLANG} {HEADERS} -O1 -c {HERE}/windows_crt.c -o crt.obj",
        "llvm-lib /nologo /out:libcmt.lib crt.obj",
        f"{CLANG} {HEADERS} -O1 -c {HERE}/windows_main.c -o main.obj",
        "cp libcmt.lib oldnames.lib",
    )


def test_msvc_comes_to_the_same_bits(tmp_path: Path, wine: Wine, monkeypatch: pytest.MonkeyPatch) -> None:
    msvc_runtime(tmp_path)
    headers = " ".join(x if x.startswith("-D") else f"/clang:{x}" for x in HEADERS.split())
    monkeypatch.setenv("CC", f"{CLANG} --driver-mode=cl {headers} -Wno-ignored-attributes")
    monkeypatch.setenv("LIB", str(tmp_path))
    made = libraries(tmp_path / "made", "--triple", "x86_64-pc-windows-msvc", "--cpu", "x86-64,x86-64-v3")
    assert {f"{x}{end}" for x in LIBRARIES for end in (".lib", ".dll", ".dll.lib")} <= set(os.listdir(made))
    do(made, f"{CLANG} {HEADERS} -std=c11 -O1 -Wall -Werror -Wno-ignored-attributes -c {SOURCE} -I . -o many.obj")
    for end in (".lib", ".dll.lib"):
        linked = " ".join(f"{x}{end}" for x in LIBRARIES)
        do(made, f"lld-link /nologo /subsystem:console ../main.obj many.obj {linked} libcmt.lib /out:many.exe")
        printed, level = wine(made, "./many.exe")
        assert printed == expected()
        assert level.strip() in ("x86-64", "x86-64-v3")


PATHS = """\
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include "both.h"

int main(void)
{
    float data[2] = {1, 2}, grad[2] = {1, 1};
    const int64_t shape[1] = {2};
    const adam_tensor tensor = {data, grad, shape, 1};
    const adam_options options = adam_options_defaults();
    const adam_hyper params = adam_hyper_defaults();
    adam_context *context = NULL;
    if (adam_create(&context, &tensor, 1, &options, &params) || adam_step(context, &params))
        return 1;
    for (int k = 0; k < 2; k++)
        if (adam_save(context, "st\\xC3\\xA4nde \\xCE\\xB1") || adam_load(context, "st\\xC3\\xA4nde \\xCE\\xB1"))
            return 2;
    const char *const bad[] = {"kernels", "nowhere/states", "\\xFF", "NUL"};
    for (int k = 0; k < 4; k++)
        if (adam_save(context, bad[k]) != OPTGEN_BAD_FILE || adam_load(context, bad[k]) != OPTGEN_BAD_FILE)
            return 3;
    puts(both_error());
    return 0;
}
"""
"""Paths are UTF-8; a file is replaced; what is none is refused."""


def test_bad_calls_and_files_are_refused_in_words(tmp_path: Path, wine: Wine) -> None:
    (tmp_path / "mine.opt").write_text(SPEC)
    (tmp_path / "paths.c").write_text(PATHS)
    own = str(tmp_path / "mine.opt")
    build(tmp_path, own, "adam", "--name", "both", "--triple", "x86_64-pc-windows-gnu", "--cpu", "x86-64")
    for source in (HERE / "bad_calls.c", HERE / "damaged_files.c", tmp_path / "paths.c"):
        strict = f"-std=c11 -O1 -Wall -Wextra -Werror -pedantic {source} both.c kernels/*.o -I ."
        do(tmp_path, f"{GCC} {strict} -lm -static -o {source.stem}.exe")
    assert b"calls, all as they should be" in wine(tmp_path, "./bad_calls.exe")[0]
    assert 0 < int(wine(tmp_path, "./damaged_files.exe", ".")[0].split()[0]) < 3000
    assert b"is no safetensors file" in wine(tmp_path, "./paths.exe")[0]
    assert "stände α" in os.listdir(tmp_path)  # and no temporary file
    assert not [x for x in os.listdir(tmp_path) if x.endswith(".new")]
