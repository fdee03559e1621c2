"""The command cache: shows or clears what is kept of earlier compilations."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from optgen.cache_folder import UNUSED, folder, place
from optgen.cli.common import Commands, Usage, command
from optgen.objectcode import cache
from optgen.objectcode.cache import File


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "cache",
        run,
        "show where compiled kernels are kept, how many and how large, or remove them",
        "  optgen cache          the folder ($OPTGEN_CACHE_DIR), entries, bytes, and the\n"
        "                        limit ($OPTGEN_CACHE_SIZE)\n"
        "  optgen cache clear    remove all entries; kernels are compiled again if needed\n",
    )
    parser.add_argument("action", nargs="?", choices=("clear",), metavar="clear", help="remove all entries")


def run(args: argparse.Namespace) -> int:
    directory, most = folder(), cache.limit()
    if directory is None:
        raise Usage(f"the cache {place()} is not used: {UNUSED}")
    if args.action == "clear":
        print(f"removed {_described(cache.clear(directory))}")
        return 0
    entries = [file for file in cache.files(directory) if file.complete]
    print(f"{directory}\n{_described(entries)}; the limit is {_text(most)}")
    return 0


def _described(files: Sequence[File]) -> str:
    size = sum(file.size for file in files)
    return f"{len(files)} {'entry' if len(files) == 1 else 'entries'}, {_text(size)}"


def _text(size: int) -> str:
    """`1.5 MiB (1,572,864 bytes)`."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f} {unit} ({size:,} bytes)"
    return f"{size} bytes"
