"""Time one step of every optimizer: the memory ceiling, the compiled kernel, and other libraries that are installed.

examples:
  python benchmarks/step.py                                      everything; peers are used if installed
  python benchmarks/step.py --shapes tensor --optimizers adam lamb
  python benchmarks/step.py --peers none --reps 31               only ceiling and optgen
  python benchmarks/step.py --json out.json --plot out.png --markdown benchmarks/README.md

A share is the median, over the repetitions, of the ceiling's time divided by a contender's time in the same round. In
the column `own` it is that of the spec's own ceiling: the same sweeps over memory, with additions only.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import machine
import measure
import report
import workloads
from measure import Result
from peers import PEERS
from tqdm import tqdm
from workloads import OPTIMIZERS, SHAPES

LEAST_REPS = 15


def main() -> int:
    args = arguments()
    limit_threads(args.threads)
    description = machine.describe(args.threads)
    print(machine.text(description), end="\n\n", flush=True)
    if args.reps < LEAST_REPS:
        print(f"note: fewer than {LEAST_REPS} repetitions; the shares are rough", file=sys.stderr)
    results = run(args)
    print(report.text(results))
    for path, write in (
        (args.json, report.write_json),
        (args.plot, report.write_plot),
        (args.markdown, report.write_markdown),
    ):
        if path is not None:
            write(path, results, description)
            print(f"wrote {path}")
    return 0


def run(args: argparse.Namespace) -> list[Result]:
    """Measure every optimizer on every list of shapes that suits it, with a progress bar."""
    peers = [name for name in args.peers if name != "none"]
    cases = [(s, o) for s in args.shapes for o in args.optimizers if workloads.suits(o, SHAPES[s][1])]
    results = []
    with tqdm(cases, unit="case", disable=not sys.stderr.isatty()) as bar:
        for shapes, optimizer in bar:
            bar.set_description(f"{shapes} {optimizer}")
            results.append(measure.measure(shapes, optimizer, peers, args.reps))
    return results


def limit_threads(threads: int) -> None:
    """Keep this process to so many CPUs, before optgen, PyTorch and JAX make their threads: all of them heed that."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    os.environ["OPTGEN_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)


def arguments() -> argparse.Namespace:
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="S", help=", ".join(SHAPES)
    )
    parser.add_argument(
        "--optimizers", nargs="+", choices=OPTIMIZERS, default=list(OPTIMIZERS), metavar="O", help=", ".join(OPTIMIZERS)
    )
    parser.add_argument(
        "--peers", nargs="+", choices=(*PEERS, "none"), default=list(PEERS), metavar="P",
        help=f"{', '.join(PEERS)}, or none",
    )  # fmt: skip
    parser.add_argument("--reps", type=int, default=21, help="paired repetitions (default %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=available, help="CPUs used by every contender (default: all, %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (PNG); needs matplotlib")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of a file")
    args = parser.parse_args()
    if args.reps < 1:
        parser.error("--reps must be at least 1")
    if not 1 <= args.threads <= available:
        parser.error(f"--threads must be from 1 to {available}, the CPUs this process may use")
    report.check_folders(parser, args.json, args.plot, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
