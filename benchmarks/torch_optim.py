"""Time step() of optgen.torch as users of PyTorch call it, beside a bound step, the memory ceiling and PyTorch itself.

examples:
  python benchmarks/torch_optim.py                                everything; takes long
  python benchmarks/torch_optim.py --shapes mlp --optimizers torch.AdamW
  python benchmarks/torch_optim.py --json out.json --markdown benchmarks/README.md

`bind` is `rule.bind(params, grads)`. `step` is `optimizer.step()`, with the same gradients at each step; `new grads`
has other tensors as gradients at each step, as after `zero_grad()` (setting them is part of the time, for `fused new`
as well). A share is the median, over the repetitions, of the ceiling's time divided by a contender's.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ceiling
import machine
import measure
import report
import step as step_script
import workloads
from ceiling import Streams
from measure import CEILING, Result
from peers import deepspeed_cpu, pytorch
from peers.absent import Absent
from tqdm import tqdm
from workloads import LR, MOMENTUM, SHAPES, Rule, Tensors

BIND, STEP, NEW, FUSED, FUSED_NEW = "bind", "step", "new grads", "fused", "fused new"
PEERS: Mapping[str, Callable[[str, Tensors], Any]] = {
    FUSED: pytorch.fused,
    FUSED_NEW: lambda name, tensors: _with_new_gradients(pytorch.make(name, tensors, fused=True)),
    "foreach": pytorch.foreach,
    "compiled": pytorch.compiled,
    "deepspeed": deepspeed_cpu.step,
}


@dataclass(frozen=True)
class Case:
    """A spec, the arguments of its class in optgen.torch, and the name by which peers know the optimizer."""

    spec: str
    values: Mapping[str, Any] = field(default_factory=dict)
    peer: str = ""
    storage: str | None = None

    def make(self, params: Sequence[Any]) -> Any:
        """The optimizer."""
        import optgen.torch

        return optgen.torch.optimizer(self.spec)(params, lr=LR, storage=self.storage, **self.values)


CASES = {
    "torch.SGD": Case("torch/sgd", peer="sgd"),
    "torch.SGD momentum": Case("torch/sgd", {"momentum": MOMENTUM}, "momentum"),
    "torch.Adam": Case("torch/adam", peer="adam"),
    "torch.AdamW": Case("torch/adamw", peer="adamw"),
    "torch.Adagrad": Case("torch/adagrad", peer="adagrad"),
    "torch.RMSprop": Case("torch/rmsprop", peer="rmsprop"),
    "torch.Adadelta": Case("torch/adadelta", peer="adadelta"),
    "torch.Adamax": Case("torch/adamax", peer="adamax"),
    "torch.NAdam": Case("torch/nadam", peer="nadam"),
    "torch.RAdam": Case("torch/radam", peer="radam"),
    "torch.Rprop": Case("torch/rprop", peer="rprop"),
    "torch.ASGD": Case("torch/asgd", peer="asgd"),
    "torch.Adafactor": Case("torch/adafactor", peer="adafactor"),
    "torch.AdamW int8_dynamic": Case("torch/adamw", peer="adamw", storage="int8_dynamic"),
    "Lion": Case("lion"),
    "LAMB": Case("lamb"),
}


def main() -> int:
    args = arguments()
    step_script.limit_threads(args.threads)
    description = machine.describe(args.threads)
    print(machine.text(description), end="\n\n", flush=True)
    results = []
    cases = list(itertools.product(args.shapes, args.optimizers))
    with tqdm(cases, unit="case", disable=not sys.stderr.isatty()) as bar:
        for shapes, name in bar:
            bar.set_description(f"{shapes} {name}")
            results.append(run(shapes, name, [] if args.peers == ["none"] else args.peers, args.reps))
    tables = [(title, cells(rows)) for title, rows in report.groups(results)]
    print("\n\n".join(f"{title}\n{report.aligned(table)}" for title, table in tables))
    print(*report.absences(results))
    if args.json is not None:
        report.write_json(args.json, results, description)
    if args.markdown is not None:
        parts = [machine.text(description).replace("\n", "  \n")]
        parts += [f"**{title}**\n\n{report.piped(table)}" for title, table in tables]
        report.insert(args.markdown, "torch_optim.py", "\n\n".join([*parts, *report.absences(results)]))
    return 0


def run(shapes: str, name: str, peers: Sequence[str], reps: int) -> Result:
    """Time all contenders in turns, on the same weights and gradients."""
    case, sizes = CASES[name], SHAPES[shapes][1]
    tensors = workloads.make(sizes)
    weights, grads = _own_memory(tensors)
    optimizer = case.make(_parameters(weights, grads))
    optimizer.step()
    rule = Rule(case.spec, case.values, storage=case.storage)
    bound = rule.load().bind(weights, grads)
    bound(lr=LR)
    streams = Streams.of(bound.rule, max(sizes, key=math.prod))
    steps: dict[str, Callable[[], object]] = {
        CEILING: ceiling.bind(rule, streams, sizes),
        BIND: bound,
        STEP: optimizer.step,
        NEW: _with_new_gradients(case.make(_parameters(weights, grads))),
    }
    absent: dict[str, str] = {}
    for peer in peers:
        try:
            call = PEERS[peer](case.peer, tensors) if case.peer else None
        except Absent as reason:
            absent[peer] = str(reason)
        else:
            steps |= {} if call is None else {peer: call}
    seconds = measure.interleave(steps, reps)
    workloads.check([w.numpy() for w in weights], f"{name}: weights")
    return Result(
        shapes, name, len(sizes), tensors.parameters, len(streams.reads), len(streams.writes), streams.bytes,
        bound.rule.cost.sweeps, seconds, absent,
    )  # fmt: skip


def _own_memory(tensors: Tensors) -> tuple[list[Any], list[Any]]:
    """Copies of the weights and of the gradients in PyTorch's own memory, where users have them."""
    import torch

    weights, grads = ([torch.from_numpy(x).clone() for x in arrays] for arrays in (tensors.weights, tensors.grads))
    return weights, grads


def _parameters(weights: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """Parameters of PyTorch in the memory of these weights, with these gradients."""
    import torch

    params = [torch.nn.Parameter(w) for w in weights]
    for p, g in zip(params, grads, strict=True):
        p.grad = g
    return params


def _with_new_gradients(optimizer: Any) -> Callable[[], object] | None:
    """A step whose gradients are other tensors than at the last step, of the same values."""
    if optimizer is None:
        return None
    params = [p for group in optimizer.param_groups for p in group["params"]]
    turns = itertools.cycle([[p.grad for p in params], [p.grad.clone() for p in params]])

    def step() -> None:
        for p, grad in zip(params, next(turns), strict=True):
            p.grad = grad
        optimizer.step()

    return step


def cells(rows: Sequence[Result]) -> list[list[str]]:
    """A heading and a row for each optimizer; a cell is `time, share of the ceiling`."""
    names = [name for name in (CEILING, BIND, STEP, NEW, *PEERS) if any(name in r.seconds for r in rows)]
    table = [["optimizer", *names]]
    for r in rows:
        line = [r.optimizer]
        for name in names:
            share = "" if name == CEILING else f", {r.share(name):.2f}" if name in r.seconds else ""
            line.append(f"{report.duration(r.median(name))}{share}" if name in r.seconds else "-")
        table.append(line)
    return table


def arguments() -> argparse.Namespace:
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="S")
    parser.add_argument(
        "--optimizers", nargs="+", choices=CASES, default=list(CASES), metavar="O", help=", ".join(CASES)
    )
    parser.add_argument(
        "--peers", nargs="+", choices=(*PEERS, "none"), default=list(PEERS), metavar="P",
        help=f"{', '.join(PEERS)}, or none",
    )  # fmt: skip
    parser.add_argument("--reps", type=int, default=15, help="paired repetitions (default %(default)s)")
    parser.add_argument("--threads", type=int, default=available, help="CPUs used (default: all, %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of a file")
    args = parser.parse_args()
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
