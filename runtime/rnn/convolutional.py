"""The cells of `cells` with convolutions in place of matrix products: states are images (Shi et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from runtime import symbol as sym
from runtime.base import ArgumentError
from runtime.initializer import LSTMBias
from runtime.rnn.base_cell import RNNParams
from runtime.rnn.cells import GRUCell, LSTMCell, RNNCell, _GateCell
from runtime.symbol import Symbol

_LEAKY = partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class _ConvCell(_GateCell):
    """The base class: a cell over images.

    Parameters
    ----------
    input_shape: of a batch of inputs, in `conv_layout`.
    num_hidden: channels of the state.
    h2h_kernel, h2h_dilate: of the convolution of the state, which keeps its size; kernels are odd.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate: of the convolution of the inputs.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: first values.
    activation: a name that `sym.Activation` knows, or something to call.
    """

    _bias: Any = "zeros"
    """The first values of `i2h_bias`, by default."""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = None,
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        if any(k % 2 == 0 for k in h2h_kernel):
            raise ArgumentError(f"h2h_kernel must be odd, so that states keep their size, not {h2h_kernel}")
        first = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer or self._bias,
            "h2h_bias": h2h_bias_initializer,
        }
        prefix = type(self).__name__.removesuffix("Cell") + "_" if prefix is None else prefix
        _GateCell.__init__(self, num_hidden, prefix, params, **first)
        self._activation = activation
        self._layout = conv_layout
        self._slices = {"axis": conv_layout.find("C")}
        pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        i2h = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate}
        h2h = {"kernel": h2h_kernel, "stride": (1, 1), "pad": pad, "dilate": h2h_dilate}
        self._convolutions = {"i2h": i2h, "h2h": h2h}
        image = sym.Convolution(sym.Variable("data"), num_filter=num_hidden, layout=conv_layout, **i2h)
        self._state_shape = (0, *image.infer_shape(data=tuple(input_shape))[1][0][1:])

    def _linear(self, source: str, x: Symbol, name: str) -> Symbol:
        size = self._num_hidden * len(self._gate_names)
        attributes = self._convolutions[source] | self._weights[source]
        return sym.Convolution(data=x, num_filter=size, layout=self._layout, name=f"{name}{source}", **attributes)


class ConvRNNCell(_ConvCell, RNNCell):
    """`RNNCell` over images."""


class ConvLSTMCell(_ConvCell, LSTMCell):
    """`LSTMCell` over images; the bias of the forget gate begins with 1."""

    _bias = LSTMBias(forget_bias=1.0)


class ConvGRUCell(_ConvCell, GRUCell):
    """`GRUCell` over images."""
