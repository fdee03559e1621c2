"""Train a classifier of handwritten digits with an optimizer made from its equations.

The data are the 1,797 digits of 8x8 pixels that scikit-learn carries. The network has two hidden layers. It trains on a
GPU where CuPy finds one. Written to the output folder: the parameters (digits.safetensors) and the learning curve
(learning-curve.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import runtime as mx
from runtime import autograd, gluon, optimizer
from runtime.gluon import nn

Batches = Iterable[tuple[mx.nd.NDArray, mx.nd.NDArray]]

EXAMPLES = """\
examples:
  train.py                                        adam, from the specs that come with optgen
  train.py --optimizer sgd --lr 0.1 --epochs 50
  train.py --optimizer examples/digits/mine.opt   an optimizer of your own
  train.py --storage int8_linear                  its states in 8 bits
  train.py --dtype bfloat16                       weights of 16 bits, with float32 masters
"""


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--optimizer", default="adam", help="name of a spec, or path of a .opt file (default: adam)")
    parser.add_argument("--lr", type=float, help="learning rate (default: the optimizer's own)")
    parser.add_argument("--storage", help="how the optimizer stores its states: bfloat16, int8_linear, ...")
    parser.add_argument(
        "--dtype", choices=("float32", "float16", "bfloat16"), default="float32",
        help="of the weights; those of 16 bits have float32 masters (default: float32)",
    )  # fmt: skip
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training data (default: 30)")
    parser.add_argument("--batch-size", type=int, default=64, help="samples in a step (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the order (default: 0)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="output folder (default: this one)")
    args = parser.parse_args(words)
    if args.epochs < 1 or args.batch_size < 1 or args.seed < 0:
        parser.error("--epochs and --batch-size must be at least 1, --seed at least 0")
    return args


def digits(seed: int) -> tuple[gluon.data.ArrayDataset, gluon.data.ArrayDataset]:
    """Four fifths of the digits to train with and one fifth to test with; pixels from 0 to 1."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(labels))
    pixels, labels = (pixels[order] / 16).astype(np.float32), labels[order]
    cut = len(labels) * 4 // 5
    return gluon.data.ArrayDataset(pixels[:cut], labels[:cut]), gluon.data.ArrayDataset(pixels[cut:], labels[cut:])


def network(dtype: str) -> nn.HybridSequential:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(256, activation="relu"), nn.Dropout(0.3), nn.Dense(128, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.cast(dtype)
    return net


def make_trainer(net: gluon.Block, args: argparse.Namespace) -> gluon.Trainer:
    """A trainer with a spec of optgen's, or with the user's, which is registered first."""
    options: dict[str, Any] = {"multi_precision": args.dtype != "float32"}
    options |= {} if args.lr is None else {"learning_rate": args.lr}
    options |= {} if args.storage is None else {"storage": args.storage}
    try:
        name = args.optimizer
        if name.endswith(".opt"):
            name = optimizer.register_spec(name).__name__
        return gluon.Trainer(net.collect_params(), name, options)
    except (OSError, ValueError) as error:  # no such optimizer, or a mistake in a spec: no fault of this program
        sys.exit(f"train.py: {error}")


def prepare(args: argparse.Namespace) -> tuple[nn.HybridSequential, gluon.Trainer]:
    """A new network and its trainer, the same ones for the same seed."""
    np.random.seed(args.seed)  # the order of samples
    mx.random.seed(args.seed)  # weights and dropout
    net = network(args.dtype)
    return net, make_trainer(net, args)


def scores(net: nn.HybridSequential, pixels: mx.nd.NDArray) -> mx.nd.NDArray:
    """Of each digit, in float32; computed in the element type of the weights."""
    return net(pixels.astype(net[0].weight.dtype, copy=False)).astype("float32", copy=False)


def train_epoch(net: nn.HybridSequential, trainer: gluon.Trainer, batches: Batches) -> float:
    """One pass over the training data; the mean loss."""
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()
    total = count = 0.0
    for pixels, labels in batches:
        with autograd.record():
            loss = criterion(scores(net, pixels), labels)
        loss.backward()
        trainer.step(len(labels))
        total += loss.sum().asscalar()
        count += len(labels)
    return float(total / count)


def accuracy(net: nn.HybridSequential, batches: Batches) -> float:
    metric = mx.metric.Accuracy()
    for pixels, labels in batches:
        metric.update(labels, scores(net, pixels))
    return metric.get()[1]


def plot(losses: list[float], accuracies: list[float], title: str, path: Path) -> None:
    """The learning curve: training loss on the left axis, test accuracy on the right one."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    epochs = range(1, len(losses) + 1)
    figure, left = plt.subplots(figsize=(7, 4.2), layout="constrained")
    right = left.twinx()
    (loss_line,) = left.plot(epochs, losses, color="#1f5fa8", lw=2, marker="o", ms=3, label="training loss")
    (accuracy_line,) = right.plot(epochs, accuracies, color="#d1661b", lw=2, marker="o", ms=3, label="test accuracy")
    left.set(xlabel="epoch", ylabel="training loss (cross entropy, log scale)", yscale="log", title=title)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.grid(alpha=0.25)
    right.set_ylabel("test accuracy")
    right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    best = max(accuracies)
    right.axhline(best, color=accuracy_line.get_color(), lw=0.8, ls=":")
    note = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right", "color": accuracy_line.get_color()}
    right.annotate(f"best {best:.1%}", (epochs[-1], best), **note)
    right.set_ylim(top=best + 0.08 * (best - min(accuracies)) + 0.002)
    for axes, line in ((left, loss_line), (right, accuracy_line)):
        axes.yaxis.label.set_color(line.get_color())
        axes.spines["top"].set_visible(False)
    left.legend(handles=[loss_line, accuracy_line], loc="center right", frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    with mx.gpu() if mx.test_utils.list_gpus() else mx.cpu():
        train_and_report(args)


def train_and_report(args: argparse.Namespace) -> None:
    """In the current context."""
    net, trainer = prepare(args)
    train, test = digits(args.seed)
    batches, test_batches = (
        gluon.data.DataLoader(train, args.batch_size, shuffle=True),
        gluon.data.DataLoader(test, 256),
    )
    name = type(trainer.optimizer).__name__
    where = mx.current_context()
    print(f"{name} on {where}: {len(train)} digits to train with, {len(test)} to test with")

    losses, accuracies, start = [], [], time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        progress = tqdm(batches, f"epoch {epoch}/{args.epochs}", unit="batch", leave=False, disable=None)
        losses.append(train_epoch(net, trainer, progress))
        accuracies.append(accuracy(net, test_batches))
        print(f"epoch {epoch:3}  loss {losses[-1]:.4f}  test accuracy {accuracies[-1]:.2%}", flush=True)
    print(f"{args.epochs} epochs in {time.perf_counter() - start:.1f} s")

    net.save_parameters(args.out / "digits.safetensors")
    plot(losses, accuracies, f"Handwritten digits, {name}", args.out / "learning-curve.png")
    print(f"wrote {args.out / 'digits.safetensors'} and {args.out / 'learning-curve.png'}")


if __name__ == "__main__":
    main()
