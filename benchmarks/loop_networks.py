"""Networks of PyTorch to train in a loop: what an iteration computes its loss with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional


class Training(NamedTuple):
    """A network, and the loss of an iteration."""

    net: nn.Module
    loss: Callable[[], torch.Tensor]


def _classify(net: nn.Module, *shape: int) -> Training:
    x, labels = torch.randn(shape), torch.randint(0, 10, shape[:1])
    first = next(net.parameters())  # whose dtype is chosen later
    return Training(net, lambda: functional.cross_entropy(net(x.to(first.dtype)).float(), labels))


def mlp() -> Training:
    sizes = (784, 128, 64, 10)
    layers = [x for a, b in itertools.pairwise(sizes) for x in (nn.Linear(a, b), nn.ReLU())]
    return _classify(nn.Sequential(*layers[:-1]), 64, 784)


def wide() -> Training:
    net = nn.Sequential(
        nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)
    )  # fmt: skip
    return _classify(net, 64, 784)


def norms() -> Training:
    layers = [x for _ in range(50) for x in (nn.Linear(256, 256), nn.LayerNorm(256), nn.ReLU())]
    return _classify(nn.Sequential(*layers, nn.Linear(256, 10)), 64, 256)


class _Gpt(nn.Module):
    def __init__(self, layers: int = 12, width: int = 256, words: int = 256, length: int = 64) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.mask = nn.Transformer.generate_square_subsequent_mask(length)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.words(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h, src_mask=self.mask.to(h.dtype), is_causal=True)
        return self.head(self.norm(h))


def gpt() -> Training:
    net, text = _Gpt(), torch.randint(0, 256, (4, 65))
    return Training(net, lambda: functional.cross_entropy(net(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()))


class _Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
            nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        same = channels == out and stride == 1
        short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.short = nn.Identity() if same else short

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.short(x))


def resnet18() -> Training:
    blocks = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
              (512, 512, 1)]  # fmt: skip
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    net = nn.Sequential(
        *stem, *(_Residual(*x) for x in blocks), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)
    )
    return _classify(net, 8, 3, 32, 32)


class _Scaled(nn.Module):
    """A layer with fourteen small vectors, as scales and gates are."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(14))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.linear(x)))
        for scale in self.scales:
            x = x * scale
        return x


def small() -> Training:
    return _classify(nn.Sequential(*(_Scaled(128) for _ in range(36)), nn.Linear(128, 10)), 64, 128)


NETWORKS: Mapping[str, tuple[str, Callable[[], Training]]] = {
    "mlp": ("MLP 784-128-64-10, batch 64", mlp),
    "wide": ("3 layers of up to 2048 x 2048, batch 64", wide),
    "norms": ("50 x Linear(256), LayerNorm, batch 64", norms),
    "gpt": ("GPT of 12 layers, width 256, 4 x 64 words", gpt),
    "resnet18": ("ResNet-18, batch 8 of 32 x 32", resnet18),
    "small": ("36 layers with 14 vectors of 128 each, batch 64", small),
}
"""What each network is, and what makes it."""
