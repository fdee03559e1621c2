"""The command doc: writes one Markdown document about some specs, or all that come with the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from optgen import specfiles
from optgen.cli.common import Commands, Usage, command, in_checkout, paths_of, read, shown, source_of, write
from optgen.model import Flags, Optimizer
from optgen.tables import dense_variants

if TYPE_CHECKING:
    from optgen.emit.doc import DocEntry
    from optgen.ir import Kernel

_ALL = "docs/optimizers.md"
"""The document about all specs that come with the package, in a checkout of it."""


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "doc",
        doc,
        "write the documentation of specs: equations, arguments, states, costs",
        "  optgen doc                 write docs/optimizers.md of a checkout of optgen\n"
        "  optgen doc -o all.md       write the same text elsewhere\n"
        "  optgen doc --check         write nothing; exit code 1 if the file would change\n"
        "  optgen doc mine.opt        print the section about one spec\n"
        "  optgen doc mine.opt -o mine.md\n",
    )
    parser.add_argument(
        "spec", nargs="*", metavar="SPEC", help="name or .opt file (default: all that come with optgen)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"where to write it (default: {_ALL} of a checkout; with a SPEC: print it)",
    )
    parser.add_argument("--check", action="store_true", help="only say whether the file would change")


def doc(args: argparse.Namespace) -> int:
    output = args.output or (None if args.spec else in_checkout(_ALL, "name the file to write with -o FILE"))
    if output is None and args.check:
        raise Usage("--check compares with a file: name it with -o FILE")
    for spec in args.spec:
        if Path(spec).suffix not in ("", ".opt"):
            raise Usage(f"{spec} is no spec, which ends in .opt; the file to write is named by -o {spec}")
    text = sections(paths_of(args.spec)) if args.spec else document(paths_of([]))
    if output is None:
        print(text, end="")
        return 0
    if output.is_file() and output.read_bytes() == text.encode():
        return 0
    if args.check:
        print(f"{shown(output)} is not what the specs say; optgen doc writes it anew", file=sys.stderr)
        return 1
    write(output, text.encode())
    print(f"wrote {shown(output)}")
    return 0


def document(specs: Iterable[Path]) -> str:
    """The text of a document about some specs. Raises SpecErrors for the first spec with errors."""
    from optgen import emit

    return emit.document([_entry(path) for path in specs])


def sections(specs: Iterable[Path]) -> str:
    """The sections about some specs, in this order. Raises SpecErrors for the first one that has errors."""
    from optgen import emit

    return emit.sections([_entry(path) for path in specs])


def _entry(path: Path) -> DocEntry:
    from optgen.emit import DocEntry

    optimizer = read(source_of(path))
    name, shipped = specfiles.name_of(path), path.is_relative_to(specfiles.folder())
    file, family = f"specs/{name}.opt" if shipped else path.name, name.rpartition("/")[0]
    dense = dense_variants(optimizer)
    update = [(flags, _kernel(optimizer, flags)) for flags in dense if not optimizer.is_staged(flags)]
    if not optimizer.evaluate:
        return DocEntry(optimizer, file, update, family=family)
    evaluate = [(f, _kernel(optimizer, f, evaluate=True)) for f in dense]
    return DocEntry(optimizer, file, update, evaluate, family)


def _kernel(optimizer: Optimizer, flags: Flags, *, evaluate: bool = False) -> Kernel:
    from optgen import pipeline
    from optgen.ir import Variant

    return pipeline.plan(pipeline.build(optimizer, Variant(flags, evaluate=evaluate)))
