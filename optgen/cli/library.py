"""The command build, where it makes a library in C of its specs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from optgen import specfiles
from optgen.cli import workers
from optgen.cli.common import Usage, read, settings, shown, source_named, write

if TYPE_CHECKING:
    from optgen.library.files import Library
    from optgen.library.specs import LibrarySpec


def register(parser: argparse.ArgumentParser) -> None:
    """The options that libraries have, and bare kernels do not."""
    own = parser.add_argument_group("libraries")
    own.add_argument("--name", help="of the library (default: that of its only spec)")
    own.add_argument(
        "--cpu",
        metavar="CPUS",
        help="with commas, the CPUs that it chooses from: x86-64, x86-64-v2, x86-64-v3, x86-64-v4; generic, which is "
        "64-bit Arm; native (default: x86-64,x86-64-v3,x86-64-v4, or generic)",
    )
    own.add_argument(
        "--triple",
        help="the system that it is for: x86_64-linux-gnu, aarch64-linux-gnu, x86_64-apple-macos or arm64-apple-macos "
        "(default: this one)",
    )
    own.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a default, or a flag")
    own.add_argument("--master", action="store_true", help="keep a float32 weight beside a parameter of 16 bits")
    own.add_argument(
        "--storage", action="append", default=[], metavar="[STATE=]STORAGE", help="of states: as int8_dynamic"
    )


def given(args: argparse.Namespace) -> list[str]:
    """The options of libraries that are there."""
    return [f"--{x}" for x in ("name", "cpu", "triple", "set", "master", "storage") if getattr(args, x)]


def build(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen.library import files

    library = _library(args)
    if args.output is None:
        raise Usage("name the folder to write to with -o FOLDER")
    with tqdm(total=len(library.jobs()), unit="kernel", leave=False, disable=None) as bar:  # None: on a terminal only
        found = files.build(library, workers.each, bar.update)
    for name, data in found.items():
        _write(args.output / name, data)
    for old in (args.output / "kernels").glob(f"{library.name}_*.o"):
        if f"kernels/{old.name}" not in found:
            old.unlink()
    command = files.compiler(args.triple)
    if command is None:
        what = f"no C compiler for {args.triple}" if args.triple else "no C compiler"
        print(f"{shown(args.output)}: {library.name}.c and kernels, and no library: there is {what}; set CC to one")
        return 1
    names = files.compile_c(library.name, found, args.output, command)
    made_for = ", ".join(cpu.name for cpu in library.cpus)
    print(f"{shown(args.output)}: {', '.join([*names, f'{library.name}.h'])}, for {made_for}")
    return 0


def _write(path: Path, data: bytes) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        write(path, data, follow=False)


def _library(args: argparse.Namespace) -> Library:
    """What is asked for; Usage for what cannot be."""
    from optgen.library import cpus
    from optgen.library.files import Library

    specs = [_library_spec(spec, args) for spec in args.spec]
    prefixes = [m.prefix for m in specs]
    for prefix in prefixes:
        if prefixes.count(prefix) > 1:
            raise Usage(f"two specs are named {prefix!r}; their functions would have the same names")
    name = args.name or prefixes[0]
    if len(specs) > 1 and not args.name:
        raise Usage(f"--name NAME: what a library of {len(specs)} specs is called")
    if not (name.isidentifier() and name.isascii()):
        raise Usage(f"--name {name}: letters, digits and _, as names of C have them")
    try:
        return Library(name, specs, cpus.cpus(args.cpu, args.triple))
    except ValueError as error:
        raise Usage(str(error)) from None


def _library_spec(spec: str, args: argparse.Namespace) -> LibrarySpec:
    from optgen.library.specs import library_spec

    storage = [x.partition("=")[::2] for x in args.storage]
    everywhere = [state for state, own in storage if not own]
    if everywhere and len(storage) > 1:
        raise Usage("--storage: one for all states, or STATE=STORAGE for each")
    chosen = everywhere[0] if everywhere else dict(storage) or None
    how = {"master": args.master, "every_flag": args.all}
    optimizer = read(source_named(spec))
    try:
        return library_spec(prefix_of(spec), optimizer, settings(args.set), args.dtype, chosen, **how)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None


def prefix_of(spec: str) -> str:
    """What the names of a spec's functions begin with: `adam_with_lookahead` for `adam with lookahead(k = 5)`."""
    bare = spec if specfiles.is_name(spec) or " with " in spec else specfiles.name_of(Path(spec))
    depth, kept = 0, ""
    for c in bare:  # without what is in brackets
        depth += (c == "(") - (c == ")")
        kept += c if not depth and c != ")" else ""
    words = "".join(c if c.isalnum() and c.isascii() else "_" for c in kept).split("_")
    prefix = "_".join(filter(None, words)).lower()
    if not prefix or prefix[0].isdigit():
        raise Usage(f"'{spec}': its functions would begin with '{prefix}', which is no name of C")
    return prefix
