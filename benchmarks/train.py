"""Time a training iteration of networks: forward, backward and the update, beside PyTorch and MXNet. Our networks are
trained as they are written and, in the column "hybridized", compiled; those of MXNet are hybridized.

examples:
  python benchmarks/train.py                                       PyTorch too, if it is installed
  python benchmarks/train.py --pytorch ~/torch/bin/python          with the PyTorch of another environment
  python benchmarks/train.py --mxnet ~/mxnet/bin/python            with MXNet 1.9.1
  python benchmarks/train.py --networks resnet18-224 dcgan --reps 7
  python benchmarks/train.py --json train.json --plot train.png --markdown benchmarks/README.md

Each library trains in a process of its own. They take turns, each for a sample at a time, while the others wait and
their threads sleep; what is compared is samples of the same round.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine
import networks
import report
from tqdm import tqdm

from optgen import files

HERE = Path(__file__).resolve().parent
PACKAGES = {"pytorch": "torch", "mxnet": "mxnet"}
SAMPLE_SECONDS = 0.3
OURS, PEERS = ("runtime", "hybridized"), ("pytorch", "mxnet")


@dataclass(frozen=True)
class Result:
    """One network: seconds of an iteration by library, one sample a round, and from start to first iteration's end."""

    network: str
    seconds: dict[str, list[float]]
    first: dict[str, float]

    def ratio(self, ours: str, peer: str) -> str:
        """Median of the paired ratios of our seconds to the peer's; "-" where there is no peer."""
        if peer not in self.seconds:
            return "-"
        pairs = zip(self.seconds[ours], self.seconds[peer], strict=True)
        return f"{statistics.median(a / b for a, b in pairs):.2f}"


class Process:
    """A library that trains a network, in samples."""

    def __init__(self, python: str, library: str, network: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [python, str(HERE / "networks.py"), library, network],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment,
        )  # fmt: skip
        self.first = self._read()

    def sample(self) -> float:
        """Seconds of an iteration, the median over a sample."""
        self._process.stdin.write(f"{SAMPLE_SECONDS}\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _read(self) -> float:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._process.args)} ended with {self._process.wait()}")
        return float(line)


def main() -> int:
    args = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    description = machine.describe(args.threads)
    interpreters = {"pytorch": args.pytorch, "mxnet": args.mxnet}
    versions = {peer: version(peer, interpreters[peer]) for peer in PEERS if interpreters[peer] is not None}
    description["packages"] |= {PACKAGES[peer]: found or "absent" for peer, found in versions.items()}
    peers = {peer: interpreters[peer] for peer, found in versions.items() if found is not None}
    print(machine.text(description), end="\n\n", flush=True)
    for package in ("optgen", "runtime"):
        compileall.compile_dir(HERE.parent / package, quiet=2)
    results = [measure(network, args, peers) for network in tqdm(args.networks, disable=not sys.stderr.isatty())]
    for row in table(results):
        print("  ".join(f"{cell:>{12 if k < len(row) - 1 else 0}}" for k, cell in enumerate(row)))
    if args.json is not None:
        args.json.write_text(json.dumps({"machine": description, "results": list(map(asdict, results))}, indent=1))
    if args.plot is not None:
        plot(args.plot, results, description)
    if args.markdown is not None:
        report.insert(args.markdown, "train.py", markdown(results, description))
    return 0


def measure(network: str, args: argparse.Namespace, peers: dict[str, str]) -> Result:
    """All libraries in turn; each of ours starts as a fresh install does, with no compiled kernels.

    Python's bytecode is there, as pip compiles what it installs.
    """
    threads = {name: str(args.threads) for name in ("OPTGEN_NUM_THREADS", "OMP_NUM_THREADS")}
    with contextlib.ExitStack() as stack:
        processes = {}
        for ours in OURS:
            cache = stack.enter_context(tempfile.TemporaryDirectory())
            environment = threads | {"OPTGEN_CACHE_DIR": cache, "PYTHONPATH": str(HERE.parent)}
            processes[ours] = Process(sys.executable, ours, network, environment)
        for peer, python in peers.items():
            processes[peer] = Process(python, peer, network, threads)
        seconds: dict[str, list[float]] = {name: [] for name in processes}
        for _ in range(args.reps):
            for name, process in processes.items():
                seconds[name].append(process.sample())
        for process in processes.values():
            process.close()
    return Result(network, seconds, {name: process.first for name, process in processes.items()})


def version(peer: str, python: str) -> str | None:
    """Of a peer, for that interpreter; None where it has none."""
    code = f"import {PACKAGES[peer]} as package; print(package.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


# ---------------------------------------------------------------- reports


def table(results: Sequence[Result]) -> list[list[str]]:
    libraries = [*OURS, *(peer for peer in PEERS if any(peer in r.seconds for r in results))]
    pairs = [(ours, peer) for peer in libraries[len(OURS) :] for ours in OURS]
    rows = [["network", *libraries, *(f"{ours}/{peer}" for ours, peer in pairs), "first iteration"]]
    for r in results:
        medians = [report.duration(statistics.median(r.seconds[name])) for name in libraries]
        first = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in r.first.items())
        rows.append([r.network, *medians, *(r.ratio(*pair) for pair in pairs), first])
    return rows


def markdown(results: Sequence[Result], description: dict[str, Any]) -> str:
    head, *body = table(results)
    body = [[networks.NETWORKS[row[0]], *row[1:]] for row in body]
    lines = [head, [":--", *(["--:"] * (len(head) - 2)), ":--"], *body]
    return machine.text(description).replace("\n", "  \n") + "\n\n" + "\n".join(f"| {' | '.join(x)} |" for x in lines)


def plot(path: Path, results: Sequence[Result], description: dict[str, Any]) -> None:
    """Bars: milliseconds of an iteration, by network and library."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(results), figsize=(3.2 * len(results), 3.2), layout="constrained", squeeze=False
    )
    for axis, r in zip(axes[0], results, strict=True):
        for k, (name, times) in enumerate(r.seconds.items()):
            milliseconds = statistics.median(times) * 1e3
            axis.bar(k, milliseconds, width=0.6, color=report.COLORS[k], label=name)
            axis.annotate(f"{milliseconds:.2f}", (k, milliseconds), ha="center", va="bottom", fontsize=9)
        axis.set_title(r.network, fontsize=10)
        axis.set_xticks(range(len(r.seconds)), list(r.seconds), fontsize=9)
        axis.tick_params(length=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("ms an iteration")
    figure.suptitle(f"Training: {description['cpu']}, {description['threads']} threads", fontsize=10)
    with files.replacing(path) as file:
        figure.savefig(file, format="png", dpi=150)


def arguments() -> argparse.Namespace:
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=networks.NETWORKS, default=list(networks.NETWORKS))
    parser.add_argument("--pytorch", default=sys.executable, metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--reps", type=int, default=21, help="rounds (default %(default)s)")
    parser.add_argument("--threads", type=int, default=min(2, available), help="CPUs for each (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (PNG); needs matplotlib")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args()
    if args.reps < 1 or not 1 <= args.threads <= available:
        parser.error(f"--reps must be at least 1, and --threads from 1 to {available}, the CPUs this process may use")
    report.check_folders(parser, args.json, args.plot, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
