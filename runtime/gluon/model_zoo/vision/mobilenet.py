"""MobileNet (Howard et al. 2017) and MobileNetV2 (Sandler et al. 2018): depthwise convolutions."""

from __future__ import annotations

import functools
from typing import Any

from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.model_zoo.classifier import Classifier, chain, model


class RELU6(HybridBlock):
    """x, but at least 0 and at most 6."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6, name="relu6")


def _convolution(channels: int, kernel: int = 1, strides: int = 1, groups: int = 1, act: str = "relu") -> list:
    """A convolution, batch normalization, and the activation called `act`: relu, relu6, or none for ''."""
    convolution = nn.Conv2D(channels, kernel, strides, kernel // 2, groups=groups, use_bias=False)
    blocks = [convolution, nn.BatchNorm(scale=True)]
    if act:
        blocks.append(RELU6() if act == "relu6" else nn.Activation(act))
    return blocks


class LinearBottleneck(HybridBlock):
    """Expansion of the channels by `t`, a depthwise convolution, and a projection to `channels`. The input is added
    where shapes agree."""

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(*_convolution(wide, act="relu6"))
            self.out.add(*_convolution(wide, 3, stride, groups=wide, act="relu6"))
            self.out.add(*_convolution(channels, act=""))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.out(x)
        return y + x if self.use_shortcut else y


class MobileNet(Classifier):
    """`multiplier`: on the number of all channels."""

    # Channels before and after each depthwise convolution, and its stride.
    _LAYERS = (
        (32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
        *[(512, 512, 1)] * 5, (512, 1024, 2), (1024, 1024, 1),
    )  # fmt: skip

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(*_convolution(int(32 * multiplier), 3, 2))
            for before, behind, strides in self._LAYERS:
                apart = int(before * multiplier)
                self.features.add(*_convolution(apart, 3, strides, groups=apart))
                self.features.add(*_convolution(int(behind * multiplier)))
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """`multiplier`: on the number of all channels but the last."""

    # How much wider each bottleneck is inside, channels behind it, how many there are, and the first one's stride.
    _STAGES = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    )  # fmt: skip

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            before = int(32 * multiplier)
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(*_convolution(before, 3, 2, act="relu6"))
                for t, behind, count, stride in self._STAGES:
                    for i in range(count):
                        channels = int(behind * multiplier)
                        self.features.add(LinearBottleneck(before, channels, t, 1 if i else stride))
                        before = channels
                last = int(1280 * max(1.0, multiplier))
                self.features.add(*_convolution(last, act="relu6"), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _mobilenet(multiplier: float) -> Any:
    make = functools.partial(MobileNet, multiplier)
    return model(
        f"mobilenet{_digits(multiplier)}",
        make,
        f"MobileNet with {multiplier} of its channels.",
        f"mobilenet{float(multiplier)}",
    )


def _mobilenet_v2(multiplier: float) -> Any:
    make = functools.partial(MobileNetV2, multiplier)
    return model(
        f"mobilenet_v2_{_digits(multiplier)}",
        make,
        f"MobileNetV2 with {multiplier} of its channels.",
        f"mobilenetv2_{float(multiplier)}",
    )


def _digits(multiplier: float) -> str:
    return str(float(multiplier)).replace(".", "_")


def get_mobilenet(multiplier: float, **kwargs: Any) -> HybridBlock:
    """MobileNet with its number of channels multiplied by `multiplier`."""
    return _mobilenet(multiplier)(**kwargs)


def get_mobilenet_v2(multiplier: float, **kwargs: Any) -> HybridBlock:
    """MobileNetV2 with its number of channels multiplied by `multiplier`."""
    return _mobilenet_v2(multiplier)(**kwargs)


mobilenet1_0, mobilenet0_75, mobilenet0_5, mobilenet0_25 = map(_mobilenet, (1.0, 0.75, 0.5, 0.25))
mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = map(_mobilenet_v2, (1.0, 0.75, 0.5, 0.25))
