"""The command compare: prints how two optimizers differ."""

from __future__ import annotations

import argparse
import json

from optgen.cli import terminal
from optgen.cli.common import Commands, Usage, command


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "compare",
        compare,
        "print how two optimizers differ: equations, costs, laws of steps, their race",
        "  optgen compare adam lion\n"
        "  optgen compare adamw mine.opt            your own beside one of optgen's\n"
        "  optgen compare 'sgd(momentum=0.9)' nag   with other arguments\n"
        "  optgen compare adam 'adam with lookahead' --json\n",
    )
    parser.add_argument("first", metavar="A", help="name or .opt file, or 'NAME with TRANSFORM'; 'NAME(beta2=0.99)'")
    parser.add_argument("second", metavar="B", help="what it is compared with")
    parser.add_argument("--json", action="store_true", help="print JSON")


def compare(args: argparse.Namespace) -> int:
    from optgen import comparing
    from optgen.comparing import shown
    from optgen.diagnostics import SpecErrors

    try:
        found = comparing.compare(args.first, args.second)
    except (ValueError, TypeError) as error:
        if isinstance(error, SpecErrors):
            raise
        raise Usage(str(error)) from None
    if args.json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
        return 0
    width = terminal.width()
    print(shown.heading(found, width))
    for part in shown.parts(found, width):
        lines = "\n".join(f"{shown.MARGIN}{line}".rstrip() for line in part.lines)
        print(f"\n{terminal.bold(part.title)}\n{lines}")
    return 0
