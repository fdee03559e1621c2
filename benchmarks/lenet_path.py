"""Count the source files and the Python calls that one training iteration of LeNet passes through.

examples:
  python benchmarks/lenet_path.py            the counts
  python benchmarks/lenet_path.py --list     also each file, in the order of first entry, and its calls

The network is LeNet of MXNet's tutorial (tanh, 28x28 images, batch 64), hybridized and trained by adam on the CPU. An
iteration is the forward pass under autograd.record(), loss.backward() and trainer.step(64); the loss is not read.
Iterations before it have compiled the kernels and shaped the arrays.

A call is a `call` event of sys.setprofile on the thread that trains: a Python function is entered, or a generator is
resumed. Functions in C and compiled kernels are not counted. A function belongs to the file that defines it; generated
functions, such as the constructor of a named tuple, have no file and count among all calls alone.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (ROOT / "optgen", ROOT / "runtime")
BATCH = 64
WARM_UP = 5
"""Iterations before the one that is counted."""


@dataclass(frozen=True)
class Counts:
    """The calls of each source file, files in the order of first entry; "" stands for functions without a file."""

    calls: dict[str, int]

    @property
    def files(self) -> list[str]:
        """All source files, those of NumPy and of Python's library too."""
        return [name for name in self.calls if name]

    @property
    def own(self) -> dict[str, int]:
        """The calls of each file of optgen and runtime."""
        return {name: n for name, n in self.calls.items() if any(Path(name).is_relative_to(p) for p in PACKAGES)}


def lenet_iteration() -> Callable[[], None]:
    """One training iteration of a new network."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(20, kernel_size=5, activation="tanh"), nn.MaxPool2D(2, 2))
    net.add(nn.Conv2D(50, kernel_size=5, activation="tanh"), nn.MaxPool2D(2, 2))
    net.add(nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    for block in (net, loss_function):
        block.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
    images, labels = nd.random.normal(shape=(BATCH, 1, 28, 28)), nd.arange(BATCH) % 10

    def iterate() -> None:
        with autograd.record():
            loss = loss_function(net(images), labels)
        loss.backward()
        trainer.step(BATCH)

    return iterate


def count(function: Callable[[], object]) -> Counts:
    """The Python calls within one call of `function`, without the call itself."""
    calls: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is not function.__code__:
            name = frame.f_code.co_filename
            calls["" if name.startswith("<") else name] += 1

    gc.collect()  # No finalizer of earlier objects runs within the call.
    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(previous)
    return Counts(dict(calls))


def count_iteration() -> Counts:
    """What a steady iteration of LeNet passes through."""
    iterate = lenet_iteration()
    for _ in range(WARM_UP):
        iterate()
    return count(iterate)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each file and its calls")
    args = parser.parse_args()
    counts = count_iteration()
    own = counts.own
    if args.list:
        for name, calls in counts.calls.items():
            print(f"{calls:5}  {shown(name)}")
    print(f"files of optgen and runtime: {len(own)}; all source files: {len(counts.files)}")
    print(f"Python calls in optgen and runtime: {sum(own.values())}; all: {sum(counts.calls.values())}")
    return 0


def shown(name: str) -> str:
    """The path of a file: within this repository, or from the folder that libraries are in."""
    path = Path(name)
    if not name:
        return "(no file)"
    if "site-packages" in path.parts:
        return str(Path(*path.parts[path.parts.index("site-packages") + 1 :]))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


if __name__ == "__main__":
    sys.exit(main())
