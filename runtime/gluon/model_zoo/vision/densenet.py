"""DenseNet (Huang et al. 2017): the input of each layer is the output of all layers before it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.contrib.nn import HybridConcurrent, Identity
from runtime.gluon.model_zoo.classifier import Classifier, chain, model

densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}
"""By the number of layers: channels of the first convolution, growth rate, and layers in each stage."""


class DenseNet(Classifier):
    """`growth_rate`: channels that each layer adds; `bn_size`: so many times that in its bottleneck."""

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            channels = num_init_features
            self.features = chain(
                nn.Conv2D(channels, 7, strides=2, padding=3, use_bias=False), *_norm_relu(), nn.MaxPool2D(3, 2, 1)
            )
            for stage, layers in enumerate(block_config, 1):
                if stage > 1:
                    channels //= 2
                    self.features.add(_transition(channels))
                self.features.add(_stage(stage, layers, bn_size, growth_rate, dropout))
                channels += layers * growth_rate
            self.features.add(*_norm_relu(), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)


def _norm_relu() -> list[HybridBlock]:
    return [nn.BatchNorm(), nn.Activation("relu")]


def _transition(channels: int) -> nn.HybridSequential:
    return chain(*_norm_relu(), nn.Conv2D(channels, 1, use_bias=False), nn.AvgPool2D(2, 2))


def _stage(index: int, layers: int, bn_size: int, growth_rate: int, dropout: float) -> nn.HybridSequential:
    net = nn.HybridSequential(prefix=f"stage{index}_")
    with net.name_scope():
        for _ in range(layers):
            new = chain(
                *_norm_relu(),
                nn.Conv2D(bn_size * growth_rate, 1, use_bias=False),
                *_norm_relu(),
                nn.Conv2D(growth_rate, 3, padding=1, use_bias=False),
            )
            if dropout:
                new.add(nn.Dropout(dropout))
            layer = HybridConcurrent(axis=1, prefix="")
            layer.add(Identity(), new)
            net.add(layer)
    return net


def _densenet(layers: int) -> Any:
    make = functools.partial(DenseNet, *densenet_spec[layers])
    return model(f"densenet{layers}", make, f"DenseNet with {layers} layers.")


densenet121, densenet161, densenet169, densenet201 = map(_densenet, densenet_spec)
