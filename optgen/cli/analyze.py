"""The command analyze: prints what the equations of a spec say of its steps."""

from __future__ import annotations

import argparse
import json

from optgen.cli.common import Commands, Usage, command, read, settings, source_named


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "analyze",
        analyze,
        "print what the equations say of the steps: laws of scale, bounds, limits, stable rates",
        "  optgen analyze adam                       each statement with how it is known:\n"
        "                                            proved, run by the interpreter, or\n"
        "                                            undecided\n"
        "  optgen analyze sgd momentum=0.9           with other arguments\n"
        "  optgen analyze 'adam with lookahead'\n"
        "  optgen analyze mine.opt --json            for programs\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file, or 'NAME with TRANSFORM'")
    parser.add_argument("values", metavar="NAME=VALUE", nargs="*", help="arguments of the spec")
    parser.add_argument("--json", action="store_true", help="print JSON")


def analyze(args: argparse.Namespace) -> int:
    from optgen import analysis

    optimizer, values = read(source_named(args.spec)), settings(args.values)
    try:
        found = analysis.analyze(optimizer, **values)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None
    print(json.dumps(found.to_json(), indent=1, ensure_ascii=False) if args.json else found)
    return 0
