"""The command language: the reference of the spec language, or one section of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from optgen import specfiles
from optgen.cli.common import Commands, Usage, command
from optgen.diagnostics import SECTIONS, suggest


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "language",
        language,
        "print the reference of the spec language, or one section of it",
        "  optgen language           all of it: docs/language.md and what follows\n"
        "  optgen language --list    the names of its sections\n"
        "  optgen language guards    the section that an error names\n"
        "  optgen language E405      the section about an error's code\n",
    )
    parser.add_argument("section", nargs="?", metavar="SECTION", help="a heading of the reference, or an error's code")
    parser.add_argument("--list", action="store_true", help="print the names of the sections")


def language(args: argparse.Namespace) -> int:
    text = specfiles.language()
    if args.list:
        text = "\n".join(name for name, body in sections(text) if body.startswith("### "))
    elif args.section is not None:
        found = dict(sections(text))
        name = SECTIONS.get(args.section.upper(), anchor(args.section))
        if name not in found:
            hint = suggest(name, found) or "optgen language --list prints the sections"
            raise Usage(f"no section {args.section!r}; {hint}")
        text = found[name]
    print(text.rstrip())
    return 0


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Each heading of a Markdown text, as an anchor, with the text from there to the next one that is not below it."""
    lines = text.splitlines()
    headings: list[tuple[int, int, str]] = []  # line, level, title
    in_code = False
    for i, line in enumerate(lines):
        in_code ^= line.startswith("```")
        if not in_code and (match := re.match("(#+) (.+)", line)):
            headings.append((i, len(match[1]), match[2]))
    for k, (begin, level, title) in enumerate(headings):
        ends = (i for i, other, _ in headings[k + 1 :] if other <= level)
        yield anchor(title), "\n".join(lines[begin : next(ends, len(lines))])


def anchor(title: str) -> str:
    """What GitHub makes of a heading: small letters, digits and hyphens."""
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
