"""Simple recurrent cells, LSTMs and GRUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import symbol as sym
from runtime.initializer import LSTMBias
from runtime.rnn.base_cell import BaseRNNCell, RNNParams
from runtime.symbol import Symbol, _internal


class _GateCell(BaseRNNCell):
    """A cell whose gates are linear in the input and in the last output.

    Its weights are `i2h_weight` (gates * hidden, inputs), `h2h_weight` (gates * hidden, hidden), and biases; `first`
    has their initializers, by these names. `_activation` is that of the output and of what is new in the state.
    """

    _activation: Any = "tanh"
    _layout = "NC"
    _slices: Mapping[str, int] = {}
    """Where SliceChannel finds the gates, if it is not the axis 1."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **first: Any) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._state_shape: tuple[int, ...] = (0, num_hidden)
        self._weights = {
            source: {
                kind: self._params.get(f"{source}_{kind}", init=first.get(f"{source}_{kind}"))
                for kind in ("weight", "bias")
            }
            for source in ("i2h", "h2h")
        }

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": self._state_shape, "__layout__": self._layout}]

    def _linear(self, source: str, x: Symbol, name: str) -> Symbol:
        """What the gates have of the input (`i2h`) or of the last output (`h2h`)."""
        size = self._num_hidden * len(self._gate_names)
        return sym.FullyConnected(data=x, **self._weights[source], num_hidden=size, name=f"{name}{source}")


class RNNCell(_GateCell):
    """h' = activation(W x + b + R h + c)."""

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        total = self._linear("i2h", inputs, name) + self._linear("h2h", states[0], name)
        output = self._get_activation(total, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_GateCell):
    """A long short-term memory (Hochreiter and Schmidhuber 1997), with the gates i, f, c, o.

    `forget_bias` is what the bias of the forget gate begins with.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, prefix, params, i2h_bias=LSTMBias(forget_bias=forget_bias))

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_i", "_f", "_c", "_o")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        gates = self._linear("i2h", inputs, name) + self._linear("h2h", states[0], name)
        parts = sym.SliceChannel(gates, num_outputs=4, name=f"{name}slice", **self._slices)
        kinds = (("i", "sigmoid"), ("f", "sigmoid"), ("c", self._activation), ("o", "sigmoid"))
        i, f, c, o = (self._get_activation(x, a, name=f"{name}{k}") for x, (k, a) in zip(parts, kinds, strict=True))
        memory = _internal._plus(f * states[1], i * c, name=f"{name}state")
        output = _internal._mul(o, self._get_activation(memory, self._activation), name=f"{name}out")
        return output, [output, memory]


class GRUCell(_GateCell):
    """A gated recurrent unit (Cho et al. 2014), with the gates r, z, o; r is applied after the product with R."""

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_r", "_z", "_o")

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        name = self._step_name()
        sources = (("i2h", inputs), ("h2h", states[0]))
        linear = {source: self._linear(source, x, f"{name}_") for source, x in sources}
        i_r, i_z, i_o = sym.SliceChannel(linear["i2h"], num_outputs=3, name=f"{name}_i2h_slice", **self._slices)
        h_r, h_z, h_o = sym.SliceChannel(linear["h2h"], num_outputs=3, name=f"{name}_h2h_slice", **self._slices)
        r = sym.Activation(i_r + h_r, act_type="sigmoid", name=f"{name}_r_act")
        z = sym.Activation(i_z + h_z, act_type="sigmoid", name=f"{name}_z_act")
        new = self._get_activation(i_o + r * h_o, self._activation, name=f"{name}_h_act")
        output = _internal._plus((1 - z) * new, z * states[0], name=f"{name}out")
        return output, [output]
