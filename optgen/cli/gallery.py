"""The command gallery: writes a folder of pages about the specs that come with optgen, with an index."""

from __future__ import annotations

import argparse
from pathlib import Path

from optgen import specfiles
from optgen.cli import workers
from optgen.cli.common import Commands, Usage, command, shown, write


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "gallery",
        gallery,
        "write a folder of pages about the specs that come with optgen",
        "  optgen gallery -o site              all of them, in three minutes; open\n"
        "                                      site/index.html\n"
        "  optgen gallery adam lion -o site    a few\n",
    )
    parser.add_argument("spec", nargs="*", metavar="NAME", help="specs that come with optgen (default: all)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to write it")


def gallery(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen.pages import gallery as pages
    from optgen.pages import traits

    names = _names(args.spec) or traits.all_names()
    if args.output.exists() and not args.output.is_dir():
        raise Usage(f"-o {shown(args.output)}: this is a file, and the pages of a gallery are a folder")
    # disable=None: no bar where stderr is no terminal.
    with workers.each(pages.spec_page, [(name,) for name in names]) as made:
        for name, text in zip(names, tqdm(made, total=len(names), unit="page", leave=False, disable=None), strict=True):
            write(args.output / pages.path_of(name), text.encode())
    write(args.output / pages.INDEX, pages.index_page(names).encode())
    print(f"wrote {shown(args.output / pages.INDEX)} and {len(names)} pages")
    return 0


def _names(given: list[str]) -> tuple[str, ...]:
    """The names of these specs, each with its folder; Usage for what does not come with optgen."""
    known = {name: name for name in specfiles.all_available()}
    known |= {name.rpartition("/")[2]: name for name in specfiles.available("matrix")}
    for name in given:
        if name not in known:
            raise Usage(f"{name!r} is no spec that comes with optgen; {specfiles.hint(name)}")
    return tuple(dict.fromkeys(known[name] for name in given))
