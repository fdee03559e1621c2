"""Time layers and operators of the sizes that networks have, forward and with gradients, beside PyTorch and MXNet.

examples:
  python benchmarks/layers.py                                      PyTorch too, if it is installed
  python benchmarks/layers.py --pytorch ~/torch/bin/python         with the PyTorch of another environment
  python benchmarks/layers.py --mxnet ~/mxnet/bin/python           with MXNet 1.9.1
  python benchmarks/layers.py --only softmax activations --reps 9
  python benchmarks/layers.py --json layers.json --markdown benchmarks/README.md

Each library is a process of its own. They take turns, each for a sample at a time, while the others wait and their
threads sleep; medians. "gradient" is the whole of it: the recorded call, and the walk back to data and parameters.
Layers are not hybridized. A ratio above 1 says that the other library is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import layer_calls
import machine
import processes
import report
from processes import Process
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
SAMPLE_SECONDS = 0.05
COLUMNS = ("forward", "gradient")
OURS = "runtime"

Rows = dict[str, dict[str, list[float]]]
"""Seconds of a call by layer and then by `library: column`, one sample a round."""


def main() -> int:
    args = arguments()
    description, peers = processes.describe(args)
    print(machine.text(description), end="\n\n", flush=True)
    rows = run(args, peers)
    print(report.aligned(table(rows)))
    if args.json is not None:
        report.replace(args.json, json.dumps({"machine": description, "seconds": rows}, indent=1).encode())
    if args.markdown is not None:
        text = machine.text(description).replace("\n", "  \n")
        report.insert(args.markdown, "layers.py", f"{text}\n\n{report.piped(table(rows))}")
    return 0


def run(args: argparse.Namespace, peers: Mapping[str, str]) -> Rows:
    threads = processes.environment(args.threads)
    ours = Process(sys.executable, "layer_calls.py", OURS, environment=threads | {"PYTHONPATH": str(HERE.parent)})
    running = {OURS: ours}
    for peer, python in peers.items():
        running[peer] = Process(python, "layer_calls.py", peer, environment=threads)
    names = [layer.name for group in args.only or layer_calls.GROUPS for layer in layer_calls.GROUPS[group]]
    rows = {name: measure(running, name, args.reps) for name in tqdm(names, disable=not sys.stderr.isatty())}
    for process in running.values():
        process.close()
    return rows


def measure(running: Mapping[str, Process], name: str, reps: int) -> dict[str, list[float]]:
    """One layer; without what a library does not have."""
    seconds: dict[str, list[float]] = {}
    for column in COLUMNS:
        for _ in range(reps):
            for library, process in running.items():
                sample = process.ask(f"{SAMPLE_SECONDS} {column} {name}")
                if not math.isnan(sample):
                    seconds.setdefault(f"{library}: {column}", []).append(sample)
    return seconds


def table(rows: Rows) -> list[list[str]]:
    """A heading and a row for each layer: medians, and the medians of the paired ratios of ours to the others'."""
    libraries = [x for x in (OURS, *processes.PACKAGES) if any(f"{x}: forward" in row for row in rows.values())]
    heads = [f"{library}: {column}" for column in COLUMNS for library in libraries]
    ratios = [f"{OURS}/{peer}: {column}" for column in COLUMNS for peer in libraries[1:]]
    lines = [["layer", *heads, *ratios]]
    for name, row in rows.items():
        line = [report.duration(statistics.median(row[key])) if key in row else "-" for key in heads]
        for column in COLUMNS:
            line += [ratio(row.get(f"{OURS}: {column}"), row.get(f"{peer}: {column}")) for peer in libraries[1:]]
        lines.append([name, *line])
    return lines


def ratio(ours: Sequence[float] | None, theirs: Sequence[float] | None) -> str:
    if ours is None or theirs is None:
        return "-"
    return f"{statistics.median(a / b for a, b in zip(ours, theirs, strict=True)):.2f}"


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known: list[Any] = list(layer_calls.GROUPS)
    parser.add_argument(
        "--only", nargs="+", choices=known, default=[], metavar="GROUP", help=f"some of: {', '.join(known)}"
    )
    processes.add_arguments(parser, 5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample, in seconds, and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args(given)
    processes.check_arguments(parser, args)
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
