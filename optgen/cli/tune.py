"""The command tune: measures the constants that depend on the machine, and writes those that gain here to a file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from optgen import cache_folder
from optgen.cli.common import Commands, Usage, command, write

if TYPE_CHECKING:
    from optgen.tune.compare import Measurement


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "tune",
        run,
        "measure the settings of kernels that depend on this machine",
        "  optgen tune                   all of them, in some minutes; what gains clearly\n"
        "                                is written to machine.json in the folder of the\n"
        "                                cache, or to $OPTGEN_MACHINE\n"
        "  optgen tune --dry-run         the same, and nothing is written\n"
        "  optgen tune --only threads    those of one subject; what was found of others\n"
        "                                is kept\n"
        "  optgen tune --only sweeps.prefetch_bytes products.task_edge\n"
        "\n"
        "No result depends on them, by a bit. Run it while nothing else runs.\n",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="constants or subjects (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="write no file")


def run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen.tune import compare

    names = _chosen(args.only)
    if not args.dry_run:
        _check_place()
    found = []
    # disable=None: no bar where stderr is no terminal.
    with tqdm(names, unit="constant", leave=False, disable=None) as bar:
        for name in bar:
            bar.set_description(name)
            found.append(compare.tuned(name))
    print(_table(found))
    if not args.dry_run:
        _write(found)
    return 0


def _chosen(only: Sequence[str]) -> list[str]:
    from optgen.backends.machine import CONSTANTS

    subjects = dict.fromkeys(name.partition(".")[0] for name in CONSTANTS)
    for name in only:
        if name not in CONSTANTS and name not in subjects:
            raise Usage(f"--only {name}: it is one of {', '.join(subjects)}, or of {', '.join(CONSTANTS)}")
    return [name for name in CONSTANTS if not only or name in only or name.partition(".")[0] in only]


def _check_place() -> None:
    """Usage if there is no place for the file, before anything is measured."""
    from optgen.backends import machine

    if os.environ.get("OPTGEN_MACHINE") == "":
        raise Usage("OPTGEN_MACHINE is empty, so that no file is read: unset it, or name a file; --dry-run writes none")
    folder = machine.place().parent
    if folder == cache_folder.place():
        if cache_folder.folder() is None:
            raise Usage(f"the folder {folder} is not used: {cache_folder.UNUSED}; --dry-run writes nothing")
    elif not os.access(next(x for x in (folder, *folder.parents) if x.exists()), os.W_OK):
        raise Usage(f"{machine.place()}: its folder cannot be written to; --dry-run writes nothing")


def _table(found: Iterable[Measurement]) -> str:
    from optgen.backends.machine import CONSTANTS

    rows = [("constant", "default", "best found", "gain", "noise", "kept")]
    for x in found:
        default = f"{CONSTANTS[x.name].default:,}"
        rows.append((x.name, default, f"{x.best:,}", f"{x.gain:+.1%}", f"{x.noise:.1%}", "yes" if x.is_clear else "no"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first, *others = widths
    return "\n".join(
        "  ".join([name.ljust(first), *(x.rjust(width) for x, width in zip(row, others, strict=True))])
        for name, *row in rows
    )


def _write(found: Sequence[Measurement]) -> None:
    """Write what gains, and what an earlier run found of other constants."""
    from optgen.backends import machine

    path = machine.place()
    try:
        before = machine.read(path)
    except (OSError, ValueError):  # there is none, or a damaged one
        before = {}
    kept = {x.name: x.best for x in found if x.is_clear}
    measured = {x.name for x in found}
    values = {name: x for name, x in before.items() if name not in measured} | kept
    write(path, machine.text(values).encode(), follow=path.parent != cache_folder.place())
    print(f"{path}: {len(values)} {'constant' if len(values) == 1 else 'constants'} of {len(machine.CONSTANTS)}")
