"""The command build, where it makes a library in C of its specs, for CPUs or for GPUs."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from optgen import specfiles
from optgen.cli import workers
from optgen.cli.common import Usage, gpu, read, settings, shown, source_named, write

if TYPE_CHECKING:
    from optgen.library.files import Library
    from optgen.library.gpus import LibraryGpu
    from optgen.library.specs import LibrarySpec
    from optgen.model import Optimizer

_HEADERS = """
assert c complex ctype errno fenv float inttypes limits locale m math pthread rt sched setjmp signal stdarg stdatomic
stdbool stddef stdint stdio stdlib string threads time uchar unistd wchar
"""
"""Headers and libraries of C, which one of ours must not hide."""
_FUNCTIONS = """
cnd epoll mtx posix_spawn_file_actions posix_spawnattr pthread pthread_attr pthread_barrier pthread_barrierattr
pthread_cond pthread_condattr pthread_key pthread_mutex pthread_mutexattr pthread_rwlock pthread_rwlockattr pthread_spin
sem thrd timer tss
"""
"""Where functions of C and of POSIX begin that end with _create or _destroy, as ours do: a program would call ours."""


def register(parser: argparse.ArgumentParser) -> None:
    """The options that libraries have, and bare kernels do not."""
    own = parser.add_argument_group("libraries")
    own.add_argument("--name", help="of the library (default: that of its only spec)")
    own.add_argument(
        "--cpu",
        metavar="CPUS",
        help="with commas, the CPUs that it chooses from: x86-64, x86-64-v2, x86-64-v3, x86-64-v4; of 64-bit Arm "
        "generic, cortex-a72, neoverse-n1, neoverse-v1, neoverse-v2, apple-m1; of WebAssembly generic or simd128; "
        "native (default: x86-64,x86-64-v3,x86-64-v4, or generic)",
    )
    own.add_argument(
        "--triple",
        help="the system that it is for: x86_64-linux-gnu, aarch64-linux-gnu, x86_64-apple-macos, arm64-apple-macos, "
        "x86_64-pc-windows-gnu, x86_64-pc-windows-msvc or wasm32-wasi (default: this one)",
    )
    own.add_argument(
        "--cubin",
        action="store_true",
        help="with --target cuda: binary code for GPUs of --arch, too, made by ptxas of the CUDA toolkit",
    )
    own.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="[SPEC.]NAME=VALUE",
        help="a default, or a flag, of all specs or of one",
    )


def given(args: argparse.Namespace) -> list[str]:
    """The options of libraries that are there."""
    return [f"--{x}" for x in ("name", "cpu", "triple", "cubin", "set") if getattr(args, x)]


def storage_of(args: argparse.Namespace) -> str | dict[str, str] | None:
    """The storage of all states, or of some by name; Usage if one is for all and others are for some."""
    everywhere = [x for x in args.storage if "=" not in x]
    if everywhere and len(args.storage) > 1:
        raise Usage("--storage: one for all states, or STATE=STORAGE for each")
    return everywhere[0] if everywhere else dict(x.split("=", 1) for x in args.storage) or None


def build(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen.library import files

    library = _library(args)
    if args.output is None:
        raise Usage("name the folder to write to with -o FOLDER")
    with tqdm(total=len(library.jobs()), unit="kernel", leave=False, disable=None) as bar:  # None: on a terminal only
        try:
            found = files.build(library, workers.each, bar.update)
        except ValueError as error:
            raise Usage(str(error)) from None
        except ChildProcessError as error:
            print(f"optgen: {error}", file=sys.stderr)
            return 1
    made: dict[str, bytes] = {}
    try:
        command = library.system.command()
        if command is not None:
            made = files.compile_c(library, found, command)
    except ValueError as error:
        raise Usage(str(error)) from None
    except ChildProcessError as error:
        print(f"optgen: {error}", file=sys.stderr)
        return 1
    for name, data in (found | made).items():
        _write(args.output / name, data)
    ours = re.compile(rf"{library.name}_[0-9a-f]{{12}}(_\w+\.(o|obj|ll)|\.ptx|\.cubin)")
    for old in (args.output / "kernels").iterdir():
        if ours.fullmatch(old.name) and f"kernels/{old.name}" not in found:
            old.unlink()
    if command is None:
        for name in library.system.made(library.name):  # of a build before, of which the header is gone
            (args.output / name).unlink(missing_ok=True)
        given, where = os.environ.get("CC"), f" for {args.triple}" if args.triple else ""
        why = f"CC={given} is not installed" if given else f"there is no C compiler{where}: set CC to one"
        print(f"optgen: {shown(args.output)} has no library, as {why}", file=sys.stderr)
        return 1
    print(f"{shown(args.output)}: {', '.join([*made, f'{library.name}.h'])}, for {library.made_for()}")
    return 0


def _write(path: Path, data: bytes) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        write(path, data, follow=False)


def _library(args: argparse.Namespace) -> Library:
    """What is asked for; Usage for what cannot be."""
    from optgen.library import cpus, systems
    from optgen.library.files import Library

    optimizers = [read(source_named(spec)) for spec in args.spec]
    prefixes = [prefix_of(spec) for spec in args.spec]
    for x in args.set:
        if _set_for(x) not in ("", *prefixes):
            raise Usage(f"--set {x}: the specs of this library are {', '.join(prefixes)}")
    specs = [_library_spec(prefix, x, args) for prefix, x in zip(prefixes, optimizers, strict=True)]
    for prefix in prefixes:
        if prefixes.count(prefix) > 1:
            raise Usage(f"two specs are named {prefix!r}; their functions would have the same names")
        if prefix in _FUNCTIONS.split():
            raise Usage(f"'{prefix}': C has functions whose names begin with {prefix}_; give the spec another name")
    own_gpu = _gpu(args)
    name = args.name or specs[0].prefix
    if len(specs) > 1 and not args.name:
        raise Usage(f"--name NAME: what a library of {len(specs)} specs is called")
    if not (name.isidentifier() and name.isascii()):
        raise Usage(f"--name {name}: letters, digits and _, as names of C have them")
    if name in _HEADERS.split():
        raise Usage(f"--name {name}: C has a header or a library of this name; choose another one with --name")
    try:
        return Library(name, specs, cpus.cpus(args.cpu, args.triple), systems.system(args.triple), own_gpu)
    except ValueError as error:
        raise Usage(str(error)) from None


def _gpu(args: argparse.Namespace) -> LibraryGpu | None:
    """The GPUs that it is for; None for CPUs."""
    from optgen.library.gpus import LibraryGpu, assembler

    if args.target != "cuda":
        if args.cubin:
            raise Usage("--cubin is for --target cuda")
        return None
    if args.triple and any(x in args.triple for x in ("apple", "wasm")):
        raise Usage(f"--triple {args.triple}: there is no CUDA for it")
    if args.cubin and assembler() is None:
        raise Usage(
            "--cubin needs ptxas of the CUDA toolkit, which is not on the PATH; without it there is PTX, which "
            "the driver compiles"
        )
    return LibraryGpu(gpu(args).arch, args.cubin)


def _library_spec(prefix: str, optimizer: Optimizer, args: argparse.Namespace) -> LibrarySpec:
    from optgen.library.specs import library_spec

    chosen = storage_of(args)
    how = {"master": args.master, "every_flag": args.all, "on_gpu": args.target == "cuda"}
    given = [x.removeprefix(f"{prefix}.") for x in args.set if _set_for(x) in ("", prefix)]
    try:
        own = f"{prefix}_cuda" if args.target == "cuda" else prefix
        return library_spec(own, optimizer, settings(given), list(dict.fromkeys(args.dtype)), chosen, **how)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None


def _set_for(setting: str) -> str:
    """The spec that SPEC.NAME=VALUE is for; empty for NAME=VALUE."""
    spec, dot, _ = setting.partition("=")[0].rpartition(".")
    return spec if dot else ""


def prefix_of(spec: str) -> str:
    """What the names of a spec's functions begin with: `adam_with_lookahead` for `adam with lookahead(k = 5)`."""
    base = specfiles.CHAIN.split(spec, maxsplit=1)[0]
    bare = (base if specfiles.is_name(base) else specfiles.name_of(Path(base))) + spec[len(base) :]
    depth, kept = 0, ""
    for c in bare:  # without what is in brackets
        depth += (c == "(") - (c == ")")
        kept += c if not depth and c != ")" else ""
    words = "".join(c if c.isalnum() and c.isascii() else "_" for c in kept).split("_")
    prefix = "_".join(filter(None, words)).lower()
    if not prefix or prefix[0].isdigit():
        raise Usage(f"'{spec}': its functions would begin with '{prefix}', which is no name of C")
    return prefix
