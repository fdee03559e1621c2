"""Inception v3 (Szegedy et al. 2016): convolutions of several sizes side by side."""

from __future__ import annotations

from typing import Any

from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.contrib.nn import HybridConcurrent
from runtime.gluon.model_zoo.classifier import Classifier, chain, model


def _convolution(channels: int, kernel: Any, strides: int = 1, padding: Any = 0) -> nn.HybridSequential:
    return chain(
        nn.Conv2D(channels, kernel, strides, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )


def _branch(*convolutions: tuple, pool: str = "") -> nn.HybridSequential:
    """Convolutions (channels, kernel, strides, padding) one after the other, behind a pooling if one is named."""
    net = chain()
    if pool == "avg":
        net.add(nn.AvgPool2D(3, strides=1, padding=1))
    elif pool == "max":
        net.add(nn.MaxPool2D(3, strides=2))
    net.add(*(_convolution(*c) for c in convolutions))
    return net


def _split(*branches: HybridBlock) -> HybridConcurrent:
    net = HybridConcurrent(axis=1, prefix="")
    net.add(*branches)
    return net


_WIDE, _HIGH = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))


def _module_a(pooled: int) -> list[HybridBlock]:
    return [
        _branch((64, 1)),
        _branch((48, 1), (64, 5, 1, 2)),
        _branch((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        _branch((pooled, 1), pool="avg"),
    ]


def _module_b() -> list[HybridBlock]:
    return [_branch((384, 3, 2)), _branch((64, 1), (96, 3, 1, 1), (96, 3, 2)), _branch(pool="max")]


def _module_c(n: int) -> list[HybridBlock]:
    return [
        _branch((192, 1)),
        _branch((n, 1), (n, *_WIDE), (192, *_HIGH)),
        _branch((n, 1), (n, *_HIGH), (n, *_WIDE), (n, *_HIGH), (192, *_WIDE)),
        _branch((192, 1), pool="avg"),
    ]


def _module_d() -> list[HybridBlock]:
    return [
        _branch((192, 1), (320, 3, 2)),
        _branch((192, 1), (192, *_WIDE), (192, *_HIGH), (192, 3, 2)),
        _branch(pool="max"),
    ]


def _module_e() -> list[HybridBlock]:
    def both() -> HybridConcurrent:
        return _split(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))

    return [
        _branch((320, 1)),
        chain(_branch((384, 1)), both()),
        chain(_branch((448, 1), (384, 3, 1, 1)), both()),
        _branch((192, 1), pool="avg"),
    ]


_MODULES = (
    ("A1_", _module_a, 32), ("A2_", _module_a, 64), ("A3_", _module_a, 64), ("B_", _module_b),
    ("C1_", _module_c, 128), ("C2_", _module_c, 160), ("C3_", _module_c, 160), ("C4_", _module_c, 192),
    ("D_", _module_d), ("E1_", _module_e), ("E2_", _module_e),
)  # fmt: skip


class Inception3(Classifier):
    """`classes`: how many the network tells apart."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(
                _convolution(32, 3, 2),
                _convolution(32, 3),
                _convolution(64, 3, padding=1),
                nn.MaxPool2D(3, 2),
                _convolution(80, 1),
                _convolution(192, 3),
                nn.MaxPool2D(3, 2),
            )
            for prefix, branches, *args in _MODULES:
                module = HybridConcurrent(axis=1, prefix=prefix)
                with module.name_scope():
                    module.add(*branches(*args))
                self.features.add(module)
            self.features.add(nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


inception_v3 = model("inception_v3", Inception3, "Inception v3.", "inceptionv3")
