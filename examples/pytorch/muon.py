"""Train the GPT of char_gpt.py with Muon for its matrices and AdamW for all else, beside AdamW alone.

Both optimizers have one learning rate, which is tried at the same five values; then, at the best of these, both train
the network from several seeds. Muon and AdamW are one spec, `muon_adamw`, in one step. Its steps on matrices are scaled
to the size of AdamW's (arXiv:2502.16982), so that one rate does for both parts. Embeddings and the last layer are
matrices that AdamW updates.

Written to the output folder: losses on held-out text over the steps, and over the rates (char-muon.svg).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from char_gpt import DOCUMENTS, GPT, Text, held_out_loss, loss_of, muon_adamw
from tqdm import tqdm

import optgen.torch

HERE = Path(__file__).resolve().parent
RATES = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3)
WARM_UP, EVERY = 0.1, 20
"""The share of the steps in which the rate grows; steps between two looks at the held-out text."""
ADAM = {"betas": (0.9, 0.98), "weight_decay": 0.1}


def adamw(net: GPT, lr: float) -> torch.optim.Optimizer:
    return optgen.torch.AdamW(net.parameters(), lr=lr, **ADAM)


Make = Callable[[GPT, float], torch.optim.Optimizer]
OPTIMIZERS: dict[str, tuple[Make, str]] = {"AdamW": (adamw, "#1f5fa8"), "Muon + AdamW": (muon_adamw, "#d1661b")}


@dataclass
class Run:
    """The losses on held-out text after some steps; the last one is that of the trained network."""

    name: str
    rate: float
    seed: int
    steps: list[int]
    losses: list[float]

    @property
    def result(self) -> float:
        """Infinite if training diverged."""
        return self.losses[-1] if math.isfinite(self.losses[-1]) else math.inf


def schedule(k: int, steps: int) -> float:
    """The share of the rate in step k, from 0: up in a straight line, then down along a cosine."""
    first = max(1, round(WARM_UP * steps))
    return (k + 1) / first if k < first else 0.5 + 0.5 * math.cos(math.pi * (k - first) / max(1, steps - first))


def train(name: str, rate: float, seed: int, text: Text, args: argparse.Namespace) -> Run:
    torch.manual_seed(seed)
    net = GPT(len(text.alphabet), text.length)
    opt = OPTIMIZERS[name][0](net, rate)
    generator = torch.Generator().manual_seed(seed)
    run = Run(name, rate, seed, [], [])
    for k in tqdm(range(args.steps), f"{name}, rate {rate:g}, seed {seed}", unit="step", leave=False, disable=None):
        for group in opt.param_groups:
            for key in {"lr", "adam_lr"} & set(group):
                group[key] = rate * schedule(k, args.steps)
        loss = loss_of(net, text.batch(text.train, args.batch_size, generator))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (k + 1) % EVERY == 0 or k + 1 == args.steps:
            run.steps.append(k + 1)
            run.losses.append(held_out_loss(net, text))
    print(f"{name:14} rate {rate:<6g} seed {seed}  loss {run.losses[-1]:.3f} on held-out text", flush=True)
    return run


def plot(tuning: Sequence[Run], best: Sequence[Run], path: Path) -> None:
    """Losses over the steps, of all seeds at the best rates, and losses over the rates."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "optgen"  # the same numbers give the same file
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(3, 2), layout="constrained")
    for name, (_, color) in OPTIMIZERS.items():
        runs = [run for run in best if run.name == name]
        for k, run in enumerate(runs):
            label = f"{name}, rate {run.rate:g}" if k == 0 else None
            left.plot(run.steps, run.losses, color=color, lw=1.2, alpha=0.8, label=label)
        tried = sorted((run for run in tuning if run.name == name), key=lambda run: run.rate)
        right.plot([run.rate for run in tried], [run.result for run in tried], "o-", color=color, label=name)
    title = f"A GPT of characters, {len(best) // len(OPTIMIZERS)} seeds"
    left.set(xlabel="step", ylabel="loss on held-out text (nats per character)", title=title)
    right.set(xlabel="largest rate", title="The same five rates for both", xscale="log")
    right.set_xticks(RATES, [f"{rate:g}" for rate in RATES])
    right.minorticks_off()
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="updates in each run (default: 400)")
    parser.add_argument("--batch-size", type=int, default=16, help="pieces of text in a step (default: 16)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each optimizer at its best rate (default: 3)")
    parser.add_argument("--out", type=Path, default=HERE, help="output folder (default: this one)")
    args = parser.parse_args()
    if min(args.steps, args.batch_size, args.seeds) < 1:
        parser.error("--steps, --batch-size and --seeds must be at least 1")
    torch.set_num_threads(1)  # for products as small as these, a second thread gains little
    text = Text("".join(path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.md"))), length=64)
    tuning, best = [], []
    for name in OPTIMIZERS:
        tried = [train(name, rate, 0, text, args) for rate in RATES]
        chosen = min(tried, key=lambda run: run.result)
        others = [train(name, chosen.rate, seed, text, args) for seed in range(1, args.seeds)]
        tuning, best = tuning + tried, [*best, chosen, *others]
    args.out.mkdir(parents=True, exist_ok=True)
    plot(tuning, best, args.out / "char-muon.svg")
    print(f"wrote {args.out / 'char-muon.svg'}")


if __name__ == "__main__":
    main()
