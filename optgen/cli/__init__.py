"""The command `optgen`, a thin layer over the Python API. Each command is one module; this one parses the line.

Exit codes: 0 for success, 1 if a spec has errors (or `fmt --check` found differences, or `list` no spec), 2 if the
command itself is wrong.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from optgen import __version__
from optgen.cli import (
    analyze,
    build,
    cache,
    compare,
    doc,
    explain,
    gallery,
    language,
    listing,
    race,
    report,
    show,
    specs,
    tune,
)
from optgen.cli.common import Usage, check_environment
from optgen.diagnostics import SpecErrors

DESCRIPTION = """\
optgen compiles optimizers, written as the equations of their papers, to fused
kernels.

A SPEC is the name of an optimizer that comes with optgen (`optgen list`) or the
path of a .opt file. `optgen language` prints the reference of its language.
"""
EXAMPLES = """\
examples:
  optgen list --search lion    optimizers whose name or title has this word
  optgen explain lion          its equations, and what a step costs here
  optgen analyze lion          scale, bounds and stability, from the equations
  optgen compare adam lion     which equations differ, and what that changes
  optgen race lion adamw       which of them trains better, with tuned rates
  optgen report lion           a page with all of this: report.html
  optgen new mine.opt          a commented spec to start from
  optgen check mine.opt        all its errors at once
  optgen language guards       a section about the language, as errors name it
  optgen language E405         the section about an error's code
  optgen build adam -o adam    a library for C, C++ and Rust, in adam/
  optgen cache                 where compiled kernels are kept, and how many
  optgen tune                  measure what is fastest on this machine
"""

COMMANDS = (
    listing,
    explain,
    analyze,
    compare,
    race,
    report,
    gallery,
    specs,
    language,
    show,
    build,
    doc,
    cache,
    tune,
)
"""In the order of `--help`."""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="optgen",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"optgen {__version__}")
    top.set_defaults(run=None)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for module in COMMANDS:
        module.register(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` default to those of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # equations are Unicode, terminals are not always
    line = parser()
    args = line.parse_args(arguments)
    if args.run is None:
        line.print_help()
        return 0
    try:
        check_environment()
        code: int = args.run(args)
        if sys.stdout is not None:  # it was closed (`>&-`)
            sys.stdout.flush()
        return code
    except SpecErrors as errors:
        print(errors, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (`| head`) closed the pipe. This keeps Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Usage, OSError, MemoryError) as error:
        print(f"optgen: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
