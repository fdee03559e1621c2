"""Networks to train, here, in MXNet and in PyTorch; and a process that trains one of them a sample at a time.

    python benchmarks/networks.py runtime lenet

writes how long it took from the start to the end of the first iteration, and to that of the third; then, for every line
it reads (a number of seconds), how long an iteration took, the median over so many seconds.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

BEGIN = time.perf_counter()
NETWORKS = {
    "lenet": "LeNet of MXNet's tutorial (tanh; 28x28), SGD",
    "lenet-relu": "LeNet with relu",
    "mlp": "MLP 784-128-64-10 (relu), SGD with momentum",
    "lstm": "LSTM of 2 layers, 200 units, 35 steps, batch 32, SGD",
    "resnet18-32": "ResNet-18 of the model zoo, 32x32, batch 32, SGD with momentum",
    "resnet18-224": "ResNet-18 of the model zoo, 224x224, batch 8, SGD with momentum",
    "dcgan": "DCGAN, 64x64, batch 16: a step of the discriminator and one of the generator, Adam",
}
IMAGES = (64, 1, 28, 28)
SHAPES = {
    "lenet": IMAGES,
    "lenet-relu": IMAGES,
    "mlp": (64, 784),
    "lstm": (35, 32, 200),
    "resnet18-32": (32, 3, 32, 32),
    "resnet18-224": (8, 3, 224, 224),
    "dcgan": (16, 3, 64, 64),
}
MOMENTUM = {"mlp": 0.9, "resnet18-32": 0.9, "resnet18-224": 0.9}
NOISE = 100
"""Numbers that the generator makes an image of."""
GENERATOR, DISCRIMINATOR = (512, 256, 128, 64), (64, 128, 256, 512)
"""Channels of the layers of DCGAN, from the first on; the last of the generator has 3, that of the discriminator 1."""


# ---------------------------------------------------------------- Gluon


def gluon_iteration(package: str, hybridize: bool, name: str) -> Callable[[], float]:
    """One iteration, which gives the loss, by the Gluon of a package."""
    mx = importlib.import_module(package)
    if package == "runtime":
        mx.util.keep_freed_memory()  # as the tables of README.md have it
    if name == "dcgan":
        return gluon_dcgan(mx, hybridize)
    net = gluon_network(mx, name)
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    arguments = {"learning_rate": 0.01, "momentum": MOMENTUM.get(name, 0.0)}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", arguments)
    loss_function = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    x = mx.nd.random.normal(shape=SHAPES[name])
    batch = SHAPES[name][1 if name == "lstm" else 0]
    y = mx.nd.array([i % 10 for i in range(batch)])

    def iterate() -> float:
        with mx.autograd.record():
            loss = loss_function(net(x), y)
        loss.backward()
        trainer.step(batch)
        return float(loss.mean().asscalar())

    return iterate


def last_step(F: Any, x: Any) -> Any:
    """Of the outputs of a recurrent layer, in which time comes first. (MXNet's SequenceLast crashes here.)"""
    return F.reshape(F.slice_axis(x, axis=0, begin=-1, end=None), shape=(-3, -2))


def gluon_network(mx: Any, name: str) -> Any:
    nn = mx.gluon.nn
    if name.startswith("resnet18"):
        vision = mx.gluon.model_zoo.vision
        return vision.get_resnet(1, 18, classes=10, thumbnail=name == "resnet18-32")
    net = nn.HybridSequential()
    if name == "mlp":
        net.add(nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))
    elif name == "lstm":
        net.add(mx.gluon.rnn.LSTM(200, 2, input_size=200), nn.HybridLambda(last_step), nn.Dense(10))
    else:
        act = "relu" if name == "lenet-relu" else "tanh"
        net.add(nn.Conv2D(20, kernel_size=5, activation=act), nn.MaxPool2D(2, 2))
        net.add(nn.Conv2D(50, kernel_size=5, activation=act), nn.MaxPool2D(2, 2))
        net.add(nn.Flatten(), nn.Dense(500, activation=act), nn.Dense(10))
    return net


def gluon_dcgan(mx: Any, hybridize: bool) -> Callable[[], float]:
    nn, nd = mx.gluon.nn, mx.nd
    generator, discriminator = nn.HybridSequential(), nn.HybridSequential()
    for i, channels in enumerate(GENERATOR):
        generator.add(nn.Conv2DTranspose(channels, 4, 2 if i else 1, 1 if i else 0, use_bias=False))
        generator.add(nn.BatchNorm(), nn.Activation("relu"))
    generator.add(nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False), nn.Activation("tanh"))
    for i, channels in enumerate(DISCRIMINATOR):
        discriminator.add(nn.Conv2D(channels, 4, 2, 1, use_bias=False))
        if i:
            discriminator.add(nn.BatchNorm())
        discriminator.add(nn.LeakyReLU(0.2))
    discriminator.add(nn.Conv2D(1, 4, 1, 0, use_bias=False), nn.Flatten())
    trainers = []
    for net in (generator, discriminator):
        net.initialize(mx.init.Normal(0.02))
        if hybridize:
            net.hybridize()
        trainers.append(mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-4, "beta1": 0.5}))
    loss_function = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    batch = SHAPES["dcgan"][0]
    images, noise = nd.random.normal(shape=SHAPES["dcgan"]), nd.random.normal(shape=(batch, NOISE, 1, 1))
    real, fake = nd.ones((batch,)), nd.zeros((batch,))

    def iterate() -> float:
        with mx.autograd.record():
            made = generator(noise)
            loss = loss_function(discriminator(images), real) + loss_function(discriminator(made.detach()), fake)
        loss.backward()
        trainers[1].step(batch)
        with mx.autograd.record():
            fooled = loss_function(discriminator(generator(noise)), real)
        fooled.backward()
        trainers[0].step(batch)
        return float((loss + fooled).mean().asscalar())

    return iterate


# ---------------------------------------------------------------- PyTorch


def pytorch(name: str) -> Callable[[], float]:
    """One iteration, which gives the loss, by PyTorch."""
    import torch
    from torch import nn

    if name == "dcgan":
        return pytorch_dcgan(torch)
    net = pytorch_network(torch, name)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=MOMENTUM.get(name, 0.0))
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


def pytorch_network(torch: Any, name: str) -> Any:
    nn = torch.nn
    if name.startswith("resnet18"):
        return pytorch_resnet18(nn, small=name == "resnet18-32")
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    if name == "lstm":

        class LastOutput(nn.LSTM):
            def forward(self, x: Any) -> Any:
                return super().forward(x)[0][-1]

        return nn.Sequential(LastOutput(200, 200, 2), nn.Linear(200, 10))
    act = nn.ReLU if name == "lenet-relu" else nn.Tanh
    return nn.Sequential(
        *(nn.Conv2d(1, 20, 5), act(), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 5), act(), nn.MaxPool2d(2, 2)),
        *(nn.Flatten(), nn.Linear(800, 500), act(), nn.Linear(500, 10)),
    )


def pytorch_resnet18(nn: Any, small: bool) -> Any:
    """As torchvision's; `small`: as the model zoo's for small images."""

    class Block(nn.Module):
        def __init__(self, inputs: int, channels: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                *(nn.Conv2d(inputs, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(True)),
                *(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)),
            )
            self.shortcut = nn.Identity()
            if stride != 1 or inputs != channels:
                projection = nn.Conv2d(inputs, channels, 1, stride, bias=False)
                self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(channels))
            self.relu = nn.ReLU(True)

        def forward(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.shortcut(x))

    if small:
        layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False)]
    else:
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        layers += [Block(inputs, channels, 2 if stage else 1), Block(channels, channels, 1)]
        inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def pytorch_dcgan(torch: Any) -> Callable[[], float]:
    nn = torch.nn
    layers: list[Any] = []
    for i, (inputs, channels) in enumerate(zip((NOISE, *GENERATOR), GENERATOR, strict=False)):
        layers.append(nn.ConvTranspose2d(inputs, channels, 4, 2 if i else 1, 1 if i else 0, bias=False))
        layers += [nn.BatchNorm2d(channels), nn.ReLU(True)]
    generator = nn.Sequential(*layers, nn.ConvTranspose2d(GENERATOR[-1], 3, 4, 2, 1, bias=False), nn.Tanh())
    layers = []
    for i, (inputs, channels) in enumerate(zip((3, *DISCRIMINATOR), DISCRIMINATOR, strict=False)):
        layers.append(nn.Conv2d(inputs, channels, 4, 2, 1, bias=False))
        layers += [nn.BatchNorm2d(channels)] if i else []
        layers.append(nn.LeakyReLU(0.2, True))
    discriminator = nn.Sequential(*layers, nn.Conv2d(DISCRIMINATOR[-1], 1, 4, 1, 0, bias=False), nn.Flatten(0))
    optimizers = []
    for net in (generator, discriminator):
        for p in net.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, 0.0, 0.02)
        optimizers.append(torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.999)))
    loss_function = nn.BCEWithLogitsLoss()
    batch = SHAPES["dcgan"][0]
    images, noise = torch.randn(SHAPES["dcgan"]), torch.randn(batch, NOISE, 1, 1)
    real, fake = torch.ones(batch), torch.zeros(batch)

    def iterate() -> float:
        optimizers[1].zero_grad()
        made = generator(noise)
        loss = loss_function(discriminator(images), real) + loss_function(discriminator(made.detach()), fake)
        loss.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        fooled = loss_function(discriminator(generator(noise)), real)
        fooled.backward()
        optimizers[0].step()
        return (loss + fooled).item()

    return iterate


# ---------------------------------------------------------------- the process


LIBRARIES: dict[str, Callable[[str], Callable[[], float]]] = {
    "runtime": partial(gluon_iteration, "runtime", False),
    "hybridized": partial(gluon_iteration, "runtime", True),
    "mxnet": partial(gluon_iteration, "mxnet", True),
    "pytorch": pytorch,
}


def main() -> None:
    library, name = sys.argv[1:]
    iterate = LIBRARIES[library](name)
    loss = iterate()
    print(time.perf_counter() - BEGIN, flush=True)
    for _ in range(2):  # in which our hybridized blocks make their plans
        iterate()
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
