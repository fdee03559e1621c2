"""The files of a library: those that are written as they are, and those that a C compiler makes of them."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from optgen import __version__
from optgen.backends.target import llvm_version
from optgen.compiled import NativeKernel
from optgen.emit.manifest_json import number
from optgen.ir import Variant
from optgen.library.c_text import field
from optgen.library.cpus import LibraryCpu
from optgen.library.gpus import LibraryGpu
from optgen.library.header import ABI, abi, header, option_fields, tensor_fields
from optgen.library.kernels import LibraryProgram, Made, Maker, made
from optgen.library.products import needed
from optgen.library.rust import module
from optgen.library.source import source
from optgen.library.specs import LibrarySpec
from optgen.library.systems import System
from optgen.library.tables import BuiltSpec

Each = Callable[..., Any]
"""Calls a function for each of many arguments, in several processes: `optgen.cli.workers.each`."""


@dataclass(frozen=True)
class Library:
    """A library: its name, its specs, the CPUs that it is for, from the oldest on, and their system. With `gpu` these
    are the CPUs beside the GPUs that it is for."""

    name: str
    specs: Sequence[LibrarySpec]
    cpus: Sequence[LibraryCpu]
    system: System
    gpu: LibraryGpu | None = None

    def made_for(self) -> str:
        """What it is for, in words."""
        names = ", ".join(cpu.name for cpu in self.cpus)
        return f"{self.gpu.arch} and later GPUs, beside {names}" if self.gpu else names

    def about(self) -> str:
        """What its header says first: what it is for, and how programs are compiled with it."""
        options = " ".join(["-I FOLDER", f"FOLDER/lib{self.name}.a", *self.linked_by_programs()])
        return f"For {self.made_for()}. cc program.c {options}"

    def linked(self) -> list[str]:
        """What programs link, too, as GCC's options, beside LAPACK."""
        given = self.system.linked.split()
        return [*given, "-ldl"] if self.gpu and "-pthread" in given else given

    def linked_by_programs(self) -> list[str]:
        """What programs link, too, as GCC's options: a shared library finds LAPACK in the program that loads it."""
        return [*(["-llapack"] if self.factorizes() else []), *self.linked()]

    def factorizes(self) -> bool:
        """Whether it calls LAPACK."""
        return any(m.factorizes for m in self.specs)

    def jobs(self) -> list[tuple[LibrarySpec, tuple[str, bool, int, int], Variant]]:
        """The kernels: their spec, their place in its tables, and the variant."""
        return [
            (m, (dtype, small, section, number), variant)
            for m in self.specs
            for dtype in m.dtypes
            for small in m.sizes
            for number, flags in enumerate(m.variants)
            if m.is_built(flags)
            for section, variant in enumerate(m.built(dtype, flags, small=small))
        ]


def build(library: Library, each: Each, advance: Callable[[], object]) -> dict[str, bytes]:
    """The files of a library, by name, without those that a C compiler makes. `advance` is called for each kernel.
    ValueError for what a library cannot have."""
    jobs = library.jobs()
    kernels: dict[str, dict[tuple[str, bool, int, int], Made]] = {m.prefix: {} for m in library.specs}
    work = [(m.spec, variant, m.args.values) for m, _, variant in jobs]
    with each(partial(made, Maker(library.name, library.cpus, library.gpu)), work) as results:
        for (m, place, _), kernel in zip(jobs, results, strict=True):
            kernels[m.prefix][place] = kernel
            advance()
    built = [BuiltSpec(m, kernels[m.prefix]) for m in library.specs]
    every = [kernel for own in kernels.values() for one in own.values() for kernel in one.kernels]
    natives = {native.symbol: native for kernel in every for native in kernel.natives}
    codes = {kernel.gpu.symbol: kernel.gpu for kernel in every if kernel.gpu}
    _check_halves(library, natives.values())
    _check_lapack(library)
    made_of = [(dtype, x) for b in built for (dtype, *_), x in b.kernels.items()]
    calling = [dtype for dtype, x in made_of if isinstance(x, LibraryProgram) and x.program.calls]
    products = needed(library.name, library.cpus, calling, factorizes=library.factorizes()) if calling else []
    linked = library.linked_by_programs()
    files = {
        f"{library.name}.h": header(library.name, library.specs, library.about()).encode(),
        f"{library.name}.c": source(library.name, built, library.cpus, library.gpu, linked, products).encode(),
        f"{library.name}.json": _manifest(library, built).encode(),
        f"{library.name}.rs": module(library.name, library.specs).encode(),
        f"{library.name}.pc": _pkg_config(library).encode(),
        f"{library.name}Config.cmake": _cmake(library).encode(),
        f"{library.name}ConfigVersion.cmake": _CMAKE_VERSION.encode(),
    }
    texts = {native.symbol: x for kernel in every for native, x in zip(kernel.natives, kernel.texts, strict=True)}
    files |= {f"kernels/{symbol}.{library.system.obj}": native.object for symbol, native in natives.items()}
    files |= {f"kernels/{symbol}.ll": text.encode() for symbol, text in texts.items()}
    own = [code for of_cpu in products for code in of_cpu if code]
    files |= {f"kernels/{code.symbol}.{library.system.obj}": code.object for code in own}
    files |= {f"kernels/{code.symbol}.ll": code.text.encode() for code in own}
    files |= {f"kernels/{symbol}.ptx": code.ptx for symbol, code in codes.items()}
    return files | {f"kernels/{symbol}.cubin": code.cubin for symbol, code in codes.items() if code.cubin}


def _check_halves(library: Library, natives: Iterable[NativeKernel]) -> None:
    """ValueError if kernels call functions that convert float16, and the system has none."""
    called = re.compile(rb"__(extendhf|trunc[a-z]fhf)")
    if not library.system.has_halves and any(called.search(native.object) for native in natives):
        raise ValueError(
            f"{library.system.triple} has no functions that convert float16, which CPUs before x86-64-v3 need: build "
            "with --cpu x86-64-v3,x86-64-v4"
        )


def _check_lapack(library: Library) -> None:
    """ValueError for a DLL that would have to be linked with LAPACK."""
    if library.factorizes() and library.system.imported:
        raise ValueError(
            f"{library.system.triple}: a DLL cannot take LAPACK from the program that loads it, and updates with "
            "factorizations call it: build for another system, or other specs"
        )


def compile_c(library: Library, files: Mapping[str, bytes], compiler: Sequence[str]) -> dict[str, bytes]:
    """The files that a C compiler makes of the source and the kernels among the files of a library. ChildProcessError,
    with what was said, if a command fails."""
    kernels = [path for path in files if path.startswith("kernels/") and path.endswith(f".{library.system.obj}")]
    with tempfile.TemporaryDirectory(prefix="optgen-build-") as temporary:
        folder = Path(temporary)
        (folder / "kernels").mkdir()
        for path, data in files.items():
            if not path.endswith((".ll", ".ptx", ".cubin")):
                (folder / path).write_bytes(data)
        linked = library.linked()
        if library.factorizes() and library.system.shared.endswith("dylib"):
            linked.append("-Wl,-undefined,dynamic_lookup")  # LAPACK is that of the program
        for command in library.system.commands(library.name, compiler, kernels, linked):
            _run(command, folder)
        return {made: (folder / made).read_bytes() for made in library.system.made(library.name)}


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ChildProcessError(f"{command[0]} is not installed") from None
    if done.returncode:
        raise ChildProcessError(f"{command[0]} failed:\n{(done.stderr or done.stdout).strip()}")


def _manifest(library: Library, built: Sequence[BuiltSpec]) -> str:
    """What a library has, for other programs to read."""
    data = {
        "abi": ABI,
        "library": library.name,
        "optgen": __version__,
        "llvm": llvm_version(),
        "cpus": [cpu.name for cpu in library.cpus],
        "lapack": library.factorizes(),
        "gpus": library.gpu and {"arch": library.gpu.arch, "cubin": library.gpu.cubin},
        "specs": [_described(b) for b in built],
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _described(built: BuiltSpec) -> dict[str, Any]:
    m, spec = built.own, built.own.spec
    return {
        "prefix": m.prefix,
        "abi": abi(m),
        "name": spec.name,
        "dtypes": list(m.dtypes),
        "master": m.master,
        "storage": dict(m.storage),
        "phases": list(spec.phases),
        "evaluate": bool(spec.evaluate),
        "tensor": [{"field": name, "type": c_type} for c_type, name, _ in tensor_fields(m)],
        "options": [{"field": name, "type": c_type} for c_type, name, _ in option_fields(m)],
        "hyper": [
            {"name": name, "field": field(name), "default": number(default), "doc": spec.all_params[name].doc}
            for name, default in m.hyper_defaults.items()
        ],
        "flags": [
            {"name": f.name, "field": field(f.name), "choices": list(f.choices), "default": m.args.chosen[f.name]}
            for f in m.chosen_flags
        ],
        "inputs": [{"name": i.name, "field": field(i.name)} for i in spec.inputs],
        "states": built.states,
        "variants": [{"flags": dict(flags), "built": m.is_built(flags)} for flags in m.variants],
    }


def _pkg_config(library: Library) -> str:
    name, system = library.name, library.system
    return f"""\
prefix=${{pcfiledir}}

Name: {name}
Description: optimizers compiled by optgen
Version: {__version__}
Libs: {" ".join([f"${{prefix}}/{system.static.replace('NAME', name)}", *library.linked_by_programs()])}
Cflags: -I${{prefix}}
"""


_CMAKE_VERSION = f"""\
set(PACKAGE_VERSION "{__version__}")
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""


def _cmake(library: Library) -> str:
    name, system, linked = library.name, library.system, library.linked_by_programs()
    threads = "-pthread" in linked
    needs = [*(["Threads::Threads"] if threads else []), *(x[2:] for x in linked if x.startswith("-l"))]
    found = "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n" if threads else ""
    links = f'\n    INTERFACE_LINK_LIBRARIES "{";".join(needs)}"' if needs else ""
    return f"""\
# find_package({name} CONFIG REQUIRED PATHS FOLDER), then target_link_libraries(program {name}::{name}).
{found}if(NOT TARGET {name}::{name})
  add_library({name}::{name} STATIC IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/{system.static.replace("NAME", name)}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"{links})
endif()
"""
