"""Time the kvstores: a push, the update and a pull, beside what bounds them.

examples:
  python benchmarks/kvstore.py
  python benchmarks/kvstore.py --only sync local --reps 31
  python benchmarks/kvstore.py --json kvstore.json --markdown benchmarks/README.md

sync: two ranks of mpiexec, beside a bare, out-of-place MPI.Allreduce of the same array. async: two workers of the
launcher that push at the same time, and one shard with its replica; the keys of a network in one call, beside its bytes
in one key. local: gradients of four contexts summed and applied in one pass, beside the ceiling of its streams.
Contenders take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine
import report
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
WORKERS = 2
OURS, CEILING = "kvstore", "ceiling"
SCRIPT = str(HERE / "kvstore_workers.py")
COMMANDS = {
    "sync": [f"{sys.prefix}/bin/mpiexec", "-n", str(WORKERS), "-genv", "UCX_TLS", "self,sm", sys.executable, SCRIPT],
    "async": [sys.executable, "-m", "runtime.launch", "-n", str(WORKERS), "-s", "1", SCRIPT],
    "local": [sys.executable, SCRIPT],
}
PACKAGES = ("optgen", "numpy", "llvmlite", "mpi4py", "mpich", "ray")
STORES = {"sync": "dist_sync, 2 ranks", "async": "dist_async, 2 workers", "local": "device"}


@dataclass(frozen=True)
class Result:
    """One exchange: seconds by contender, ours and at most one beside it, one sample a round."""

    store: str
    what: str
    seconds: Mapping[str, Sequence[float]]

    def cells(self) -> list[str]:
        """A line of the table: a ratio is that of the medians, a share the median over the rounds."""
        ours = self.seconds[OURS]
        line = [f"{self.store}: {self.what}", report.duration(statistics.median(ours))]
        for name, theirs in self.seconds.items():
            if name != OURS:
                ratio = f"{statistics.median(ours) / statistics.median(theirs):.2f}x"
                share = f"share {statistics.median(b / a for a, b in zip(ours, theirs, strict=True)):.3f}"
                line += [name, report.duration(statistics.median(theirs)), share if name == CEILING else ratio]
        return line + ["-"] * (len(HEADING) - len(line))


HEADING = ["", OURS, "beside it", "", "ours to it"]


def main() -> int:
    args = arguments()
    description = machine.describe(len(os.sched_getaffinity(0)), PACKAGES)
    print(machine.text(description), end="\n\n", flush=True)
    results = [r for engine in tqdm(args.only, disable=not sys.stderr.isatty()) for r in measure(engine, args.reps)]
    table = [HEADING, *(r.cells() for r in results)]
    print(report.aligned(table))
    if args.json is not None:
        content = {"machine": description, "results": list(map(asdict, results))}
        report.replace(args.json, json.dumps(content, indent=1).encode())
    if args.markdown is not None:
        report.insert(args.markdown, "kvstore.py", markdown(table, description))
    return 0


def measure(engine: str, rounds: int) -> list[Result]:
    """What the processes of an engine measure."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "samples.json")
        environment = os.environ | {"PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}
        command = [*COMMANDS[engine], engine, str(rounds), str(file)]
        status = subprocess.run(command, env=environment, check=False).returncode
        if status:
            sys.exit(f"exit status {status}: {' '.join(command)}")
        rows = json.loads(file.read_text())
    return [Result(STORES[engine], row["what"], row["seconds"]) for row in rows]


def markdown(table: Sequence[Sequence[str]], description: dict[str, Any]) -> str:
    return machine.text(description).replace("\n", "  \n") + "\n\n" + report.piped(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="some of the engines")
    parser.add_argument("--reps", type=int, default=21, help="rounds (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args()
    if args.reps < 1:
        parser.error("--reps must be at least 1")
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
