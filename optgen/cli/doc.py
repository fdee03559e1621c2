"""The command doc: one Markdown document about all specs that come with the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from optgen.cli.common import Commands, command, paths_of, read, shown, variants, write
from optgen.model import Flags, Optimizer

if TYPE_CHECKING:
    from optgen.emit.doc import Entry
    from optgen.ir.nodes import Kernel


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "doc",
        doc,
        "write the documentation of all specs that come along: equations, arguments, states, costs",
        "  optgen doc             write docs/optimizers.md\n"
        "  optgen doc --check     change nothing; exit code 1 if the file would change\n",
    )
    default = Path("docs/optimizers.md")
    parser.add_argument("-o", "--output", default=default, type=Path, metavar="FILE", help=f"default: {default}")
    parser.add_argument("--check", action="store_true", help="only say whether the file would change")


def doc(args: argparse.Namespace) -> int:
    data = document(paths_of([])).encode()
    if args.output.is_file() and args.output.read_bytes() == data:
        return 0
    if args.check:
        print(f"{shown(args.output)} is not what the specs say; optgen doc writes it anew", file=sys.stderr)
        return 1
    write(args.output, data)
    print(f"wrote {shown(args.output)}")
    return 0


def document(specs: Iterable[Path]) -> str:
    """The text of a document about some specs. Raises SpecErrors for the first one that has errors."""
    from optgen import emit

    return emit.document([_entry(path) for path in specs])


def _entry(path: Path) -> Entry:
    from optgen.emit import Entry

    optimizer = read(path)
    update = [(flags, _kernel(optimizer, flags)) for flags in variants(optimizer)]
    if not optimizer.evaluate:
        return Entry(optimizer, path.stem, update)
    return Entry(optimizer, path.stem, update, [(f, _kernel(optimizer, f, evaluate=True)) for f, _ in update])


def _kernel(optimizer: Optimizer, flags: Flags, *, evaluate: bool = False) -> Kernel:
    from optgen import pipeline
    from optgen.ir.nodes import Variant

    return pipeline.plan(pipeline.build(optimizer, Variant(flags, evaluate=evaluate)))
