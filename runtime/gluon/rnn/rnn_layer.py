"""Recurrent layers: whole sequences through several layers of cells, in one or two directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import ndarray as nd
from runtime import symbol
from runtime.base import ArgumentError, _as_list, count, optional_count
from runtime.core.dtypes import element_type
from runtime.gluon.block import HybridBlock
from runtime.gluon.rnn import basic_cell
from runtime.gluon.rnn.modifier_cell import DropoutCell
from runtime.gluon.rnn.sequences import check_states, first_states
from runtime.gluon.rnn.stacked_cell import BidirectionalCell, HybridSequentialRNNCell
from runtime.ndarray import NDArray
from runtime.ndarray.rnn.stacked import GATES, Weights, recurrent


class _RNNLayer(HybridBlock):
    """The base class. Parameters are called `l0_i2h_weight`: direction (l, or r for backwards), layer, and kind.

    `layer(inputs)` returns the outputs, `layer(inputs, states)` the outputs and the last states. With
    `use_sequence_length`, `sequence_length`, (N,), says how many steps of each sequence count.
    """

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: dict[str, Any],
        projection_size: int | None = None,
        use_sequence_length: bool = False,
        dtype: Any = "float32",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if layout not in ("TNC", "NTC"):
            raise ArgumentError(f"{type(self).__name__}: layout must be 'TNC' or 'NTC', not {layout!r}")
        self._mode, self._layout, self._dropout = mode, layout, dropout
        kind = type(self).__name__
        self._hidden_size = count(f"{kind}: hidden_size", hidden_size)
        self._num_layers = count(f"{kind}: num_layers", num_layers)
        self._input_size = count(f"{kind}: input_size", input_size, -1)
        self._projection_size = optional_count(f"{kind}: projection_size", projection_size)
        self._use_sequence_length = use_sequence_length
        self._directions = "lr" if bidirectional else "l"
        self._initializers = initializers
        self._kinds = [kind for kind in Weights._fields if kind != "h2r_weight" or projection_size]
        for layer in range(num_layers):
            for direction in self._directions:
                for kind, shape in self._shapes(layer, input_size).items():
                    name = f"{direction}{layer}_{kind}"
                    init = initializers[kind]
                    setattr(
                        self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
                    )

    def _shapes(self, layer: int, inputs: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters of one layer and direction, by kind."""
        height, state = GATES[self._mode] * self._hidden_size, self._projection_size or self._hidden_size
        n = state * len(self._directions) if layer else inputs
        shapes = {
            "i2h_weight": (height, n),
            "h2h_weight": (height, state),
            "i2h_bias": (height,),
            "h2h_bias": (height,),
            "h2r_weight": (state, self._hidden_size),
        }
        return {kind: shapes[kind] for kind in self._kinds}

    def infer_shape(self, inputs: NDArray, *args: Any) -> None:
        for direction in self._directions:
            self._reg_params[f"{direction}0_i2h_weight"].shape = self._shapes(0, inputs.shape[2])["i2h_weight"]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """What the states are: for each, its 'shape', its 'dtype', and the meaning of the axes as '__layout__'."""
        n = self._num_layers * len(self._directions)
        shape = (n, batch_size, self._projection_size or self._hidden_size)
        dtype = element_type(self._reg_params["l0_i2h_weight"].dtype).name
        return [{"shape": shape, "__layout__": "LNC", "dtype": dtype}]

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> list[NDArray]:
        """The states before the first step, each made by `func(shape=..., dtype=..., **kwargs)`."""
        return first_states(self.state_info(batch_size), f"{self.prefix}h0", func, kwargs)

    def __call__(
        self, inputs: NDArray, states: Any = None, sequence_length: NDArray | None = None, **kwargs: Any
    ) -> Any:
        length = [sequence_length] if self._use_sequence_length else []
        given = states is not None
        if isinstance(inputs, symbol.Symbol):
            states = self.begin_state(func=symbol.zeros) if states is None else states
            outputs, last = super().__call__(inputs, _as_list(states), *length, **kwargs)
            return (outputs, last) if given else outputs
        if not isinstance(inputs, NDArray) or inputs.ndim != 3:
            what = f"an array of shape {inputs.shape}" if isinstance(inputs, NDArray) else type(inputs).__name__
            raise ArgumentError(
                f"{type(self).__name__} '{self.name}' takes NDArrays of layout {self._layout} (time, batch, channels: "
                f"T, N, C), and got {what}"
            )
        batch_size = inputs.shape[self._layout.index("N")]
        if not given:
            states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
        states = [states] if isinstance(states, NDArray) else list(states)
        check_states(self, inputs, states, self.state_info(batch_size))
        outputs, states = super().__call__(inputs, states, *length, **kwargs)
        return (outputs, states) if given else outputs

    def hybrid_forward(
        self, F: Any, inputs: NDArray, states: list[NDArray], sequence_length: NDArray | None = None, **params: NDArray
    ) -> tuple[NDArray, list[NDArray]]:
        if F is symbol:
            return self._as_symbols(inputs, states, sequence_length, params)
        weights = [
            Weights(**{kind: params[f"{direction}{layer}_{kind}"] for kind in self._kinds})
            for layer in range(self._num_layers)
            for direction in self._directions
        ]
        channels = weights[0].i2h_weight.shape[1]
        if inputs.shape[2] != channels:
            raise ArgumentError(
                f"{type(self).__name__} '{self.name}' takes inputs of {channels} channels, and got an array of shape "
                f"{inputs.shape}, which has {inputs.shape[2]}"
            )
        data = F.swapaxes(inputs, 0, 1) if self._layout == "NTC" else inputs
        outputs, last = recurrent(
            self._mode, data, states, weights, len(self._directions), self._dropout, sequence_length
        )
        return (F.swapaxes(outputs, 0, 1) if self._layout == "NTC" else outputs), last

    def _as_symbols(
        self, inputs: symbol.Symbol, states: list, sequence_length: symbol.Symbol | None, params: dict
    ) -> tuple[symbol.Symbol, list]:
        """The layer as MXNet's operator RNN, whose parameters are one vector: all weights, then all biases."""
        kinds = (
            [kind for kind in self._kinds if kind.endswith("weight")],
            [kind for kind in self._kinds if "bias" in kind],
        )
        parts = [
            params[f"{direction}{layer}_{kind}"].reshape(-1)
            for group in kinds
            for layer in range(self._num_layers)
            for direction in self._directions
            for kind in group
        ]
        data = symbol.swapaxes(inputs, 0, 1) if self._layout == "NTC" else inputs
        given = {} if sequence_length is None else {"sequence_length": sequence_length, "use_sequence_length": True}
        names = dict(zip(("state", "state_cell"), states, strict=False))
        outputs, *last = symbol.RNN(
            data, symbol._internal._rnn_param_concat(*parts, dim=0), state_size=self._hidden_size,
            num_layers=self._num_layers, bidirectional=len(self._directions) == 2, p=self._dropout, state_outputs=True,
            mode=self._mode, projection_size=self._projection_size, **names, **given,
        )  # fmt: skip
        return (symbol.swapaxes(outputs, 0, 1) if self._layout == "NTC" else outputs), last

    def __repr__(self) -> str:
        inputs = self.l0_i2h_weight.shape[1] or None
        parts = [f"{inputs} -> {self._hidden_size}", self._layout]
        parts += [f"num_layers={self._num_layers}"] * (self._num_layers != 1)
        parts += [f"dropout={self._dropout}"] * (self._dropout != 0) + ["bidirectional"] * (self._directions == "lr")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """As MXNet's files name them: by the cells that the layer stands for."""
        prefix += "." if prefix else ""
        names = {}
        for key, param in self._reg_params.items():
            place, kind = key.split("_", 1)
            cell = f"{place[1:]}.{place[0]}_cell" if self._directions == "lr" else place[1:]
            names[f"{prefix}_unfused.{cell}.{kind}"] = param
        return names

    def _unfuse(self) -> HybridSequentialRNNCell:
        """The same network as a stack of cells, which share the parameters."""
        if self._projection_size:
            raise NotImplementedError(f"{self.name}: a layer with projected states cannot be made into cells")
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        n = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [self._cell(f"{direction}{layer}_", n) for direction in self._directions]
                stack.add(BidirectionalCell(*cells) if len(cells) == 2 else cells[0])
                if self._dropout and layer != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                n = self._hidden_size * len(self._directions)
        return stack

    def _cell(self, prefix: str, input_size: int) -> basic_cell.RecurrentCell:
        arguments = {f"{kind}_initializer": self._initializers[kind] for kind in self._kinds}
        arguments |= {"input_size": input_size, "prefix": prefix}
        if self._mode == "lstm":
            return basic_cell.LSTMCell(self._hidden_size, **arguments)
        if self._mode == "gru":
            return basic_cell.GRUCell(self._hidden_size, **arguments)
        return basic_cell.RNNCell(self._hidden_size, activation=self._mode[4:], **arguments)


class RNN(_RNNLayer):
    """Layers of Elman's cells: `h' = activation(W_ih x + b_ih + W_hh h + b_hh)` (see `RNNCell`).

    Parameters
    ----------
    hidden_size: units of the state.
    num_layers: layers, each taking the outputs of the one before.
    activation: 'relu' or 'tanh'.
    layout: of inputs and outputs: 'TNC' (time, batch, channels) or 'NTC'.
    dropout: probability with which outputs of a layer, but the last, are 0 in training.
    bidirectional: whether each layer also takes the sequence backwards; outputs are put beside each other.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: first values.
    input_size: channels of the inputs; 0 for those of the first inputs.
    dtype: of the parameters.
    use_sequence_length: whether the layer is called with `sequence_length`.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        mode = f"rnn_{activation}"
        if mode not in GATES:
            raise ArgumentError(f"RNN: activation must be 'relu' or 'tanh', not {activation!r}")
        initializers = _by_kind(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        super().__init__(
            mode,
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype=dtype,
            **kwargs,
        )


class LSTM(_RNNLayer):
    """Layers of long short-term memory (see `LSTMCell`); states are h and c.

    With `projection_size`, h has so many units, a linear function of the hidden ones (Sak et al., 2014), whose matrix
    starts with `h2r_weight_initializer`. Other parameters as of `RNN`.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        if state_clip_min is not None or state_clip_max is not None or state_clip_nan:
            raise NotImplementedError("LSTM: states are not clipped here; use LSTMCell and clip between its steps")
        initializers = _by_kind(
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            h2r_weight_initializer,
        )
        super().__init__(
            "lstm", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, projection_size,
            dtype=dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        (h,) = super().state_info(batch_size)
        return [h, {**h, "shape": (*h["shape"][:2], self._hidden_size)}]


class GRU(_RNNLayer):
    """Layers of gated recurrent units (see `GRUCell`). Parameters as of `RNN`."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        initializers = _by_kind(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype=dtype,
            **kwargs,
        )


def _by_kind(*initializers: Any) -> dict[str, Any]:
    return dict(zip(Weights._fields, initializers, strict=False))
