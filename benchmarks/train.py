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
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine
import networks
import processes
import report
from processes import Process
from tqdm import tqdm

from optgen import files

HERE = Path(__file__).resolve().parent
SCRIPT = "networks.py"
SAMPLE_SECONDS = 0.3
OURS, PEERS = ("runtime", "hybridized"), ("pytorch", "mxnet")


@dataclass(frozen=True)
class Result:
    """One network: seconds of an iteration by library, one sample a round, and from the start to the ends of the first
    iteration and of the third."""

    network: str
    seconds: dict[str, list[float]]
    first: dict[str, float]
    third: dict[str, float]

    def ratio(self, ours: str, peer: str) -> str:
        """Median of the paired ratios of our seconds to the peer's; "-" where there is no peer."""
        if peer not in self.seconds:
            return "-"
        pairs = zip(self.seconds[ours], self.seconds[peer], strict=True)
        return f"{statistics.median(a / b for a, b in pairs):.2f}"


def main() -> int:
    args = arguments()
    description, peers = processes.describe(args)
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
    threads = processes.environment(args.threads)
    with contextlib.ExitStack() as stack:
        running, first, third = {}, {}, {}
        for ours in OURS:
            cache = stack.enter_context(tempfile.TemporaryDirectory())
            environment = threads | {"OPTGEN_CACHE_DIR": cache, "PYTHONPATH": str(HERE.parent)}
            running[ours] = Process(sys.executable, SCRIPT, ours, network, environment=environment)
            first[ours], third[ours] = running[ours].read(), running[ours].read()
        for peer, python in peers.items():
            running[peer] = Process(python, SCRIPT, peer, network, environment=threads)
            first[peer], third[peer] = running[peer].read(), running[peer].read()
        seconds: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(args.reps):
            for name, process in running.items():
                seconds[name].append(process.ask(str(SAMPLE_SECONDS)))
        for process in running.values():
            process.close()
    return Result(network, seconds, first, third)


# ---------------------------------------------------------------- reports


def table(results: Sequence[Result]) -> list[list[str]]:
    libraries = [*OURS, *(peer for peer in PEERS if any(peer in r.seconds for r in results))]
    pairs = [(ours, peer) for peer in libraries[len(OURS) :] for ours in OURS]
    rows = [["network", *libraries, *(f"{ours}/{peer}" for ours, peer in pairs), "first iteration, third"]]
    for r in results:
        medians = [report.duration(statistics.median(r.seconds[name])) for name in libraries]
        first = ", ".join(f"{name} {seconds:.2f} s, {r.third[name]:.2f} s" for name, seconds in r.first.items())
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=networks.NETWORKS, default=list(networks.NETWORKS))
    processes.add_arguments(parser, 21)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot (PNG); needs matplotlib")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args()
    processes.check_arguments(parser, args)
    report.check_folders(parser, args.json, args.plot, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
