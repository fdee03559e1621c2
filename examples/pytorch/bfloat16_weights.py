"""Train a small GPT whose weights are bfloat16, with what optgen.torch does about rounding, beside one in float32.

AdamW trains the network of char_gpt.py, with fewer units, from several seeds: with weights of float32, and with weights
of bfloat16 that are rounded to nearest, at random (weights="stochastic"), with what rounding lost (weights="kahan"), or
that have a float32 master. Only the weights and their gradients have 16 bits: the network computes in float32, from
weights that are cast, as products of bfloat16 take long on CPUs; and AdamW's two moments are float32.

Written to the output folder: losses on held-out text over the steps (bfloat16-weights.svg).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from char_gpt import DOCUMENTS, GPT, Text
from torch.func import functional_call
from tqdm import tqdm

import optgen.torch

HERE = Path(__file__).resolve().parent
RATE, EVERY = 2e-3, 20
"""The largest rate; steps between two looks at the held-out text."""
WAYS: dict[str, tuple[torch.dtype, dict[str, Any], str]] = {
    "float32": (torch.float32, {}, "#1f5fa8"),
    "bfloat16, to nearest": (torch.bfloat16, {}, "#b0b0b0"),
    "bfloat16, stochastic": (torch.bfloat16, {"weights": "stochastic"}, "#d1661b"),
    "bfloat16, kahan": (torch.bfloat16, {"weights": "kahan"}, "#2f7d32"),
    "bfloat16, float32 master": (torch.bfloat16, {"master": True}, "#8c4799"),
}
"""The dtype of weights, the arguments of AdamW, and the color of a line."""


@dataclass
class Run:
    """The losses on held-out text after some steps; the last one is that of the trained network."""

    name: str
    seed: int
    steps: list[int]
    losses: list[float]


def loss_of(net: GPT, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Computed in float32, of weights of any dtype."""
    x, target = batch
    scores = functional_call(net, {name: p.float() for name, p in net.named_parameters()}, (x,))
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


@torch.no_grad()
def held_out_loss(net: GPT, text: Text) -> float:
    generator = torch.Generator().manual_seed(0)
    batches = [text.batch(text.held_out, 32, generator) for _ in range(4)]
    return sum(loss_of(net, batch).item() for batch in batches) / len(batches)


def train(name: str, seed: int, text: Text, args: argparse.Namespace) -> Run:
    dtype, how, _ = WAYS[name]
    torch.manual_seed(seed)
    net = GPT(len(text.alphabet), text.length, width=64, layers=2).to(dtype)
    opt = optgen.torch.AdamW(
        net.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.1, seed=seed, storage="float32", **how
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, RATE, args.steps, pct_start=0.1, cycle_momentum=False)
    generator = torch.Generator().manual_seed(seed)
    run = Run(name, seed, [], [])
    for k in tqdm(range(args.steps), f"{name}, seed {seed}", unit="step", leave=False, disable=None):
        loss = loss_of(net, text.batch(text.train, args.batch_size, generator))
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        if (k + 1) % EVERY == 0 or k + 1 == args.steps:
            run.steps.append(k + 1)
            run.losses.append(held_out_loss(net, text))
    print(f"{name:24} seed {seed}  loss {run.losses[-1]:.3f} on held-out text", flush=True)
    return run


def plot(runs: Sequence[Run], path: Path) -> None:
    """Losses over the steps, and at the end, of all seeds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "optgen"  # the same numbers give the same file
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(3, 2), layout="constrained")
    seeds = len({run.seed for run in runs})
    for row, (name, (_, _, color)) in enumerate(WAYS.items()):
        own = [run for run in runs if run.name == name]
        for k, run in enumerate(own):
            left.plot(run.steps, run.losses, color=color, lw=1.2, alpha=0.8, label=None if k else name)
        ends = [run.losses[-1] for run in own]
        right.plot(ends, [row] * len(ends), "o", color=color, alpha=0.8)
        right.plot([min(ends), max(ends)], [row] * 2, "-", color=color, lw=1.5)
    left.set(xlabel="step", ylabel="loss on held-out text (nats per character)", yscale="log")
    left.set_title(f"AdamW, a GPT of characters, {seeds} seeds")
    left.legend(frameon=False)
    right.set(xlabel="loss after the last step", title="By weights")
    right.set_yticks(range(len(WAYS)), list(WAYS))
    right.invert_yaxis()
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="updates in each run (default: 400)")
    parser.add_argument("--batch-size", type=int, default=16, help="pieces of text in a step (default: 16)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument("--out", type=Path, default=HERE, help="output folder (default: this one)")
    args = parser.parse_args()
    if min(args.steps, args.batch_size, args.seeds) < 1:
        parser.error("--steps, --batch-size and --seeds must be at least 1")
    torch.set_num_threads(1)  # for products as small as these, a second thread gains little
    text = Text("".join(path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.md"))), length=64)
    runs = [train(name, seed, text, args) for name in WAYS for seed in range(args.seeds)]
    spread = [[run.losses[-1] for run in runs if run.name == name] for name in WAYS]
    for name, ends in zip(WAYS, spread, strict=True):
        mean = sum(ends) / len(ends)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in ends) / max(1, len(ends) - 1))
        print(f"{name:24} {mean:.3f} +- {deviation:.3f}")
    args.out.mkdir(parents=True, exist_ok=True)
    plot(runs, args.out / "bfloat16-weights.svg")
    print(f"wrote {args.out / 'bfloat16-weights.svg'}")


if __name__ == "__main__":
    main()
