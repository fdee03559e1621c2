"""ResNet: v1 (He et al. 2015), and v2, which normalizes before it convolves (He et al. 2016)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from runtime.base import ArgumentError
from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.model_zoo.classifier import Classifier, chain, model


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, 3, strides=stride, padding=1, use_bias=False, in_channels=in_channels)


def _conv1x1(channels: int, stride: int = 1, in_channels: int = 0) -> nn.Conv2D:
    return nn.Conv2D(channels, 1, strides=stride, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """`relu(body(x) + x)`; x itself is convolved with `downsample`. A subclass says what the body is."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = chain(*self._body(channels, stride, in_channels))
        self.downsample = chain(_conv1x1(channels, stride, in_channels), nn.BatchNorm()) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(self.body(x) + residual, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two convolutions."""

    def _body(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        return [
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        ]


class BottleneckV1(_BlockV1):
    """Three convolutions, the middle one with a quarter of the channels."""

    def _body(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        inner = channels // 4
        return [
            nn.Conv2D(inner, 1, strides=stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(inner, 1, inner),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 1),
            nn.BatchNorm(),
        ]


class _BlockV2(HybridBlock):
    """Convolutions, each behind a normalization and relu; the input is added, or, with `downsample`, a convolution of
    the output of the first relu. A subclass defines the convolutions."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        makers = self._convolutions(channels, stride, in_channels)
        for i, make in enumerate(makers, 1):
            setattr(self, f"bn{i}", nn.BatchNorm())
            setattr(self, f"conv{i}", make())
        self._pairs = [(getattr(self, f"bn{i}"), getattr(self, f"conv{i}")) for i in range(1, len(makers) + 1)]
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        for i, (norm, convolution) in enumerate(self._pairs):
            x = F.Activation(norm(x), act_type="relu")
            if i == 0 and self.downsample is not None:
                residual = self.downsample(x)
            x = convolution(x)
        return x + residual


class BasicBlockV2(_BlockV2):
    """Two convolutions."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        return [lambda: _conv3x3(channels, stride, in_channels), lambda: _conv3x3(channels, 1, channels)]


class BottleneckV2(_BlockV2):
    """Three convolutions, the middle one with a quarter of the channels."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        inner = channels // 4
        return [lambda: _conv1x1(inner), lambda: _conv3x3(inner, stride, inner), lambda: _conv1x1(channels)]


class _ResNet(Classifier):
    """The base class of both versions.

    Parameters
    ----------
    block: class of the blocks.
    layers: blocks in each stage.
    channels: of the first convolution, and of each stage.
    classes: how many the network tells apart.
    thumbnail: images are small (32 x 32): the first convolution is too, and there is no pooling behind it.
    """

    def _first(self, channels: int, thumbnail: bool) -> list[HybridBlock]:
        if thumbnail:
            return [_conv3x3(channels, 1, 0)]
        return [
            nn.Conv2D(channels, 7, 2, 3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, 1),
        ]

    def _stages(self, block: type[HybridBlock], layers: Sequence[int], channels: Sequence[int]) -> list[HybridBlock]:
        if len(layers) != len(channels) - 1:
            raise ArgumentError(
                f"{type(self).__name__}: channels must be one more than layers, not {len(channels)} and {len(layers)}"
            )
        stages = []
        for i, count in enumerate(layers):
            before, behind = channels[i], channels[i + 1]
            stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
            with stage.name_scope():
                stage.add(block(behind, 2 if i else 1, behind != before, in_channels=before, prefix=""))
                stage.add(*(block(behind, 1, False, in_channels=behind, prefix="") for _ in range(count - 1)))
            stages.append(stage)
        return stages


class ResNetV1(_ResNet):
    """Normalizes after each convolution."""

    __doc__ += _ResNet.__doc__.partition("\n")[2]

    def __init__(
        self,
        block: type[HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(*self._first(channels[0], thumbnail))
            self.features.add(*self._stages(block, layers, channels), nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """Normalizes before each convolution, the input too."""

    __doc__ += _ResNet.__doc__.partition("\n")[2]

    def __init__(
        self,
        block: type[HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(nn.BatchNorm(scale=False, center=False), *self._first(channels[0], thumbnail))
            self.features.add(*self._stages(block, layers, channels))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=channels[-1])


_SMALL, _LARGE = [64, 64, 128, 256, 512], [64, 256, 512, 1024, 2048]
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], _SMALL),
    34: ("basic_block", [3, 4, 6, 3], _SMALL),
    50: ("bottle_neck", [3, 4, 6, 3], _LARGE),
    101: ("bottle_neck", [3, 4, 23, 3], _LARGE),
    152: ("bottle_neck", [3, 8, 36, 3], _LARGE),
}
"""By the number of layers: the kind of block, blocks in each stage, and channels."""
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def _resnet(version: int, layers: int) -> Any:
    kind, *sizes = resnet_spec[layers]
    block = resnet_block_versions[version - 1][kind]
    make = functools.partial(resnet_net_versions[version - 1], block, *sizes)
    return model(f"resnet{layers}_v{version}", make, f"ResNet v{version} with {layers} layers.")


def get_resnet(version: int, num_layers: int, **kwargs: Any) -> HybridBlock:
    """ResNet of version 1 or 2, with 18, 34, 50, 101 or 152 layers."""
    if num_layers not in resnet_spec or version not in (1, 2):
        raise ArgumentError(
            f"ResNet has version 1 or 2 and {', '.join(map(str, resnet_spec))} layers, not version {version} and "
            f"{num_layers} layers"
        )
    return _resnet(version, num_layers)(**kwargs)


resnet18_v1, resnet34_v1, resnet50_v1, resnet101_v1, resnet152_v1 = (_resnet(1, n) for n in resnet_spec)
resnet18_v2, resnet34_v2, resnet50_v2, resnet101_v2, resnet152_v2 = (_resnet(2, n) for n in resnet_spec)
