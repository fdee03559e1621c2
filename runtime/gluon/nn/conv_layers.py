"""Convolution, transposed convolution, reflection padding."""

from __future__ import annotations

from typing import Any

from runtime.base import ArgumentError, count, numeric_types
from runtime.gluon.block import HybridBlock
from runtime.gluon.nn.activations import Activation
from runtime.gluon.nn.layouts import Size, check_layout, per_axis
from runtime.gluon.nn.pool_layers import (  # noqa: F401 (scripts find poolings here, where MXNet has them)
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from runtime.initializer import Initializer
from runtime.ndarray import NDArray

Init = str | Initializer | None


class _Conv(HybridBlock):
    """The base class of convolutions. A subclass defines the number of spatial axes and the layouts.

    Parameters
    ----------
    channels: of the output.
    kernel_size, strides, padding, dilation: a number for each spatial axis, or one for all.
    groups: the number of groups of channels, each of which is convolved separately.
    layout: where batch (N), channels (C) and spatial axes lie in the input, and in the output.
    activation: name of an activation; None for none.
    use_bias: whether there is a bias, of shape (channels,).
    weight_initializer, bias_initializer: first values.
    in_channels: channels of the input; 0: taken from the first batch.

    The weight is (channels, in_channels/groups, *kernel_size); where the layout has the channels last,
    (channels, *kernel_size, in_channels/groups).
    """

    _LAYOUTS: tuple[str, ...] = ()
    _op_name = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        name, axes = type(self).__name__, len(self._LAYOUTS[0]) - 2
        layout = self._LAYOUTS[0] if layout is None else layout
        check_layout(name, layout, self._LAYOUTS)
        super().__init__(prefix=prefix, params=params)
        self._in_channels = count(f"{name}: in_channels", in_channels, -1)
        self._channels = count(f"{name}: channels", channels)
        self._kwargs = {
            "kernel": per_axis(name, "kernel_size", kernel_size, axes),
            "stride": per_axis(name, "strides", strides, axes),
            "dilate": per_axis(name, "dilation", dilation, axes),
            "pad": per_axis(name, "padding", padding, axes, 0),
            "num_filter": channels,
            "num_group": count(f"{name}: groups", groups),
            "no_bias": not use_bias,
            "layout": layout,
        }
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=self._weight_shape(self._in_channels), init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return "conv"

    def _weight_shape(self, in_channels: int) -> tuple[int, ...]:
        return self._in_layout(self._channels, in_channels // self._kwargs["num_group"])

    def _in_layout(self, first: int, second: int) -> tuple[int, ...]:
        kernel, last = self._kwargs["kernel"], self._kwargs["layout"].endswith("C")
        return (first, *kernel, second) if last else (first, second, *kernel)

    def infer_shape(self, x: NDArray) -> None:
        layout = self._kwargs["layout"]
        if x.ndim != len(layout):
            raise ArgumentError(
                f"{type(self).__name__} '{self.name}' takes arrays of layout {layout}, and got one of shape {x.shape}"
            )
        self.weight.shape = self._weight_shape(x.shape[layout.index("C")])

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        y = getattr(F, self._op_name)(x, weight, bias, name="fwd", **self._kwargs)
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        a, shape = self._kwargs, self.weight.shape
        parts = [f"{shape[1] or None} -> {shape[0]}", f"kernel_size={a['kernel']}", f"stride={a['stride']}"]
        parts += [f"padding={a['pad']}"] * any(a["pad"])
        parts += [f"dilation={a['dilate']}"] * any(d != 1 for d in a["dilate"])
        parts += [f"groups={a['num_group']}"] * (a["num_group"] != 1)
        parts += ["bias=False"] * (self.bias is None)
        parts += [str(self.act)] * (self.act is not None)
        return f"{type(self).__name__}({', '.join(parts)})"


class Conv1D(_Conv):
    """Convolution over one spatial axis."""

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _LAYOUTS = ("NCW",)


class Conv2D(_Conv):
    """Convolution over two spatial axes."""

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _LAYOUTS = ("NCHW", "NHWC")


class Conv3D(_Conv):
    """Convolution over three spatial axes."""

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _LAYOUTS = ("NCDHW", "NDHWC")


class _ConvTranspose(_Conv):
    """The base class of transposed convolutions. `output_padding` extends the end of the output. The weight is
    (in_channels, channels/groups, *kernel_size)."""

    _op_name = "Deconvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        layout: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout, *args, **kwargs)
        self.outpad = per_axis(type(self).__name__, "output_padding", output_padding, len(self._kwargs["kernel"]), 0)
        self._kwargs["adj"] = self.outpad

    def _weight_shape(self, in_channels: int) -> tuple[int, ...]:
        return self._in_layout(in_channels, self._channels // self._kwargs["num_group"])


class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution over one spatial axis; see Conv1D."""

    _LAYOUTS = ("NCW",)


class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution over two spatial axes; see Conv2D."""

    _LAYOUTS = ("NCHW", "NHWC")


class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution over three spatial axes; see Conv3D."""

    _LAYOUTS = ("NCDHW", "NDHWC")


class ReflectionPad2D(HybridBlock):
    """Pads the two last axes of (batch, channels, height, width) by reflection at the border.

    `padding` is a number, or the two numbers (before, behind) of each of the four axes, eight in all.
    """

    def __init__(self, padding: Size = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, numeric_types):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        self._padding = per_axis("ReflectionPad2D", "padding", padding, 8, 0)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.pad(x, mode="reflect", pad_width=self._padding)
