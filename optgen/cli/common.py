"""Functions that several commands use: find specs, parse NAME=VALUE, write files, add a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from optgen import cache_folder, files, specfiles
from optgen.cli import terminal
from optgen.diagnostics import Source, SpecErrors, render
from optgen.model import Optimizer

if TYPE_CHECKING:
    from optgen.backends.gpu.gpu_target import GpuTarget

    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = object


class Usage(ValueError):
    """The command cannot be carried out as given. The exit code is 2."""


def check_environment() -> None:
    """Refuse variables that no command could go by, before any does its work."""
    from optgen.objectcode import cache
    from optgen.threads import pool

    try:
        pool.default_threads()
        cache.limit()
        cache_folder.debug_folder()
    except ValueError as error:
        raise Usage(str(error)) from None


def command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command whose help is its summary and its examples, whose lines are at most 80 columns wide."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=terminal.fill(f"{summary[0].upper()}{summary[1:]}.", terminal.width()),
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_arch(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The option --arch, which `gpu` reads."""
    own = "the oldest GPUs that PTX is for, sm_75 (default) to sm_120"
    parser.add_argument("--arch", metavar="ARCH", help=own + more)


def gpu(args: argparse.Namespace, target: str = "cuda", option: str = "--target") -> GpuTarget:
    """The GPUs that code is made for; Usage if there is no such architecture, or one must be chosen. `option` is that
    which has named the target."""
    from optgen.backends.gpu import TARGETS

    kind = TARGETS[target]
    given, known = args.arch or kind.oldest, ", ".join(kind.architectures)
    if given is None:
        raise Usage(f"{option} {target} needs --arch, as code for one of them runs on no other: {known}")
    if given not in kind.architectures:
        raise Usage(f"--arch {given}: it is one of {known}")
    return kind(given)


def path_of(spec: str) -> Path:
    """The file of a spec given by name or path. A path has a folder, or ends in .opt; torch/adam is a name."""
    if specfiles.CHAIN.search(spec) and not Path(spec).exists():
        raise Usage(f"'{spec}' is no file; this makes one: optgen show '{spec}' > mine.opt")
    if specfiles.is_name(spec):
        return specfiles.spec_path(spec)
    path = Path(spec)
    if not path.is_file():
        raise Usage(f"{spec} is a folder; name its files" if path.is_dir() else f"no such file: {spec}")
    return path


def paths_of(specs: Iterable[str]) -> list[Path]:
    """The files of the given specs; of all that come with the package if none is given."""
    return [path_of(spec) for spec in specs] or [specfiles.spec_path(name) for name in specfiles.all_available()]


def shown(path: Path) -> str:
    """A path for messages, relative to the current folder if it lies below that."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def source_of(path: Path) -> Source:
    """The text of a spec file. Raises Usage if it is not UTF-8."""
    try:
        return Source(shown(path), path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Usage(f"{shown(path)}: not UTF-8 text (byte {error.start})") from None


def source_named(spec: str) -> Source:
    """The text of a spec given by name or path, or as one with transforms. A transform is shown with sgd as its base.

    Raises Usage, and SpecErrors for a transform that cannot be applied.
    """
    from optgen import pipeline

    if not pipeline.is_chain(spec):
        source = source_of(path_of(spec))
        return pipeline.with_base("sgd", source) if pipeline.is_transform(source) else source
    try:
        return pipeline.chain(spec)
    except (FileNotFoundError, ValueError) as error:
        if isinstance(error, SpecErrors):
            raise
        raise Usage(str(error)) from None


def read(source: Source) -> Optimizer:
    """Parse and check a spec, and print warnings to stderr. Raises SpecErrors."""
    from optgen import pipeline

    optimizer = pipeline.checked(source)
    if optimizer.warnings:
        print(render(optimizer.warnings, optimizer.source), end="\n\n", file=sys.stderr)
    return optimizer


def settings(pairs: Iterable[str]) -> dict[str, Any]:
    """`NAME=VALUE` pairs as keyword arguments of `optgen.load`: true, false, none, numbers, else text."""
    words = {"true": True, "false": False, "none": None}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name.isidentifier() and equals and text):
            raise Usage(f"{pair!r} is not NAME=VALUE")
        found[name] = words[text] if text in words else _number_or_text(text)
    return found


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def in_checkout(name: str, otherwise: str) -> Path:
    """A file or folder of this project, which commands may write to without its name being given.

    Usage, which says what to give `otherwise`, where the package is installed, or a symbolic link leads elsewhere.
    """
    root = specfiles.checkout()
    only = f"{otherwise}: without it only a checkout of optgen is written to"
    if root is None:
        raise Usage(f"{only}, and this one is installed")
    path = root / name
    if not specfiles.in_checkout(path):
        raise Usage(f"{only}, and {shown(path)} leads out of it, to {path.resolve()}")
    return path


def write(path: Path, data: bytes, *, follow: bool = True) -> None:
    """Write a file atomically: a reader sees the old or the new contents, never a part. `follow`: as in `replacing`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path, follow=follow) as file:
        file.write(data)
