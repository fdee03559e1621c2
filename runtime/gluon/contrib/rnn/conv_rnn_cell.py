"""Recurrent cells whose products are convolutions: states are images (Shi et al., "Convolutional LSTM", 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.base import MXNetError, count
from runtime.gluon.nn.layouts import per_axis
from runtime.gluon.rnn.basic_cell import HybridRecurrentCell, States
from runtime.ndarray import NDArray
from runtime.ndarray.rnn.recurrent import gru_step, lstm_step

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class _ConvCell(HybridRecurrentCell):
    """The base class, over `dims` axes of space.

    Parameters
    ----------
    input_shape: of the inputs without the batch: (channels, *space).
    hidden_channels: channels of the state, which is also the output.
    i2h_kernel, i2h_pad, i2h_dilate: of the convolution of the inputs; a number, or one for each axis.
    h2h_kernel, h2h_dilate: of the convolution of the state; kernels are odd, and the state keeps its size.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: first values.
    conv_layout: 'NCW', 'NCHW' or 'NCDHW'.
    activation: a name `nd.Activation` knows, or something to call.
    """

    dims: int
    gates: int
    states: int = 1

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: int | Sequence[int],
        h2h_kernel: int | Sequence[int],
        i2h_pad: int | Sequence[int] = 0,
        i2h_dilate: int | Sequence[int] = 1,
        h2h_dilate: int | Sequence[int] = 1,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str | None = None,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if conv_layout not in (None, _LAYOUTS[self.dims]):
            raise MXNetError(f"{self.name}: conv_layout must be {_LAYOUTS[self.dims]!r}, not {conv_layout!r}")
        if len(input_shape) != self.dims + 1:
            raise MXNetError(f"{self.name}: input_shape must be (channels, *space) with {self.dims} axes of space")
        self._hidden_channels = count(f"{self.name}: hidden_channels", hidden_channels)
        self._activation = activation
        self._i2h = {
            "kernel": per_axis(self.name, "i2h_kernel", i2h_kernel, self.dims),
            "pad": per_axis(self.name, "i2h_pad", i2h_pad, self.dims, 0),
            "dilate": per_axis(self.name, "i2h_dilate", i2h_dilate, self.dims),
        }
        kernel = per_axis(self.name, "h2h_kernel", h2h_kernel, self.dims)
        dilate = per_axis(self.name, "h2h_dilate", h2h_dilate, self.dims)
        if any(k % 2 == 0 for k in kernel):
            raise MXNetError(f"{self.name}: h2h_kernel must be odd, so that states keep their size, not {h2h_kernel}")
        pad = tuple(d * (k - 1) // 2 for d, k in zip(dilate, kernel, strict=True))
        self._h2h = {"kernel": kernel, "pad": pad, "dilate": dilate}
        i2h = zip(input_shape[1:], *self._i2h.values(), strict=True)
        self._state_shape = (hidden_channels, *(n + 2 * p - d * (k - 1) if n else 0 for n, k, p, d in i2h))
        height = self.gates * hidden_channels
        shapes = {
            "i2h_weight": (height, input_shape[0], *self._i2h["kernel"]),
            "h2h_weight": (height, hidden_channels, *kernel),
            "i2h_bias": (height,),
            "h2h_bias": (height,),
        }
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        self._make_parameters(shapes, inits)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, *self._state_shape), "__layout__": _LAYOUTS[self.dims]}] * self.states

    def _alias(self) -> str:
        return type(self).__name__.lower()

    def _products(self, F: Any, x: NDArray, h: NDArray, params: dict[str, NDArray]) -> tuple[list, list]:
        """The gates' shares of the inputs and of the state."""
        parts = []
        for data, kind, attrs in ((x, "i2h", self._i2h), (h, "h2h", self._h2h)):
            weight, bias = params[f"{kind}_weight"], params[f"{kind}_bias"]
            y = F.Convolution(data, weight, bias, num_filter=self.gates * self._hidden_channels, **attrs)
            y = self._named(y, kind)
            parts.append(F.split(y, num_outputs=self.gates, axis=1) if self.gates > 1 else [y])
        return parts[0], parts[1]

    def __repr__(self) -> str:
        height, channels = self.i2h_weight.shape[:2]
        return f"{type(self).__name__}({channels} -> {height}, {self._activation}, {_LAYOUTS[self.dims]})"


class _ConvRNN(_ConvCell):
    gates = 1

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        (i,), (h,) = self._products(F, inputs, states[0], params)
        output = self._named(self._get_activation(F, i + h, self._activation), "out")
        return output, [output]


class _ConvLSTM(_ConvCell):
    gates = 4
    states = 2

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        gates = (a + b for a, b in zip(*self._products(F, inputs, states[0], params), strict=True))
        h, c = lstm_step(gates, states[1], F.sigmoid, lambda x: self._get_activation(F, x, self._activation))
        h, c = self._named(h, "out"), self._named(c, "state")
        return h, [h, c]


class _ConvGRU(_ConvCell):
    gates = 3

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        products = self._products(F, inputs, states[0], params)
        h = gru_step(*products, states[0], F.sigmoid, lambda x: self._get_activation(F, x, self._activation))
        h = self._named(h, "out")
        return h, [h]


class Conv1DRNNCell(_ConvRNN):
    """`h' = activation(W_ih * x + b_ih + W_hh * h + b_hh)`, with convolutions over one axis."""

    dims = 1


class Conv2DRNNCell(_ConvRNN):
    """`Conv1DRNNCell` over two axes."""

    dims = 2


class Conv3DRNNCell(_ConvRNN):
    """`Conv1DRNNCell` over three axes."""

    dims = 3


class Conv1DLSTMCell(_ConvLSTM):
    """`gluon.rnn.LSTMCell` with convolutions over one axis in place of matrix products."""

    dims = 1


class Conv2DLSTMCell(_ConvLSTM):
    """`Conv1DLSTMCell` over two axes."""

    dims = 2


class Conv3DLSTMCell(_ConvLSTM):
    """`Conv1DLSTMCell` over three axes."""

    dims = 3


class Conv1DGRUCell(_ConvGRU):
    """`gluon.rnn.GRUCell` with convolutions over one axis in place of matrix products."""

    dims = 1


class Conv2DGRUCell(_ConvGRU):
    """`Conv1DGRUCell` over two axes."""

    dims = 2


class Conv3DGRUCell(_ConvGRU):
    """`Conv1DGRUCell` over three axes."""

    dims = 3
