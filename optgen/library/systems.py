"""The systems that libraries are made for: how their files are named, and which commands make these.

A library is compiled by the options of GCC and Clang, and for the triple of MSVC by those of `clang-cl`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_PORTABLE = ("-std=c11", "-O2", "-ffp-contract=off")
_UNIX = (*_PORTABLE, "-fPIC", "-fvisibility=hidden", "-pthread")
_MSVC = ("/nologo", "/std:c11", "/O2")


@dataclass(frozen=True)
class System:
    """A system. `static`, `shared` and `imported` are the names of its libraries, with NAME for that of the library;
    `imported` is what programs link that load the shared one. One without a name is not made. `obj` ends the names of
    object files. `compiler` is the command of its usual C compiler, and `archiver` that of what makes static libraries;
    `compiler` is empty where it cannot do without more options. `linked` is what programs link, too, as GCC's options.
    `has_halves`: the compiler's own library has the functions that convert float16 as LLVM calls them. Microsoft's has
    none, and those of MinGW's gcc take numbers in other registers.
    """

    triple: str
    static: str = "libNAME.a"
    shared: str = "libNAME.so"
    imported: str = ""
    obj: str = "o"
    compiler: str = ""
    archiver: str = "ar"
    linked: str = "-lm -pthread"
    has_halves: bool = True

    def command(self) -> list[str] | None:
        """The command of the C compiler: $CC, or the usual one; None where there is none."""
        command = _words("CC") or [self.compiler]
        return command if command[0] and shutil.which(command[0]) else None

    def made(self, name: str) -> list[str]:
        """The files that the commands make."""
        return [x.replace("NAME", name) for x in (self.static, self.shared, self.imported) if x]

    def commands(
        self, name: str, compiler: Sequence[str], kernels: Sequence[str], linked: Sequence[str]
    ) -> list[list[str]]:
        """What makes these files of `NAME.c` and the object files of kernels; `linked` is what they need."""
        static, shared, imported = (x.replace("NAME", name) for x in (self.static, self.shared, self.imported))
        source, own = f"{name}.c", f"{name}.{self.obj}"
        archiver = _words("AR") or [self.archiver]
        if self.obj == "obj":  # /Zl: it names no C runtime, so that a program can have any
            into = [f"/Fe{shared}", "/link", f"/implib:{imported}"]
            return [
                [*compiler, *_MSVC, "/Zl", "/c", source, f"/Fo{own}"],
                [*archiver, "/nologo", f"/out:{static}", own, *kernels],
                [*compiler, *_MSVC, "/DOPTGEN_EXPORT", "/LD", source, *kernels, *into],
            ]
        archive = [*archiver, "rcs", static, own, *kernels]
        if not shared:
            return [[*compiler, *_PORTABLE, "-c", source, "-o", own], archive]
        if imported:  # -static: the DLL needs none of the compiler's
            into = ["-shared", "-static", f"-Wl,--out-implib,{imported}", "-o", shared]
            return [
                [*compiler, *_PORTABLE, "-c", source, "-o", own],
                archive,
                [*compiler, *_PORTABLE, "-DOPTGEN_EXPORT", *into, source, *kernels],
            ]
        named = f"-Wl,-install_name,@rpath/{shared}" if shared.endswith("dylib") else f"-Wl,-soname,{shared}"
        return [
            [*compiler, *_UNIX, "-c", source, "-o", own],
            archive,
            [*compiler, "-shared", named, "-o", shared, own, *kernels, *linked],
        ]


_MINGW = "x86_64-w64-mingw32"
_SYSTEMS = (
    System("x86_64-linux-gnu", compiler="x86_64-linux-gnu-gcc"),
    System("aarch64-linux-gnu", compiler="aarch64-linux-gnu-gcc"),
    System("x86_64-apple-macos", shared="libNAME.dylib", compiler="x86_64-apple-macos-gcc"),
    System("arm64-apple-macos", shared="libNAME.dylib", compiler="arm64-apple-macos-gcc"),
    System(
        "x86_64-pc-windows-gnu", shared="NAME.dll", imported="libNAME.dll.a", compiler=f"{_MINGW}-gcc",
        archiver=f"{_MINGW}-ar", linked="-lm", has_halves=False,
    ),
    System(
        "x86_64-pc-windows-msvc", static="NAME.lib", shared="NAME.dll", imported="NAME.dll.lib", obj="obj",
        archiver="llvm-lib", linked="", has_halves=False,
    ),
    System("wasm32-wasi", shared="", compiler="wasm32-wasi-clang", archiver="llvm-ar", linked="-lm"),
)  # fmt: skip
TRIPLES = tuple(x.triple for x in _SYSTEMS)
"""The systems that `--triple` names."""


def _words(variable: str) -> list[str]:
    """The words of a command in the environment. ValueError for a quote without an end."""
    try:
        return shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise ValueError(f"{variable}={os.environ[variable]}: {error}") from None


def system(triple: str | None) -> System:
    """The system of one of TRIPLES; for None this one. ValueError for what is none."""
    if triple is None:
        shared = "libNAME.dylib" if sys.platform == "darwin" else "libNAME.so"
        return System("", shared=shared, compiler="cc")
    for known in _SYSTEMS:
        if known.triple == triple:
            return known
    raise ValueError(f"--triple {triple}: it is one of {', '.join(TRIPLES)}")
