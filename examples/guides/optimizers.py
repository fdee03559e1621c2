"""Every optimizer of MXNet's optimizer guide, called as the guide calls it, on the same small problem.

Prints the loss before and after 200 steps, and draws the losses to optimizers.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import runtime as mx
from runtime import autograd, gluon, nd, optimizer

STEPS = 200

OPTIMIZERS = {
    "SGD": lambda: optimizer.SGD(learning_rate=0.1),
    "SGD, momentum": lambda: optimizer.SGD(learning_rate=0.1, wd=0.0, momentum=0.8),
    "NAG": lambda: optimizer.NAG(learning_rate=0.1, momentum=0.8),
    "AdaGrad": lambda: optimizer.AdaGrad(learning_rate=0.1, eps=1e-07),
    "RMSProp": lambda: optimizer.RMSProp(learning_rate=0.001, gamma1=0.9, gamma2=0.9, epsilon=1e-07, centered=False),
    "RMSProp, centered": lambda: optimizer.RMSProp(learning_rate=0.001, gamma1=0.9, gamma2=0.9, centered=True),
    "AdaDelta": lambda: optimizer.AdaDelta(rho=0.9, epsilon=1e-07),
    "Adam": lambda: optimizer.Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08),
    "Adamax": lambda: optimizer.Adamax(learning_rate=0.002, beta1=0.9, beta2=0.999),
    "Nadam": lambda: optimizer.Nadam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, schedule_decay=0.004),
    "SGLD": lambda: optimizer.SGLD(learning_rate=0.01),
    "DCASGD": lambda: optimizer.DCASGD(momentum=0.0, lamda=0.04),
    "Signum": lambda: optimizer.Signum(learning_rate=0.01, momentum=0.9, wd_lh=0.0),
    "FTML": lambda: optimizer.FTML(beta1=0.6, beta2=0.999, epsilon=1e-08),
    "LARS": lambda: optimizer.LARS(learning_rate=0.1, momentum=0.9, eta=0.001),
    "LAMB": lambda: optimizer.LAMB(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-06),
    "Ftrl": lambda: optimizer.Ftrl(lamda1=0.01, learning_rate=0.1, beta=1),
    "LBSGD": lambda: optimizer.LBSGD(
        momentum=0.0, multi_precision=False, warmup_strategy="linear", warmup_epochs=5, batch_scale=1,
        updates_per_epoch=32, begin_epoch=0, num_epochs=60,
    ),
}  # fmt: skip


def losses(make: object) -> list[float]:
    """The loss of each step of a network of two layers that learns a sine."""
    mx.random.seed(0)
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(32, activation="tanh"), gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), optimizer=make())
    loss_of = gluon.loss.L2Loss()
    x = nd.array(np.linspace(-3, 3, 64).reshape(-1, 1))
    y = nd.sin(x)
    found = []
    for _ in range(STEPS):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(x))
        found.append(float(loss.mean().asscalar()))
    return found


def plot(curves: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(3, 6, figsize=(12, 6), sharex=True, sharey=True, layout="constrained")
    for axes, (name, own) in zip(grid.flat, curves.items(), strict=True):
        for curve in curves.values():
            axes.plot(range(1, STEPS + 1), curve, color="0.85", lw=0.7)
        axes.plot(range(1, STEPS + 1), own, lw=1.8)
        axes.set_yscale("log")
        axes.set_title(name, fontsize=10)
    figure.suptitle("Learning a sine: the loss of each optimizer of the guide, as the guide calls it")
    figure.supxlabel("step")
    figure.supylabel("loss")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="output folder (default: this one)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    curves = {}
    for name, make in OPTIMIZERS.items():
        curves[name] = losses(make)
        print(f"{name:18} loss {curves[name][0]:.4f} -> {curves[name][-1]:.4f}", flush=True)
    plot(curves, out / "optimizers.png")
    print(f"wrote {out / 'optimizers.png'}")


if __name__ == "__main__":
    main()
