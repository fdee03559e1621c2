"""SqueezeNet (Iandola et al. 2016)."""

from __future__ import annotations

import functools
from typing import Any

from runtime.base import ArgumentError
from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.contrib.nn import HybridConcurrent
from runtime.gluon.model_zoo.classifier import Classifier, chain, model

# Channels of the fire modules (squeezed; of each of both expansions), and "pool" where images are made smaller.
_MODULES = {
    "1.0": ("pool", (16, 64), (16, 64), (32, 128), "pool",
            (32, 128), (48, 192), (48, 192), (64, 256), "pool", (64, 256)),
    "1.1": ("pool", (16, 64), (16, 64), "pool", (32, 128), (32, 128), "pool",
            (48, 192), (48, 192), (64, 256), (64, 256)),
}  # fmt: skip
_FIRST = {"1.0": (96, 7), "1.1": (64, 3)}


class SqueezeNet(Classifier):
    """`version`: '1.0', or '1.1', which takes less than half of the work."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        if version not in _MODULES:
            raise ArgumentError(f"SqueezeNet: version is {' or '.join(map(repr, _MODULES))}, not {version!r}")
        super().__init__(**kwargs)
        with self.name_scope():
            channels, kernel = _FIRST[version]
            self.features = chain(nn.Conv2D(channels, kernel, strides=2), nn.Activation("relu"))
            for module in _MODULES[version]:
                self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True) if module == "pool" else _fire(*module))
            self.features.add(nn.Dropout(0.5))
            self.output = chain(nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


def _fire(squeezed: int, expanded: int) -> nn.HybridSequential:
    net = chain(_convolution(squeezed, 1))
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_convolution(expanded, 1), _convolution(expanded, 3, padding=1))
    net.add(paths)
    return net


def _convolution(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    return chain(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))


def _squeezenet(version: str) -> Any:
    name = f"squeezenet{version.replace('.', '_')}"
    return model(name, functools.partial(SqueezeNet, version), f"SqueezeNet {version}.", f"squeezenet{version}")


def get_squeezenet(version: str, **kwargs: Any) -> HybridBlock:
    """SqueezeNet of that version."""
    return _squeezenet(version)(**kwargs)


squeezenet1_0, squeezenet1_1 = map(_squeezenet, _MODULES)
