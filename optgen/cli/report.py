"""The command report: writes a page in HTML about a spec."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path

from optgen.cli.common import Commands, Usage, command, read, shown, source_named, write


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "report",
        report,
        "write a page about a spec: equations, costs here, analysis, trajectories, races",
        "  optgen report adam                   write report.html\n"
        "  optgen report mine.opt -o mine.html  about your own spec\n"
        "  optgen report 'adam with lookahead'\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file, or 'NAME with TRANSFORM'")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html"
    )


def report(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen.pages import report as pages
    from optgen.pages.topic import Topic

    if args.output.suffix not in (".html", ".htm"):
        raise Usage(f"-o {args.output}: a page is a file that ends in .html")
    optimizer = read(source_named(args.spec))
    topic = Topic(optimizer, args.spec, pages.measured())
    again = shlex.join(("optgen", "report", args.spec, "-o", str(args.output)))
    # disable=None: no bar where stderr is no terminal.
    bar = partial(tqdm, unit="section", leave=False, disable=None)
    text = pages.page_of(topic, command=again, shown=bar).encode()
    write(args.output, text)
    print(f"wrote {shown(args.output)}, {len(text) / 1e3:.0f} kB")
    return 0
