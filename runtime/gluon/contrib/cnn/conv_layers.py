"""Convolutions whose windows read shifted pixels; how far is learned by a convolution beside them."""

from __future__ import annotations

import math
from typing import Any

from runtime.base import count
from runtime.gluon.block import HybridBlock
from runtime.gluon.nn.activations import Activation
from runtime.gluon.nn.layouts import Size, check_layout, per_axis
from runtime.initializer import Initializer
from runtime.ndarray import NDArray

Init = str | Initializer | None


class _Deformable(HybridBlock):
    """The base class of both layers.

    Parameters
    ----------
    channels: of the output.
    kernel_size, strides, padding, dilation: two numbers, or one for both axes.
    groups: the number of groups of channels, each of which is convolved separately.
    num_deformable_group: the number of groups of channels, each of which has shifts of its own.
    layout: NCHW.
    use_bias, offset_use_bias: whether there is a bias, of the output and of the shifts.
    in_channels: channels of the input; 0: taken from the first batch.
    activation: name of an activation; None for none.
    weight_initializer, bias_initializer, offset_weight_initializer, offset_bias_initializer: first values.
    op_name, adj: do nothing.
    """

    _PER_PIXEL = 2
    """Values that the convolution of the shifts gives for each pixel of a window."""

    def __init__(
        self,
        channels: int,
        kernel_size: Size = (1, 1),
        strides: Size = (1, 1),
        padding: Size = (0, 0),
        dilation: Size = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        offset_weight_initializer: Init = "zeros",
        offset_bias_initializer: Init = "zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        name = type(self).__name__
        check_layout(name, layout, ("NCHW",))
        super().__init__(prefix=prefix, params=params)
        window = {
            "kernel": per_axis(name, "kernel_size", kernel_size, 2),
            "stride": per_axis(name, "strides", strides, 2),
            "dilate": per_axis(name, "dilation", dilation, 2),
            "pad": per_axis(name, "padding", padding, 2, 0),
            "num_group": count(f"{name}: groups", groups),
            "layout": layout,
        }
        self._channels, in_channels = (
            count(f"{name}: channels", channels),
            count(f"{name}: in_channels", in_channels, 0),
        )
        self._shifts = 2 * num_deformable_group * math.prod(window["kernel"])
        offsets = self._shifts // 2 * self._PER_PIXEL
        self._kwargs_offset = {**window, "num_filter": offsets, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **window,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        with self.name_scope():
            self.offset_weight = self._weight("offset_weight", offsets, in_channels, offset_weight_initializer)
            self.offset_bias = self._bias("offset_bias", offsets, offset_bias_initializer, offset_use_bias)
            self.deformable_conv_weight = self._weight(
                "deformable_conv_weight", channels, in_channels, weight_initializer
            )
            self.deformable_conv_bias = self._bias("deformable_conv_bias", channels, bias_initializer, use_bias)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _weight(self, name: str, channels: int, in_channels: int, init: Init) -> Any:
        shape = self._weight_shape(channels, in_channels)
        return self.params.get(name, shape=shape, init=init, allow_deferred_init=True)

    def _weight_shape(self, channels: int, in_channels: int) -> tuple[int, ...]:
        return channels, in_channels // self._kwargs_offset["num_group"], *self._kwargs_offset["kernel"]

    def _bias(self, name: str, channels: int, init: Init, wanted: bool) -> Any:
        return self.params.get(name, shape=(channels,), init=init, allow_deferred_init=True) if wanted else None

    def infer_shape(self, x: NDArray) -> None:
        self.offset_weight.shape = self._weight_shape(self._kwargs_offset["num_filter"], x.shape[1])
        self.deformable_conv_weight.shape = self._weight_shape(self._channels, x.shape[1])

    def hybrid_forward(
        self,
        F: Any,
        x: NDArray,
        offset_weight: NDArray,
        deformable_conv_weight: NDArray,
        offset_bias: NDArray | None = None,
        deformable_conv_bias: NDArray | None = None,
    ) -> NDArray:
        offset = F.Convolution(x, offset_weight, offset_bias, **self._kwargs_offset)
        y = self._convolved(F, x, offset, deformable_conv_weight, deformable_conv_bias)
        return y if self.act is None else self.act(y)

    def _convolved(self, F: Any, x: NDArray, offset: NDArray, weight: NDArray, bias: NDArray | None) -> NDArray:
        return F.contrib.DeformableConvolution(x, offset, weight, bias, name="fwd", **self._kwargs_deformable_conv)

    def __repr__(self) -> str:
        a, shape = self._kwargs_deformable_conv, self.deformable_conv_weight.shape
        return (
            f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, kernel_size={a['kernel']}, stride={a['stride']})"
        )


class DeformableConvolution(_Deformable):
    """Deformable convolution (Dai et al., 2017): each pixel of a window is read at a place of its own."""

    __doc__ += _Deformable.__doc__.partition("\n")[2]

    def _alias(self) -> str:
        return "deformable_conv"


class ModulatedDeformableConvolution(_Deformable):
    """Deformable convolution whose pixels have weights between 0 and 2, too (Zhu et al., 2018)."""

    __doc__ += _Deformable.__doc__.partition("\n")[2]
    _PER_PIXEL = 3

    def _convolved(self, F: Any, x: NDArray, offset: NDArray, weight: NDArray, bias: NDArray | None) -> NDArray:
        shifts = F.slice_axis(offset, axis=1, begin=0, end=self._shifts)
        mask = F.sigmoid(F.slice_axis(offset, axis=1, begin=self._shifts, end=None)) * 2
        return F.contrib.ModulatedDeformableConvolution(
            x, shifts, mask, weight, bias, name="fwd", **self._kwargs_deformable_conv
        )

    def _alias(self) -> str:
        return "modulated_deformable_conv"
