"""What is measured: lists of shapes, optimizers with their settings, and the arrays that all contenders work on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

LR = 1e-3
WD = 1e-4
"""Not more: where the decay of a large weight cancels the constant gradient, moments would fade into denormals."""
MOMENTUM = 0.9


@dataclass(frozen=True)
class Rule:
    """A spec of the package and the values that choose its variant."""

    spec: str
    values: Mapping[str, float]


OPTIMIZERS = {
    "sgd": Rule("sgd", {}),
    "momentum": Rule("sgd", {"momentum": MOMENTUM}),
    "adam": Rule("adam", {}),
    "adagrad": Rule("adagrad", {}),
    "rmsprop": Rule("rmsprop", {}),
    "adadelta": Rule("adadelta", {}),
    "ftrl": Rule("ftrl", {}),
    "signum": Rule("signum", {"momentum": MOMENTUM}),
    "lamb": Rule("lamb", {}),
    "nag": Rule("nag", {"momentum": MOMENTUM}),
}


def resnet50() -> list[Shape]:
    """He et al. 2015, table 1: 53 convolutions, each with a batch norm's scale and shift, and a classifier."""
    shapes: list[Shape] = []

    def convolution(filters: int, channels: int, side: int) -> None:
        shapes.extend([(filters, channels, side, side), (filters,), (filters,)])

    convolution(64, 3, 7)
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            convolution(width, channels, 1)
            convolution(width, width, 3)
            convolution(4 * width, width, 1)
            if block == 0:
                convolution(4 * width, channels, 1)
            channels = 4 * width
    return [*shapes, (1000, 2048), (1000,)]


def gpt2() -> list[Shape]:
    """Radford et al. 2019, the smallest model: 12 layers of width 768, the output tied to the token embedding."""
    d = 768
    norm: list[Shape] = [(d,), (d,)]
    attention: list[Shape] = [(d, 3 * d), (3 * d,), (d, d), (d,)]
    mlp: list[Shape] = [(d, 4 * d), (4 * d,), (4 * d, d), (d,)]
    return [(50257, d), (1024, d), *([*norm, *attention, *norm, *mlp] * 12), *norm]


def perceptron() -> list[Shape]:
    """A 784-128-64-10 network: small enough for a core's own cache, where the cost of a call shows."""
    widths = (784, 128, 64, 10)
    return [s for i, o in itertools.pairwise(widths) for s in ((o, i), (o,))]


SHAPES = {
    "tensor": ("one tensor", [(25_000_000,)]),
    "resnet50": ("ResNet-50", resnet50()),
    "gpt2": ("GPT-2 small", gpt2()),
    "mlp": ("MLP 784-128-64-10", perceptron()),
}


@dataclass(frozen=True)
class Tensors:
    """Float32 weights and gradients, and the zeros that the ceiling reads in place of gradients."""

    weights: list[Array]
    grads: list[Array]
    zeros: list[Array]

    @property
    def parameters(self) -> int:
        return sum(w.size for w in self.weights)


def make(shapes: list[Shape]) -> Tensors:
    """Arrays on cache lines, every page touched.

    Gradients are constant and lie within +-[0.05, 0.15]: no state that is built from them becomes denormal or
    overflows, however many steps are measured.
    """
    random = np.random.default_rng(0)
    tensors = Tensors(*([_aligned(s) for s in shapes] for _ in range(3)))
    for w, g, z in zip(tensors.weights, tensors.grads, tensors.zeros, strict=True):
        random.random(dtype=np.float32, out=g)
        np.copyto(w, 0.1 * g - 0.05)
        np.copyto(g, np.where(g < 0.5, 0.2 * g + 0.05, 0.05 - 0.2 * g))
        z.fill(0)
    return tensors


def check(arrays: list[Array], what: str) -> None:
    """ArithmeticError where a value is infinite, NaN or denormal: the time of such steps is no typical time."""
    tiny = np.finfo(np.float32).tiny
    for x in arrays:
        size = np.abs(x.reshape(-1))
        if not np.isfinite(size).all() or ((size > 0) & (size < tiny)).any():
            raise ArithmeticError(f"{what}: values became infinite, NaN or denormal during the measurement")


def _aligned(shape: Shape) -> Array:
    size = math.prod(shape)
    raw = np.empty(size + 16, np.float32)
    skip = -raw.ctypes.data % 64 // 4
    return raw[skip : skip + size].reshape(shape)
