"""VGG (Simonyan & Zisserman 2015)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from runtime.base import ArgumentError
from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.model_zoo.classifier import Classifier, chain, model
from runtime.initializer import Xavier

vgg_spec = {
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}
"""By the number of layers: convolutions in each stage, and their channels."""


class VGG(Classifier):
    """`layers` and `filters`: convolutions in each stage, and their channels. `batch_norm`: normalize behind each."""

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(layers) != len(filters):
            raise ArgumentError(f"VGG: {len(layers)} stages in layers, but {len(filters)} in filters")
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain()
            for count, channels in zip(layers, filters, strict=True):
                for _ in range(count):
                    self.features.add(*_convolution(channels, batch_norm))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(0.5))
            self.output = nn.Dense(classes, weight_initializer="normal")


def _convolution(channels: int, batch_norm: bool) -> list[HybridBlock]:
    first = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
    convolution = nn.Conv2D(channels, 3, padding=1, weight_initializer=first)
    return [convolution, *([nn.BatchNorm()] if batch_norm else []), nn.Activation("relu")]


def get_vgg(num_layers: int, **kwargs: Any) -> HybridBlock:
    """VGG with 11, 13, 16 or 19 layers."""
    if num_layers not in vgg_spec:
        raise ArgumentError(f"VGG has {', '.join(map(str, vgg_spec))} layers, not {num_layers}")
    name = f"vgg{num_layers}{'_bn' * bool(kwargs.get('batch_norm'))}"
    return model(name, functools.partial(VGG, *vgg_spec[num_layers]), "")(**kwargs)


def _vgg(layers: int, suffix: str = "", **fixed: Any) -> Any:
    make = functools.partial(VGG, *vgg_spec[layers], **fixed)
    with_norm = " with batch normalization" if fixed else ""
    return model(f"vgg{layers}{suffix}", make, f"VGG with {layers} layers{with_norm}.")


vgg11, vgg13, vgg16, vgg19 = map(_vgg, vgg_spec)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (_vgg(layers, "_bn", batch_norm=True) for layers in vgg_spec)
