"""What is measured: lists of shapes, optimizers with their settings, and the arrays that all contenders work on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import optgen
from optgen import specfiles
from optgen.execute import buffers

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

LR = 1e-3
WD = 1e-4
"""Not more: where the decay of a large weight cancels the constant gradient, moments would fade into denormals."""
MOMENTUM = 0.9


@dataclass(frozen=True)
class Rule:
    """A spec of the package, the values that choose its variant, and how weights and states are stored."""

    spec: str
    values: Mapping[str, float] = field(default_factory=dict)
    dtype: str = "float32"
    master: bool = False
    storage: str | None = None

    @property
    def in_float32(self) -> Rule:
        """The same with everything in float32."""
        return Rule(self.spec, self.values)

    def load(self, target: str = "cpu") -> optgen.UpdateRule:
        storage = self.storage
        return optgen.load(self.spec, self.dtype, master=self.master, storage=storage, target=target, **self.values)


VALUES: Mapping[str, Mapping[str, float]] = {
    "dcasgd": {"momentum": MOMENTUM},
    "lars": {"momentum": MOMENTUM},
    "lbsgd": {"momentum": MOMENTUM},
    "nag": {"momentum": MOMENTUM},
    "signum": {"momentum": MOMENTUM},
    # A constant gradient is an objective without a bottom: steps that grow with the weight, or with the way that it has
    # come, would grow without end.
    "adafactor": {"lr": 1e-7},
    "dadaptadam": {"growth_rate": 1 + 1e-9},
    "prodigy": {"d_coef": 1e-9},
}
"""Where the defaults are not what to measure."""

OPTIMIZERS = {name: Rule(name, VALUES.get(name, {})) for name in specfiles.available()} | {
    "momentum": Rule("sgd", {"momentum": MOMENTUM}),
    "adam-bfloat16": Rule("adam", storage="bfloat16"),
    "adam-bfloat16_stochastic": Rule("adam", storage="bfloat16_stochastic"),
    "adam-int8_dynamic": Rule("adam", storage="int8_dynamic"),
    "adam-int8_linear": Rule("adam", storage="int8_linear"),
    "adam-int4_dynamic": Rule("adam", storage="int4_dynamic"),
    "adam-master": Rule("adam", dtype="bfloat16", master=True),
}
"""Every spec, and adam as it stores its states in fewer bits or updates bfloat16 weights through float32 masters."""


def suits(optimizer: str, shapes: Sequence[Shape]) -> bool:
    """Whether the spec takes such tensors: some are for matrices only."""
    rule = OPTIMIZERS[optimizer].load()
    try:
        for shape in shapes:
            rule.variant(shape)
    except ValueError:
        return False
    return True


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


def gpt2(layers: int = 12, d: int = 768) -> list[Shape]:
    """Radford et al. 2019, the smallest model unless told otherwise (XL: 48 layers of width 1600); the output is tied
    to the token embedding."""
    norm: list[Shape] = [(d,), (d,)]
    attention: list[Shape] = [(d, 3 * d), (3 * d,), (d, d), (d,)]
    mlp: list[Shape] = [(d, 4 * d), (4 * d,), (4 * d, d), (d,)]
    return [(50257, d), (1024, d), *([*norm, *attention, *norm, *mlp] * layers), *norm]


def perceptron() -> list[Shape]:
    """A 784-128-64-10 network: small enough for a core's own cache, where the cost of a call shows."""
    widths = (784, 128, 64, 10)
    return [s for i, o in itertools.pairwise(widths) for s in ((o, i), (o,))]


SHAPES = {
    "tensor": ("one matrix", [(5000, 5000)]),
    "resnet50": ("ResNet-50", resnet50()),
    "gpt2": ("GPT-2 small", gpt2()),
    "matrices": ("250 matrices of 100,000 elements", [(400, 250)] * 250),
    "mlp": ("MLP 784-128-64-10", perceptron()),
}


@dataclass(frozen=True)
class Tensors:
    """Weights and gradients of one dtype."""

    weights: list[Array]
    grads: list[Array]

    @property
    def parameters(self) -> int:
        return sum(w.size for w in self.weights)


def make(shapes: Sequence[Shape], dtype: str = "float32") -> Tensors:
    """Arrays on cache lines, every page touched.

    Gradients are constant and lie within +-[0.05, 0.15]: no state that is built from them becomes denormal or
    overflows, however many steps are measured.
    """
    random = np.random.default_rng(0)
    tensors = Tensors(zeros(shapes, dtype), zeros(shapes, dtype))
    for w, g in zip(tensors.weights, tensors.grads, strict=True):
        u = random.random(g.shape, dtype=np.float32)
        w[...] = 0.1 * u - 0.05
        g[...] = np.where(u < 0.5, 0.2 * u + 0.05, 0.05 - 0.2 * u)
    return tensors


def zeros(shapes: Sequence[Shape], dtype: str) -> list[Array]:
    """Arrays of 0 on cache lines, every page touched."""
    arrays = [buffers.aligned(shape, dtype) for shape in shapes]
    for x in arrays:
        x.fill(0)
    return arrays


def check(arrays: Iterable[Array], what: str) -> None:
    """ArithmeticError where a value is infinite, NaN or denormal: the time of such steps is no typical time."""
    tiny = np.finfo(np.float32).tiny
    for x in arrays:
        size = np.abs(x.reshape(-1).astype(np.float32))
        if not np.isfinite(size).all() or ((size > 0) & (size < tiny)).any():
            raise ArithmeticError(f"{what}: values became infinite, NaN or denormal during the measurement")
