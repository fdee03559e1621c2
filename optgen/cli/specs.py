"""The commands about specs as text: check, fmt, new."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from optgen import specfiles
from optgen.cli.common import (
    Commands,
    Usage,
    command,
    in_checkout,
    paths_of,
    read,
    shown,
    source_named,
    source_of,
    write,
)
from optgen.cli.templates import ELEMENTS, MATRIX
from optgen.diagnostics import SpecErrors


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        check,
        "report every error and warning of specs",
        "  optgen check            all specs that come with the package\n  optgen check mine.opt   one file\n",
    )
    parser.add_argument(
        "spec", nargs="*", metavar="SPEC", help="name or .opt file (default: all that come with optgen)"
    )
    parser = command(
        commands,
        "fmt",
        fmt,
        "lay specs out anew: aligned, comments kept",
        "  optgen fmt mine.opt     rewrite one file\n"
        "  optgen fmt              rewrite those of a checkout of optgen\n"
        "  optgen fmt --check      change nothing; exit code 1 if a file would change\n",
    )
    parser.add_argument(
        "spec", nargs="*", metavar="SPEC", help="name or .opt file (default: all that come with optgen)"
    )
    parser.add_argument("--check", action="store_true", help="only say which files would change")
    parser = command(
        commands,
        "new",
        new,
        "write a commented spec to start from",
        "  optgen new mine.opt        never overwrites a file\n"
        "  optgen new my/mine.opt     makes the folder my if there is none\n"
        "  optgen new --matrix mine   with products of matrices, a factorization, a loop\n",
    )
    parser.add_argument("--matrix", action="store_true", help="an optimizer of matrices, as Muon and Shampoo are")
    parser.add_argument("name", metavar="NAME", help="name of the optimizer or path of the file, .opt is added")


def check(args: argparse.Namespace) -> int:
    failed = 0
    folder = specfiles.folder() / "transforms"
    transforms = (str(folder / f"{name}.opt") for name in specfiles.transforms())
    for spec in args.spec or (*specfiles.all_available(), *transforms):
        try:
            source = source_named(spec)
            read(source)
            print(f"{spec if args.spec else source.name}: ok")
        except SpecErrors as errors:
            failed += 1
            print(errors, end="\n\n", file=sys.stderr)
    return 1 if failed else 0


def fmt(args: argparse.Namespace) -> int:
    from optgen.lang import format_text

    otherwise = "name the files to format"
    root = in_checkout("specs", otherwise) if not args.spec and not args.check else None
    paths = paths_of(args.spec)
    if root is not None:
        for path in paths:
            in_checkout(f"specs/{path.relative_to(root)}", otherwise)
    changed = failed = 0
    for path in paths:
        source = source_of(path)
        try:
            text = format_text(source)
        except SpecErrors as errors:
            failed += 1
            print(errors, end="\n\n", file=sys.stderr)
            continue
        if text != source.text:
            changed += 1
            print(f"{'would change' if args.check else 'changed'} {shown(path)}")
            if not args.check:
                write(path, text.encode())
    return 1 if failed or (args.check and changed) else 0


def new(args: argparse.Namespace) -> int:
    from optgen.diagnostics import Source
    from optgen.lang import format_text, parse

    path = Path(args.name if args.name.endswith(".opt") else f"{args.name}.opt")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", path.stem):
        raise Usage(f"{path.stem!r} cannot name a spec: letters, digits and _, a letter first")
    name = "".join(part[:1].upper() + part[1:] for part in path.stem.split("_"))
    source = Source(str(path), (MATRIX if args.matrix else ELEMENTS).format(name=name))
    parse(source)
    text = format_text(source)
    folder = path.parent
    if not folder.is_dir():
        if folder.exists() or not folder.parent.is_dir():
            raise Usage(f"no such folder: {folder}")
        folder.mkdir()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Usage(f"{path} exists; nothing is overwritten") from None
    print(f"wrote {path}; next:\n  optgen check {path}\n  optgen explain {path}\n  optgen language")
    return 0
