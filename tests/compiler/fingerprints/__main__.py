"""Writes fingerprints of what the compiler makes of the specs, and says what changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from optgen import files
from optgen.cli import workers
from tests.compiler.fingerprints.cases import all_specs, cases
from tests.compiler.fingerprints.changes import differences, from_text, to_text, versions
from tests.compiler.fingerprints.lines import lines

HELP = """\
A file has a line for each variant of a spec: all flags in float32 (of more than 16 combinations, those in which a flag
has a value for the first time), and the default flags in other dtypes and storages, and as boxes or with donated
gradients. It has hashes of the texts
  avx2, avx512, arm     LLVM IR for these CPUs, before LLVM's passes
  gpu                   LLVM IR for GPUs, and the launches of a step
  ptx                   what LLVM makes of that, for the oldest GPU      (of default variants)
  host, prologue        LLVM IR of the parts of a step before launches   (of default variants)
and the numbers of
  launches              of a step on a GPU
  sweeps, operations    of the planned kernels
  bytes                 that sweeps move, for each element
and of variants in stages, as those with products, which have a line for each kind of update,
  kernels, calls        of the update
  bytes, flops          of sweeps and of products, for a matrix of 768 x 3072
  workspace             bytes of the arrays between kernels

examples:
  python -m tests.compiler.fingerprints /tmp/before.txt
  python -m tests.compiler.fingerprints /tmp/after.txt --compare /tmp/before.txt
  python -m tests.compiler.fingerprints /tmp/some.txt adam muon 'sgd with lookahead' --compare /tmp/before.txt

The exit code is 1 if anything differs, or the version of LLVM. Hashes but ptx are the same on every machine.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.compiler.fingerprints",
        description=__doc__,
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("output", type=Path, metavar="FILE", help="where to write them")
    parser.add_argument("spec", nargs="*", metavar="SPEC", help="the specs (default: all that come with optgen)")
    parser.add_argument("--compare", type=Path, metavar="OLD", help="a file made before; say what differs")
    args = parser.parse_args(arguments)
    known = all_specs()
    args.spec = [spec if spec in known else f"matrix/{spec}" for spec in args.spec]
    for spec in args.spec:
        if spec not in known:
            name = spec.removeprefix("matrix/")
            parser.error(f"no spec {name!r}; names are as in 'optgen list', or 'sgd with lookahead'")
    if args.output.is_dir() or not args.output.parent.is_dir():
        parser.error(f"{args.output} cannot be written: it must be a file in a folder that is there")
    old = None
    if args.compare:
        try:
            old = args.compare.read_text(encoding="utf-8")
            from_text(old)
        except (OSError, ValueError) as error:
            parser.error(f"--compare {args.compare}: {error}")
    new = made(args.spec or known)
    with files.replacing(args.output) as file:
        file.write(new.encode())
    if old is None:
        return 0
    said = differences(old, new, args.spec)
    print("\n".join(said or ["nothing differs"]))
    return int(bool(said))


def made(specs: Sequence[str]) -> str:
    """The text of the file about some specs."""
    work = [(case,) for spec in specs for case in cases(spec)]
    # disable=None: no bar where stderr is no terminal.
    with workers.each(lines, work) as results, tqdm(total=len(work), unit="variant", leave=False, disable=None) as bar:
        found = {}
        for result in results:
            found |= result
            bar.update()
    return to_text(found, versions())


if __name__ == "__main__":
    sys.exit(main())
