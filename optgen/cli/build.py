"""The command build: writes libraries in C of specs; or bare kernels as object code or PTX, with headers, LLVM IR and
a manifest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from optgen import __version__, arguments, specfiles
from optgen.cli import common, library, workers
from optgen.cli.common import (
    Commands,
    Usage,
    command,
    in_checkout,
    paths_of,
    read,
    shown,
    source_of,
    write,
)
from optgen.diagnostics import SpecErrors
from optgen.ir import COMPUTE, Variant
from optgen.model import Flags, Optimizer
from optgen.tables import dense_variants

if TYPE_CHECKING:
    from optgen.emit import Product, TargetProducts

DTYPES = tuple(COMPUTE)
TARGETS = ("cpu", "cuda", "amdgpu")
WITH_LIBRARIES = ("cpu", "cuda")
"""Targets for which there are libraries in C; for others, there are bare kernels alone."""


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        build,
        "compile specs to a library for C and other languages, or to bare kernels",
        "  optgen build adam -o out\n"
        "      a library: out/libadam.a, out/libadam.so, and out/adam.h\n"
        "  optgen build adam mine.opt -o out --name mylib\n"
        "      a library of two specs\n"
        "  optgen build adam -o out --all --dtype float32 float64\n"
        "      with amsgrad too, in single and double precision\n"
        "  optgen build 'adamw with lookahead' -o out --cpu native --storage int8_dynamic\n"
        "      for this CPU, with states of 8 bits\n"
        "  optgen build adam --target cuda -o out\n"
        "      for GPUs: out/libadam_cuda.a, out/libadam_cuda.so, out/adam_cuda.h;\n"
        "      it needs neither a GPU nor NVIDIA's toolkit\n"
        "  optgen build muon soap -o out --name mylib\n"
        "      with products of matrices, and factorizations by the LAPACK that\n"
        "      programs link\n"
        "  optgen build --kernels adam mine.opt -o out\n"
        "      bare kernels, in out/adam and out/mine: object files, C headers,\n"
        "      LLVM IR and manifests\n"
        "  optgen build --kernels\n"
        "      those of all specs, in generated/ of a checkout of optgen\n"
        "  optgen build --kernels --target cuda\n"
        "      PTX, for programs that launch it themselves\n"
        "  optgen build adam --target amdgpu --arch gfx90a -o out\n"
        "      objects for GPUs of AMD, in out/adam; no GPU has run them yet\n",
    )
    parser.add_argument(
        "spec", nargs="*", metavar="SPEC", help="name or .opt file (default for kernels: all that come with optgen)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="default for kernels: generated/ of a checkout of optgen"
    )
    parser.add_argument("--kernels", action="store_true", help="bare kernels, and no library")
    parser.add_argument(
        "--all",
        action="store_true",
        help="all combinations of flags (default: those that are arguments at their default)",
    )
    parser.add_argument(
        "--dtype", nargs="+", choices=DTYPES, default=["float32"], metavar="DTYPE", help="of parameters: "
        f"{', '.join(DTYPES)} (default: float32)"
    )  # fmt: skip
    parser.add_argument("--master", action="store_true", help="keep a float32 weight beside a parameter of 16 bits")
    parser.add_argument(
        "--storage", action="append", default=[], metavar="[STATE=]STORAGE", help="of states: as int8_dynamic"
    )
    parser.add_argument("--target", default="cpu", choices=TARGETS, help="what to compile for (default: cpu)")
    common.add_arch(parser, "; with --target amdgpu the GPUs, as gfx942")
    library.register(parser)


def build(args: argparse.Namespace) -> int:
    if args.arch and args.target == "cpu":
        raise Usage("--arch is for --target cuda and --target amdgpu")
    if not args.spec and not args.kernels:
        raise Usage("name the specs of a library; or --kernels, for bare kernels of all specs")
    if not args.kernels and args.target in WITH_LIBRARIES:
        return library.build(args)
    if library.given(args):
        raise Usage(f"{library.given(args)[0]} is for libraries, and not for bare kernels")
    return _kernels(args)


def _kernels(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from optgen import emit

    target = _target(args)
    otherwise = "name the folder to write to with -o FOLDER"
    output = args.output or in_checkout("generated", otherwise)
    specs = _read_all(paths_of(args.spec))
    if specs is None:
        return 1
    if args.output is None:
        for path in specs:
            in_checkout(f"generated/{specfiles.name_of(path)}", otherwise)
    jobs = {path: _jobs(optimizer, args) for path, optimizer in specs.items()}
    work = [(optimizer, variant) for path, optimizer in specs.items() for variant in jobs[path]]
    empty: list[Path] = []
    # disable=None: no bar where stderr is no terminal.
    with (
        tqdm(total=len(work), unit="kernel", leave=False, disable=None) as bar,
        workers.each(partial(emit.made, target), work) as made,
    ):
        for path, optimizer in specs.items():
            bar.set_description(specfiles.name_of(path))
            products = []
            for one in islice(made, len(jobs[path])):
                products.append(one)
                bar.update()
            folder = output / specfiles.name_of(path)
            if products:
                _write(optimizer, target, products, folder)
            left_out = sum(optimizer.is_staged(flags) for flags in _chosen(optimizer, args.all))
            note = (
                f"; left out, as libraries alone have their products, loops or timings: {left_out}" if left_out else ""
            )
            count = f"{len(products)} kernel{'s' * (len(products) != 1)}"
            tqdm.write(f"{shown(folder) if products else specfiles.name_of(path)}: {count}{note}")
            empty += [path] * (not products)
    if args.spec and empty:
        names = ", ".join(map(specfiles.name_of, empty))
        why = "a step has products or loops between kernels"
        instead = "optgen build NAME -o FOLDER makes a library that has them; in Python there is optgen.load(name)"
        print(f"optgen: {names}: no bare kernels: {why}: {instead}", file=sys.stderr)
        return 1
    return 0


def _target(args: argparse.Namespace) -> TargetProducts:
    from optgen import emit

    return emit.CpuProducts() if args.target == "cpu" else emit.GpuProducts(common.gpu(args, args.target))


def _read_all(paths: list[Path]) -> dict[Path, Optimizer] | None:
    """All specs; None, after showing all errors, if any spec has errors."""
    names = [specfiles.name_of(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise Usage(f"two specs are named {name!r}; their products would overwrite each other")
    specs: dict[Path, Optimizer] = {}
    for path in paths:
        try:
            specs[path] = read(source_of(path))
        except SpecErrors as errors:
            print(errors, end="\n\n", file=sys.stderr)
    return specs if len(specs) == len(paths) else None


def _jobs(optimizer: Optimizer, args: argparse.Namespace) -> list[Variant]:
    """The variants to build, of the update and of the evaluation, if there is one; Usage for what cannot be.

    Flags that follow from parameters take all their values. Where states are in blocks of codes, small parameters have
    kernels of their own.
    """
    sections = (False, True) if optimizer.evaluate else (False,)
    found: list[Variant] = []
    for dtype in dict.fromkeys(args.dtype):
        try:
            arguments.check_dtype(dtype, args.master)
            wanted = arguments.storages(optimizer, dtype, library.storage_of(args))
        except (TypeError, ValueError) as error:
            raise Usage(str(error)) from None
        for flags, small, evaluate in product(_chosen(optimizer, args.all), (False, True), sections):
            storage = arguments.stored(optimizer, flags, wanted, small=small)
            variant = Variant(flags, dtype, args.master, storage, evaluate)
            if variant not in found and (evaluate or not optimizer.is_staged(flags)):
                found.append(variant)
    return found


def _chosen(optimizer: Optimizer, all_flags: bool) -> list[Flags]:
    """The flags of the variants to build."""
    defaults = {} if all_flags else {f.name: f.default for f in optimizer.flags if f.condition is None}
    return [flags for flags in dense_variants(optimizer) if defaults.items() <= flags.items()]


def _write(optimizer: Optimizer, target: TargetProducts, products: Iterable[Product], folder: Path) -> None:
    """Write all files of a spec but those that are as they should be. The manifest, which names the others, comes last.
    Older files of this target are removed."""
    from optgen import emit
    from optgen.backends.target import llvm_version

    files = {name: data for product in products for name, data in product.files.items()}
    build = emit.Build(__version__, llvm_version(), target.description())
    text = emit.manifest(optimizer, build, [product.entry for product in products])
    for name, data in (files | {target.MANIFEST: text.encode()}).items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
            write(path, data, follow=False)
    for old in folder.glob("optgen_*"):
        if target.owns(old.name) and old.name not in files:
            old.unlink()
