"""The command build: some specs as object code, header, LLVM IR and a manifest, for other programs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from optgen.cli.common import Commands, Usage, command, package_version, paths_of, read, shown, variants, write
from optgen.diagnostics import SpecErrors
from optgen.ir.nodes import Variant
from optgen.model import Optimizer

PRODUCTS = (".ll", ".o", ".h")
DTYPES = ("float32", "float64", "float16", "bfloat16")


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "build",
        build,
        "compile specs for this machine's CPU: object files, C headers, LLVM IR, manifests",
        "  optgen build                               all specs that come with the package, to generated/\n"
        "  optgen build adam specs/mine.opt -o out    two specs, to out/adam and out/mine\n"
        "  optgen build adam --all --dtype float32 float64    with amsgrad too, in single and double\n",
    )
    parser.add_argument("spec", nargs="*", metavar="SPEC", help="name or .opt file (default: all that come along)")
    parser.add_argument("-o", "--output", default="generated", type=Path, metavar="FOLDER", help="default: generated")
    parser.add_argument(
        "--all",
        action="store_true",
        help="all combinations of flags (default: those that are arguments at their default)",
    )
    parser.add_argument(
        "--dtype", nargs="+", choices=DTYPES, default=["float32"], metavar="DTYPE", help="of parameters: "
        f"{', '.join(DTYPES)} (default: float32)"
    )  # fmt: skip
    parser.add_argument("--target", default="cpu", choices=("cpu",), help="what to compile for (default: cpu)")


def build(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    specs = _read_all(paths_of(args.spec))
    if specs is None:
        return 1
    jobs = {path: _jobs(optimizer, args.dtype, args.all) for path, optimizer in specs.items()}
    # disable=None: no bar where stderr is no terminal.
    with tqdm(total=sum(map(len, jobs.values())), unit="kernel", leave=False, disable=None) as bar:
        for path, optimizer in specs.items():
            bar.set_description(path.stem)
            folder = args.output / path.stem
            _build_one(optimizer, jobs[path], folder, bar)
            tqdm.write(f"{shown(folder)}: {len(jobs[path])} kernels")
    return 0


def _read_all(paths: list[Path]) -> dict[Path, Optimizer] | None:
    """All specs, or None after showing the errors of every one that has some."""
    stems = [path.stem for path in paths]
    for stem in stems:
        if stems.count(stem) > 1:
            raise Usage(f"two specs are named {stem!r}; their products would overwrite each other")
    specs: dict[Path, Optimizer] = {}
    for path in paths:
        try:
            specs[path] = read(path)
        except SpecErrors as errors:
            print(errors, end="\n\n", file=sys.stderr)
    return specs if len(specs) == len(paths) else None


def _jobs(optimizer: Optimizer, dtypes: list[str], all_flags: bool) -> list[Variant]:
    """What is built: the update, and the evaluation where there is one.

    Flags that follow from parameters have all the values they can.
    """
    defaults = {} if all_flags else {f.name: f.default for f in optimizer.flags if f.condition is None}
    chosen = [flags for flags in variants(optimizer) if defaults.items() <= flags.items()]
    sections = (False, True) if optimizer.evaluate else (False,)
    return [Variant(flags, dtype, evaluate=e) for dtype in dtypes for flags in chosen for e in sections]


def _build_one(optimizer: Optimizer, jobs: list[Variant], folder: Path, bar: Any) -> None:
    from optgen import emit, pipeline
    from optgen.backends import target
    from optgen.ir.cost import cost

    host = target.host()
    built: list[emit.Variant] = []
    products: dict[str, bytes] = {}
    for variant in jobs:
        kernel = pipeline.plan(pipeline.build(optimizer, variant))
        symbol = pipeline.symbol(optimizer, variant)
        code = target.compile_ir(pipeline.lower(kernel, symbol, host.triple), host)
        built.append(emit.Variant(symbol, variant, kernel, asdict(cost(kernel))))
        products |= {f"{symbol}.ll": code.llvm.encode(), f"{symbol}.o": code.object}
        bar.update()
    made = emit.Build(optimizer, package_version(), target.llvm_version(), host.cpu, host.required(), tuple(built))
    products |= {f"{v.symbol}.h": emit.header(made, v).encode() for v in built}
    products["manifest.json"] = emit.manifest(made).encode()
    for name, data in products.items():
        write(folder / name, data)
    for stale in folder.glob("optgen_*"):
        if stale.suffix in PRODUCTS and stale.name not in products:
            stale.unlink()
