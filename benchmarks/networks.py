"""Networks to train, in this library and in PyTorch; and a process that trains one of them a sample at a time.

    python benchmarks/networks.py runtime lenet

writes how long it took from the start to the end of the first iteration, then, for every line it reads (a number of
seconds), how long an iteration took, the median over so many seconds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

BEGIN = time.perf_counter()
NETWORKS = {
    "lenet": "LeNet of MXNet's tutorial (tanh; 28x28), SGD",
    "lenet-relu": "LeNet with relu",
    "mlp": "MLP 784-128-64-10 (relu), SGD with momentum",
    "lstm": "LSTM of 2 layers, 200 units, 35 steps, batch 32, SGD",
}
IMAGES = (64, 1, 28, 28)
SHAPES = {"lenet": IMAGES, "lenet-relu": IMAGES, "mlp": (64, 784), "lstm": (35, 32, 200)}


def last_step(x: Any) -> Any:
    """Of the outputs of a recurrent layer, in which time comes first."""
    return x[-1]


def runtime(name: str) -> Callable[[], float]:
    """One iteration, which gives the loss."""
    import runtime as mx
    from runtime import autograd, gluon, nd
    from runtime.gluon import nn

    net = nn.Sequential()
    if name == "mlp":
        net.add(nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))
    elif name == "lstm":
        net.add(gluon.rnn.LSTM(200, 2, input_size=200), nn.Lambda(last_step), nn.Dense(10))
    else:
        act = "relu" if name == "lenet-relu" else "tanh"
        net.add(nn.Conv2D(20, kernel_size=5, activation=act), nn.MaxPool2D(2, 2))
        net.add(nn.Conv2D(50, kernel_size=5, activation=act), nn.MaxPool2D(2, 2))
        net.add(nn.Flatten(), nn.Dense(500, activation=act), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    arguments = {"learning_rate": 0.01, "momentum": 0.9 if name == "mlp" else 0.0}
    trainer = gluon.Trainer(net.collect_params(), "sgd", arguments)
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    x = nd.random.normal(shape=SHAPES[name])
    batch = SHAPES[name][1 if name == "lstm" else 0]
    y = nd.array([i % 10 for i in range(batch)])

    def iterate() -> float:
        with autograd.record():
            loss = loss_function(net(x), y)
        loss.backward()
        trainer.step(batch)
        return float(loss.mean().asscalar())

    return iterate


def pytorch(name: str) -> Callable[[], float]:
    """The same."""
    import torch
    from torch import nn

    if name == "mlp":
        net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    elif name == "lstm":

        class LastOutput(nn.LSTM):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return last_step(super().forward(x)[0])

        net = nn.Sequential(LastOutput(200, 200, 2), nn.Linear(200, 10))
    else:
        act = nn.ReLU if name == "lenet-relu" else nn.Tanh
        net = nn.Sequential(
            *(nn.Conv2d(1, 20, 5), act(), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 5), act(), nn.MaxPool2d(2, 2)),
            *(nn.Flatten(), nn.Linear(800, 500), act(), nn.Linear(500, 10)),
        )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9 if name == "mlp" else 0.0)
    loss_function = nn.CrossEntropyLoss()
    x = torch.randn(SHAPES[name])
    y = torch.arange(SHAPES[name][1 if name == "lstm" else 0]) % 10

    def iterate() -> float:
        optimizer.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return iterate


LIBRARIES = {"runtime": runtime, "pytorch": pytorch}


def main() -> None:
    library, name = sys.argv[1:]
    iterate = LIBRARIES[library](name)
    loss = iterate()
    print(time.perf_counter() - BEGIN, flush=True)
    for line in sys.stdin:
        times = []
        end = time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            loss = iterate()
            times.append(time.perf_counter() - start)
        if loss != loss:
            raise SystemExit(f"{library}, {name}: the loss is {loss}")
        print(statistics.median(times), flush=True)


if __name__ == "__main__":
    main()
