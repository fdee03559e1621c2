"""Train a small GPT on this project's documents, character by character, with five optimizers.

The network is plain PyTorch. The optimizers are torch.optim.AdamW, the same one of optgen.torch, that one with states
in 8 bits, Lion, and one of your own: mine.opt beside this file. A sixth, Muon with AdamW, runs if it is
asked for. All of them begin with the same weights and see the same batches. Written to the output folder: their losses
and the memory of their states in one picture (char-gpt.png).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from tqdm import tqdm

import optgen.torch

HERE = Path(__file__).resolve().parent
DOCUMENTS = HERE.parents[1] / "docs"

EXAMPLES = """\
examples:
  char_gpt.py                                      five optimizers, 400 steps each
  char_gpt.py --steps 2000 adamw                   one of them, until it writes English
  char_gpt.py torch adamw                          these two: their losses are the same
  char_gpt.py mine                                 after you have changed mine.opt
  torchrun --nproc-per-node 2 char_gpt.py adamw    on two processes, which share weights and states
  torchrun --nproc-per-node 2 char_gpt.py muon     Muon + AdamW there: each matrix is updated by one of the two
"""

ADAM = {"lr": 6e-3, "betas": (0.9, 0.98), "weight_decay": 0.1}
OPTIMIZERS: dict[str, tuple[str, Callable[[GPT], torch.optim.Optimizer]]] = {
    "torch": ("torch.optim.AdamW", lambda net: torch.optim.AdamW(net.parameters(), **ADAM)),
    "adamw": ("AdamW", lambda net: optgen.torch.AdamW(net.parameters(), **ADAM)),
    "int8": (
        "AdamW, 8 bits",
        lambda net: optgen.torch.AdamW(net.parameters(), **ADAM, storage="int8_dynamic"),
    ),
    "lion": ("Lion", lambda net: optgen.torch.Lion(net.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)),
    "mine": ("mine.opt", lambda net: optgen.torch.optimizer(HERE / "mine.opt")(net.parameters(), weight_decay=0.1)),
    "muon": ("Muon + AdamW", lambda net: muon_adamw(net, lr=0.016)),
}
"""What each is called in the picture, and how it is made."""

COLORS = {
    "torch": "#b0b0b0", "adamw": "#1f5fa8", "int8": "#5aa9a3", "lion": "#d1661b", "mine": "#8c4799", "muon": "#2f7d32",
}  # fmt: skip


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "optimizers", nargs="*", metavar="optimizer", help=f"of {', '.join(OPTIMIZERS)} (default: all but muon)"
    )
    parser.add_argument("--steps", type=int, default=400, help="updates with each optimizer (default: 400)")
    parser.add_argument("--batch-size", type=int, default=16, help="pieces of text in a step (default: 16)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: 0)")
    parser.add_argument("--out", type=Path, default=HERE, help="output folder (default: this one)")
    args = parser.parse_args(words)
    unknown = [name for name in args.optimizers if name not in OPTIMIZERS]
    if unknown:
        parser.error(f"no optimizer {unknown[0]!r}; choose from {', '.join(OPTIMIZERS)}")
    if args.steps < 1 or args.batch_size < 1:
        parser.error("--steps and --batch-size must be at least 1")
    return args


# ---------------------------------------------------------------- the text and the network


@dataclass
class Text:
    """A text as numbers of its characters; its last tenth is held out."""

    characters: str
    length: int
    train: torch.Tensor = field(init=False)
    held_out: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.alphabet = sorted(set(self.characters))
        number_of = {c: k for k, c in enumerate(self.alphabet)}
        numbers = torch.tensor([number_of[c] for c in self.characters])
        cut = len(numbers) * 9 // 10
        self.train, self.held_out = numbers[:cut], numbers[cut:]

    def batch(self, part: torch.Tensor, size: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Random pieces, and the character that follows each of theirs."""
        starts = torch.randint(len(part) - self.length, (size, 1), generator=generator)
        at = starts + torch.arange(self.length)
        return part[at], part[at + 1]


class Block(nn.Module):
    """Attention to the characters before, and a layer of hidden units."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_hidden = nn.LayerNorm(width), nn.LayerNorm(width)
        self.read, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.hidden = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.read(self.before_attention(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.merge(seen.transpose(1, 2).flatten(-2))
        return x + self.hidden(self.before_hidden(x))


class GPT(nn.Module):
    """Scores of the next character, at each place of (pieces, length) characters."""

    def __init__(self, characters: int, length: int, width: int = 96, heads: int = 4, layers: int = 3) -> None:
        super().__init__()
        self.character, self.place = nn.Embedding(characters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.scores = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, characters))
        for table in (self.character, self.place):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        return self.scores(self.blocks(self.character(x) + self.place(places)))


def muon_adamw(net: GPT, lr: float) -> torch.optim.Optimizer:
    """Muon for matrices, and AdamW for embeddings, the last layer and vectors, with one rate."""
    tables = (net.character.weight, net.place.weight, net.scores[1].weight)
    groups = [
        {"params": [p for p in net.parameters() if not any(p is table for table in tables)]},
        {"params": tables, "plain": True},
    ]
    make = optgen.torch.optimizer("muon_adamw")
    return make(groups, lr=lr, adam_lr=lr, adam_beta2=0.98, weight_decay=0.1, muon_adjust_lr="match_rms_adamw")


def loss_of(net: GPT, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    x, target = batch
    return F.cross_entropy(net(x).flatten(0, 1), target.flatten())


# ---------------------------------------------------------------- training


@dataclass
class Run:
    """What came of an optimizer: the loss of each step, the one on held-out text, bytes of states per parameter of the
    network."""

    name: str
    losses: list[float]
    held_out: float
    state_bytes: float
    seconds: float


def train(name: str, text: Text, args: argparse.Namespace) -> tuple[GPT, Run]:
    torch.manual_seed(args.seed)
    net = GPT(len(text.alphabet), text.length)
    parameters, rank = sum(p.numel() for p in net.parameters()), 0
    if dist.is_torchelastic_launched():
        fully_shard(net)  # the one more line; gradients are then means over the processes
        rank = dist.get_rank()
    title, make = OPTIMIZERS[name]
    opt = make(net)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, opt.param_groups[0]["lr"], args.steps, cycle_momentum=False)
    generator = torch.Generator().manual_seed(args.seed + 1000 * rank)
    losses, start = [], time.perf_counter()
    for _ in tqdm(range(args.steps), title, unit="step", leave=False, disable=None if rank == 0 else True):
        loss = loss_of(net, text.batch(text.train, args.batch_size, generator))
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - start
    run = Run(name, losses, held_out_loss(net, text), bytes_of_states(opt) / parameters, seconds)
    if rank == 0:
        print(
            f"{title:24} loss {run.held_out:.3f} on held-out text, states {run.state_bytes:.2f} bytes per parameter, "
            f"{seconds:.0f} s",
            flush=True,
        )
    return net, run


@torch.no_grad()
def held_out_loss(net: GPT, text: Text) -> float:
    generator = torch.Generator().manual_seed(0)
    batches = [text.batch(text.held_out, 32, generator) for _ in range(8)]
    return sum(loss_of(net, batch).item() for batch in batches) / len(batches)


def bytes_of_states(opt: torch.optim.Optimizer) -> int:
    """Of all tensors in `opt.state`; of a sharded one, the part that is in this process."""
    tensors = [x for state in opt.state.values() for x in state.values() if isinstance(x, torch.Tensor)]
    own = [x.to_local() if isinstance(x, DTensor) else x for x in tensors]
    return sum(x.numel() * x.element_size() for x in own)


@torch.no_grad()
def write(net: GPT, text: Text, begin: str, count: int) -> str:
    """Text that goes on after `begin`: each character drawn by its probability."""
    generator = torch.Generator().manual_seed(0)
    numbers = [text.alphabet.index(c) for c in begin]
    for _ in range(count):
        scores = net(torch.tensor([numbers[-text.length :]]))[0, -1]
        numbers.append(int(torch.multinomial(F.softmax(scores / 0.8, 0), 1, generator=generator)))
    return "".join(text.alphabet[k] for k in numbers)


# ---------------------------------------------------------------- the picture


def plot(runs: Sequence[Run], path: Path) -> None:
    """Losses over the steps on the left, bytes of states for each parameter on the right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(3, 2), layout="constrained")
    for run in runs:
        is_torch = run.name == "torch"
        left.plot(
            range(1, len(run.losses) + 1), smooth(run.losses), color=COLORS[run.name], label=OPTIMIZERS[run.name][0],
            lw=5 if is_torch else 1.8, ls="--" if run.name == "int8" else "-", zorder=1 if is_torch else 2,
        )  # fmt: skip
    left.set(xlabel="step", ylabel="training loss (nats per character)", title="A GPT of characters")
    left.legend(frameon=False)
    left.grid(alpha=0.25)
    names = [OPTIMIZERS[run.name][0] for run in runs]
    bars = right.barh(names, [run.state_bytes for run in runs], color=[COLORS[run.name] for run in runs])
    right.bar_label(bars, [f"{run.state_bytes:.1f}  (loss {run.held_out:.3f})" for run in runs], padding=4)
    right.set(xlabel="bytes per parameter", title="Memory of states (loss on held-out text)")
    right.set_xlim(0, 1.5 * max(run.state_bytes for run in runs))
    right.invert_yaxis()
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def smooth(losses: Sequence[float]) -> list[float]:
    """Means over the last twenty steps."""
    return [sum(part) / len(part) for k in range(len(losses)) if (part := losses[max(0, k - 19) : k + 1])]


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)  # for products as small as these, a second thread gains little
    text = Text("".join(path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.md"))), length=64)
    runs = []
    for name in args.optimizers or [name for name in OPTIMIZERS if name != "muon"]:
        net, run = train(name, text, args)
        runs.append(run)
    written = write(net, text, "An optimizer ", 200)
    if dist.is_initialized():
        is_first = dist.get_rank() == 0
        dist.destroy_process_group()
        if not is_first:
            return
    print(f"\n{written}\n")
    args.out.mkdir(parents=True, exist_ok=True)
    plot(runs, args.out / "char-gpt.png")
    print(f"wrote {args.out / 'char-gpt.png'}")


if __name__ == "__main__":
    main()
