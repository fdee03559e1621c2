"""Learning-rate schedules: what they look like, and a convolutional network trained with one.

Follows MXNet's guide to learning-rate schedules: drawn are all schedules, one of them of the user's own; trained is a
small LeNet for ten epochs, whose rate falls to a tenth after epochs 4, 7 and 9: first by the optimizer's lr_scheduler,
then by trainer.set_learning_rate. The data are MNIST's, where its files are in a folder given with --mnist, and
otherwise the 1,797 digits that scikit-learn carries, made as large as MNIST's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

import runtime as mx
from runtime import autograd, gluon, lr_scheduler
from runtime.gluon import nn
from runtime.gluon.data.vision import MNIST, transforms

EXAMPLES = """\
examples:
  schedules.py                        on the digits of scikit-learn
  schedules.py --mnist ~/data/mnist   on MNIST, whose four .gz files are there
"""

EPOCHS = 10
STEPS_EPOCHS = (4, 7, 9)
BATCH_SIZE = 64

Schedule = Callable[[int], float]

# ---------------------------------------------------------------- the schedules


class CosineAnnealing:
    """A schedule of one's own is anything to call: from `max_lr` down half a cosine to `min_lr`."""

    def __init__(self, min_lr: float, max_lr: float, cycle_length: int) -> None:
        self.min_lr, self.max_lr, self.cycle_length = min_lr, max_lr, cycle_length

    def __call__(self, iteration: int) -> float:
        if iteration > self.cycle_length:
            return self.min_lr
        return self.min_lr + (self.max_lr - self.min_lr) * (1 + math.cos(math.pi * iteration / self.cycle_length)) / 2


def schedules() -> dict[str, Schedule]:
    factor = lr_scheduler.FactorScheduler(step=250, factor=0.5)
    factor.base_lr = 1
    multifactor = lr_scheduler.MultiFactorScheduler(step=[250, 750, 900], factor=0.5)
    multifactor.base_lr = 1
    return {
        "FactorScheduler": factor,
        "MultiFactorScheduler": multifactor,
        "PolyScheduler": lr_scheduler.PolyScheduler(max_update=1000, base_lr=1, pwr=2),
        "CosineScheduler, warm-up": lr_scheduler.CosineScheduler(max_update=1000, base_lr=1, warmup_steps=100),
        "LinearScheduler": lr_scheduler.LinearScheduler(max_update=1000, base_lr=1),
        "InverseSquareRootScheduler": lr_scheduler.InverseSquareRootScheduler(base_lr=1, warmup_steps=100),
        "TriangularScheduler": lr_scheduler.TriangularScheduler(step_size=250, max_lr=1, base_lr=0.1),
        "OneCycleScheduler": lr_scheduler.OneCycleScheduler(step_size=300, max_lr=1, max_update=1000, base_lr=0.1),
        "CosineAnnealing, of one's own": CosineAnnealing(min_lr=0, max_lr=1, cycle_length=1000),
    }


def plot_schedules(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(3, 3, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
    for axes, (name, schedule) in zip(grid.flat, schedules().items(), strict=True):
        lr_scheduler.plot(schedule, 1500, axes)
        axes.set_title(name, fontsize=10)
        axes.grid(alpha=0.3)
    figure.supxlabel("iteration")
    figure.supylabel("learning rate")
    figure.savefig(path, dpi=150)


# ---------------------------------------------------------------- training with one


def data(folder: Path | None) -> gluon.data.Dataset:
    """Pairs of an image, (1, 28, 28) from 0 to 1, and its class."""
    if folder is not None:
        return MNIST(root=str(folder), train=True).transform_first(transforms.ToTensor())
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images = np.kron(pixels.reshape(-1, 8, 8), np.ones((3, 3))) / 16  # 24x24, each pixel three times as large
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    return gluon.data.ArrayDataset(images[:, None].astype(np.float32), labels.astype(np.float32))


def build_cnn() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels=10, kernel_size=5, activation="relu"))
    net.add(nn.MaxPool2D(pool_size=2, strides=2))
    net.add(nn.Conv2D(channels=20, kernel_size=5, activation="relu"))
    net.add(nn.MaxPool2D(pool_size=2, strides=2))
    net.add(nn.Flatten())
    net.add(nn.Dense(512, activation="relu"))
    net.add(nn.Dense(10))
    net.initialize(mx.init.Xavier())
    return net


def train(
    loader: gluon.data.DataLoader, net: nn.HybridSequential, trainer: gluon.Trainer, schedule: Schedule | None
) -> list[float]:
    """Ten epochs; the learning rate of each. With `schedule`, the rate is set before every step."""
    softmax_cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    rates = []
    iteration = 1
    for epoch in range(1, EPOCHS + 1):
        for batch, (images, labels) in enumerate(tqdm(loader, f"epoch {epoch}", leave=False, disable=None), start=1):
            with autograd.record():
                loss = softmax_cross_entropy(net(images), labels)
            loss.backward()
            if schedule is not None:
                trainer.set_learning_rate(schedule(iteration))
            trainer.step(images.shape[0])
            iteration += 1
            if batch == 1:
                rates.append(trainer.learning_rate)
                mean = loss.mean().asscalar()
                tqdm.write(f"Epoch: {epoch}; Batch {batch}; Loss {mean:f}; LR {rates[-1]:f}")
    return rates


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's files (default: the digits of scikit-learn)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="output folder (default: this one)")
    args = parser.parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    plot_schedules(args.out / "schedules.png")
    print(f"wrote {args.out / 'schedules.png'}")

    np.random.seed(0)
    mx.random.seed(0)
    dataset = data(args.mnist)
    loader = gluon.data.DataLoader(dataset, BATCH_SIZE, shuffle=True)
    per_epoch = math.ceil(len(dataset) / BATCH_SIZE)
    steps = [epoch * per_epoch for epoch in STEPS_EPOCHS]
    print(f"Learning rate drops after iterations: {steps}")

    print("The schedule is the optimizer's:")
    schedule = lr_scheduler.MultiFactorScheduler(step=steps, factor=0.1)
    net = build_cnn()
    sgd = mx.optimizer.SGD(learning_rate=0.03, lr_scheduler=schedule)
    train(loader, net, gluon.Trainer(params=net.collect_params(), optimizer=sgd), None)

    print("The script sets the rate:")
    schedule = lr_scheduler.MultiFactorScheduler(step=steps, factor=0.1)
    schedule.base_lr = 0.03
    net = build_cnn()
    train(loader, net, gluon.Trainer(params=net.collect_params(), optimizer=mx.optimizer.SGD()), schedule)


if __name__ == "__main__":
    main()
