"""The command list: the specs that come with optgen, or those of a family or with some words."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import TypeAlias

from optgen import specfiles
from optgen.cli import terminal
from optgen.cli.common import Commands, command, path_of, read, source_of
from optgen.model import Optimizer
from optgen.pages import families

NAMES = 24
"""The columns of names, but for the few that are longer."""
DERIVED = "a flag in brackets is no argument: it follows from hyper-parameters, other flags or a parameter's rank"
Found: TypeAlias = tuple[str, Optimizer]
"""A spec and its name."""


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "list",
        list_,
        "list the optimizers that come with optgen",
        "  optgen list                          one line for each\n"
        "  optgen list --family memory          those that need less memory\n"
        "  optgen list --search memory adam     those whose name, title, source or\n"
        "                                       hyper-parameters have both words\n"
        "  optgen list --long --search lion     with source, flags and states\n"
        "  optgen list --json                   all of this for other programs\n",
    )
    parser.add_argument(
        "--family",
        choices=(*families.titles(), specfiles.SHELF),
        metavar="FAMILY",
        help=f"one of {', '.join(families.titles())}; or papers, the specs of single papers, which load as papers/NAME",
    )
    parser.add_argument("--search", nargs="+", default=[], metavar="WORD", help="those that have all these words")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--long", action="store_true", help="with source, flags and states")
    how.add_argument("--json", action="store_true", help="as a JSON array of objects")


def list_(args: argparse.Namespace) -> int:
    listed = specfiles.available(specfiles.SHELF) if args.family == specfiles.SHELF else specfiles.all_available()
    names = [x for x in listed if args.family in (None, families.of(x))]
    found = [(name, read(source_of(path_of(name)))) for name in names]
    found = [(name, optimizer) for name, optimizer in found if _has(name, optimizer, args.search)]
    if args.json:
        print(json.dumps([_record(name, optimizer) for name, optimizer in found], indent=1, ensure_ascii=False))
    elif args.long:
        print("\n\n".join(_block(name, optimizer) for name, optimizer in found))
        print("\n" + terminal.fill(DERIVED, terminal.width()), file=sys.stderr)  # apart from the list
    elif found:
        print("\n".join(_rows(found)))
    if not found:
        print("no spec has all that was asked for; 'optgen list' shows all", file=sys.stderr)
    return 0 if found else 1


def _has(name: str, optimizer: Optimizer, words: Sequence[str]) -> bool:
    own = (name, optimizer.name, *optimizer.aliases, optimizer.title, optimizer.cite)
    text = " ".join((*own, *(p.doc for p in optimizer.params), *(s.doc for s in optimizer.states))).lower()
    return all(word.lower() in text or _loosely(word).search(re.sub("[_-]", "", text)) for word in words)


def _loosely(word: str) -> re.Pattern[str]:
    """What finds `schedule free`, `Schedule-Free` and `schedule_free` in a text without hyphens and underscores, in
    which they may be one word."""
    return re.compile(r"\s*".join(map(re.escape, re.split(r"[\s_-]+", word.lower()))))


def _rows(found: Sequence[Found]) -> list[str]:
    """A line for each: its name, and as much of its title as fits."""
    size = min(NAMES, max(len(name) for name, _ in found))
    return [terminal.name(name.ljust(size)) + _title(x, max(size, len(name))) for name, x in found]


def _title(optimizer: Optimizer, column: int) -> str:
    """What stands behind a name that ends at a column."""
    room = terminal.width() - column - len(terminal.GAP)
    return terminal.GAP + _cut(optimizer.title, room)


def _cut(text: str, room: int) -> str:
    """The text, or its first words and an ellipsis."""
    if len(text) <= room:
        return text
    words = text[:room].rpartition(" ")[0] or text[: room - 1]
    return words.rstrip(" ,:;") + "…"


def _block(name: str, optimizer: Optimizer) -> str:
    states = " ".join(state.name for state in optimizer.states)
    parts = optimizer.title, optimizer.cite, _line("flags", _flags(optimizer)), _line("states", states)
    margin = " " * 4
    body = (line for part in filter(None, parts) for line in terminal.fitted(margin + part, terminal.width(), 2))
    return "\n".join((terminal.name(name), *body))


def _line(title: str, text: str) -> str:
    return f"{title}: {text}" if text else ""


def _flags(optimizer: Optimizer) -> str:
    """Flags a user sets, derived ones in brackets."""
    return " ".join(f"({f.name})" if f.condition is not None else f.name for f in optimizer.flags)


def _record(name: str, optimizer: Optimizer) -> dict[str, object]:
    return {
        "name": name,
        "optimizer": optimizer.name,
        "aliases": list(optimizer.aliases),
        "family": families.of(name),
        "title": optimizer.title,
        "cite": optimizer.cite,
        "params": {p.name: p.default for p in optimizer.params},
        "flags": [f.name for f in optimizer.flags if f.condition is None],
        "derived_flags": [f.name for f in optimizer.flags if f.condition is not None],
        "states": [s.name for s in optimizer.states],
    }
