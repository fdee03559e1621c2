"""Time optimizers of PyTorch within a training loop: forward, backward, and a step with gradients that are new.

examples:
  python benchmarks/loop.py                                        everything; takes some half an hour
  python benchmarks/loop.py --networks mlp wide --optimizers AdamW
  python benchmarks/loop.py --reverse --apart                      contenders in reverse order, a process each
  python benchmarks/loop.py --json out.json --markdown benchmarks/README.md

Each contender trains a network of its own, all take turns, and a cell is the median time of the step. In brackets is
the median of the ratios to the fused step of PyTorch in the same turn, of the step and of the whole iteration. For
LAMB, Lion, Muon and AdamW with states of 8 bits that is the fused AdamW. `ceiling` is a C program that moves as many
bytes. Loops without PyTorch ("NumPy mlp", "Trainer mlp") have a table of their own, beside the ceiling.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import loop_arrays
import loop_ceiling
import machine
import report
import torch
from loop_arrays import CEILING, EXPRESSIONS, OURS
from loop_networks import NETWORKS
from peers.absent import Absent
from tqdm import tqdm

import optgen.torch

WARM_UP = 5
FUSED = "fused"
Params = Sequence[torch.nn.Parameter]


@dataclass(frozen=True)
class Optimizer:
    """Our optimizer, and PyTorch's that it is compared with. The ceiling moves the bytes of so many `states`.
    `dtype` is that of the network."""

    ours: Callable[[Params], Any]
    theirs: Callable[..., Any]
    states: int = 2
    dtype: torch.dtype = torch.float32

    def contenders(self) -> dict[str, Callable[[Params], Any]]:
        return {
            FUSED: lambda params: self.theirs(params, fused=True),
            "foreach": lambda params: self.theirs(params, foreach=True),
            "compiled": lambda params: _Compiled(self.theirs(params, foreach=True)),
            OURS: self.ours,
        }


class _Compiled:
    """PyTorch's optimizer with its step compiled."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        torch._dynamo.reset()
        torch._logging.set_logs(all=logging.ERROR)
        self.zero_grad = optimizer.zero_grad
        self.step = torch.compile(lambda: optimizer.step(), fullgraph=False)


def _adamw(params: Params, **mode: bool) -> torch.optim.Optimizer:
    return torch.optim.AdamW(params, lr=1e-4, weight_decay=0.01, **mode)


def _momentum(params: Params, **mode: bool) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=1e-4, momentum=0.9, **mode)


def _muon(params: Params) -> Any:
    return optgen.torch.MuonAdamW(params, lr=1e-4)


OPTIMIZERS: Mapping[str, Optimizer] = {
    "AdamW": Optimizer(lambda params: optgen.torch.AdamW(params, lr=1e-4, weight_decay=0.01), _adamw),
    "SGD momentum": Optimizer(lambda params: optgen.torch.SGD(params, lr=1e-4, momentum=0.9), _momentum, 1),
    "Lion": Optimizer(lambda params: optgen.torch.Lion(params, lr=1e-5, weight_decay=0.01), _adamw),
    "LAMB": Optimizer(lambda params: optgen.torch.LAMB(params, lr=1e-4, weight_decay=0.01), _adamw),
    "AdamW int8": Optimizer(
        lambda params: optgen.torch.AdamW(params, lr=1e-4, weight_decay=0.01, storage="int8_dynamic"), _adamw
    ),
    "AdamW bfloat16, master": Optimizer(
        lambda params: optgen.torch.AdamW(params, lr=1e-4, weight_decay=0.01, master=True), _adamw, dtype=torch.bfloat16
    ),
    "Muon": Optimizer(_muon, _adamw),
}


@dataclass
class Result:
    """Seconds of each step and each iteration of the contenders, one for each turn."""

    network: str
    optimizer: str
    threads: int
    steps: dict[str, list[float]] = field(default_factory=dict)
    iterations: dict[str, list[float]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Seconds of a step."""
        return statistics.median(self.steps[name])

    def ratio(self, name: str, other: str, what: str = "steps") -> float:
        """The median, over the turns, of the time of `name` as a part of that of `other`."""
        seconds = getattr(self, what)
        return statistics.median(a / b for a, b in zip(seconds[name], seconds[other], strict=True))

    def cell(self, name: str) -> str:
        """Time, and the ratios to the step and the iteration of what it is compared with: those of the fused step, or
        the ceiling."""
        if name not in self.steps:
            return "-"
        time, other = report.duration(self.median(name)), FUSED if self.network in NETWORKS else CEILING
        if name == other or other not in self.steps:
            return time
        step = self.ratio(name, other)
        if name == CEILING:
            return f"{time} ({step:.2f})"
        return f"{time} ({step:.2f}, {self.ratio(name, other, 'iterations'):.2f})"


def run(network: str, optimizer: str, names: Sequence[str], threads: int, turns: int) -> Result:
    """Train a network for each contender, in turns."""
    result, trained = Result(network, optimizer, threads), {}
    loop_arrays.set_threads(threads)
    torch.set_num_threads(threads)
    for name in names:
        try:
            trained[name] = _training(network, optimizer, name, threads)
            _iteration(*trained[name])
        except Exception as error:  # whatever this build of PyTorch or this machine lacks
            result.absent[name] = str(error).partition("\n")[0] if isinstance(error, Absent) else repr(error)[:100]
            trained.pop(name, None)
    gc.collect()
    for turn in range(WARM_UP + turns):
        for name, parts in trained.items():
            step_seconds, seconds = _iteration(*parts)
            if turn >= WARM_UP:
                result.steps.setdefault(name, []).append(step_seconds)
                result.iterations.setdefault(name, []).append(seconds)
    return result


def _training(network: str, optimizer: str, name: str, threads: int) -> loop_arrays.Loop:
    if network in loop_arrays.LOOPS:
        layers, _, make = loop_arrays.LOOPS[network]
        return make(layers, optimizer, name, threads)
    torch.manual_seed(0)
    chosen, training = OPTIMIZERS[optimizer], NETWORKS[network][1]()
    params = list(training.net.to(chosen.dtype).parameters())
    if name == CEILING:
        zero_grad: Callable[[], None] = training.net.zero_grad
        step = loop_ceiling.bind([p.shape for p in params], chosen.states, threads)
    else:
        made = chosen.contenders()[name](params)
        zero_grad, step = made.zero_grad, made.step

    def passes() -> None:
        zero_grad()
        training.loss().backward()

    return loop_arrays.Loop(passes, step)


def _iteration(passes: Callable[[], object], step: Callable[[], object]) -> tuple[float, float]:
    """The seconds of the step and of all."""
    begin = time.perf_counter()
    passes()
    middle = time.perf_counter()
    step()
    end = time.perf_counter()
    return end - middle, end - begin


def run_apart(network: str, optimizer: str, names: Sequence[str], threads: int, turns: int) -> Result:
    """The same with a process for each contender."""
    result = Result(network, optimizer, threads)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            options = ["--networks", network, "--optimizers", optimizer, "--contenders", name]
            options += ["--threads", str(threads), "--turns", str(turns), "--json", str(file)]
            subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.DEVNULL)
            (found,) = json.loads(file.read_text())["results"]
        for own, others in ((result.steps, found["steps"]), (result.iterations, found["iterations"])):
            own.update(others)
        result.absent |= found["absent"]
    return result


def tables(results: Sequence[Result], names: Sequence[str]) -> list[tuple[str, list[list[str]]]]:
    """A table for each number of threads and each optimizer, and for the loops without PyTorch."""
    found = []
    for (optimizer, threads, inside), group in itertools.groupby(
        results, key=lambda r: (r.optimizer, r.threads, r.network in NETWORKS)
    ):
        rows = list(group)
        own = [name for name in names if any(name in r.steps for r in rows)]
        title = f"{optimizer}, {threads} thread{'s' * (threads > 1)}{'' if inside else ', without PyTorch'}"
        found.append((title, [["network", *own], *([r.network, *map(r.cell, own)] for r in rows)]))
    return found


def main() -> int:
    args = arguments()
    names = args.contenders[::-1] if args.reverse else args.contenders
    description = machine.describe(max(args.threads))
    print(machine.text(description), end="\n\n", flush=True)
    every = itertools.product(args.optimizers, args.threads, args.networks)
    cases = [x for x in every if x[2] in NETWORKS or x[0] in loop_arrays.SPECS]
    results, how = [], run_apart if args.apart else run
    with tqdm(cases, unit="case", disable=None) as bar:
        for optimizer, threads, network in bar:
            bar.set_description(f"{network} {optimizer}")
            own = [name for name in names if name in _contenders(network)]
            results.append(how(network, optimizer, own, threads, args.turns))
    found = tables(results, args.contenders)
    absent = {f"{name}: {why}" for r in results for name, why in r.absent.items()}
    print("\n\n".join(f"{title}\n{report.aligned(table)}" for title, table in found))
    print(*sorted(absent), sep="\n")
    if args.json is not None:
        rows = [vars(r) for r in results]
        report.replace(args.json, json.dumps({"machine": description, "results": rows}, indent=1).encode())
    if args.markdown is not None:
        parts = [machine.text(description).replace("\n", "  \n")]
        parts += ["Networks. " + "; ".join(f"{name}: {_about(name)}" for name in args.networks) + "."]
        parts += [f"**{title}**\n\n{report.piped(table)}" for title, table in found]
        report.insert(args.markdown, "loop.py", "\n\n".join(parts))
    return 0


def _about(network: str) -> str:
    return NETWORKS[network][0] if network in NETWORKS else loop_arrays.LOOPS[network][1]


def _contenders(network: str) -> Sequence[str]:
    if network in NETWORKS:
        return CEILING, FUSED, "foreach", "compiled", OURS
    return (CEILING, EXPRESSIONS, OURS) if network.startswith("NumPy") else (CEILING, OURS)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everyone = [CEILING, FUSED, "foreach", "compiled", EXPRESSIONS, OURS]
    choices = (
        ("networks", [*NETWORKS, *loop_arrays.LOOPS]),
        ("optimizers", list(OPTIMIZERS)),
        ("contenders", everyone),
    )
    for name, known in choices:
        parser.add_argument(f"--{name}", nargs="+", choices=known, default=known, metavar="X", help=", ".join(known))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="of PyTorch (default: 1 2)")
    parser.add_argument("--turns", type=int, default=40, help="iterations of each contender (default: %(default)s)")
    parser.add_argument("--reverse", action="store_true", help="contenders in reverse order")
    parser.add_argument("--apart", action="store_true", help="a process for each contender")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of a file")
    args = parser.parse_args()
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
