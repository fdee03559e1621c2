"""Recurrent cells: one step of a network whose output goes into its next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime import symbol
from runtime.base import ArgumentError, count
from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.rnn.sequences import (
    Steps,
    as_steps,
    check_states,
    first_states,
    last_valid,
    masked,
    merged,
    operators,
    time_axis,
)
from runtime.name import NameManager
from runtime.ndarray import NDArray
from runtime.ndarray.rnn.recurrent import gru_step, lstm_step
from runtime.ndarray.rnn.stacked import GATES

States = list[NDArray]


class RecurrentCell(Block):
    """The base class: `cell(inputs, states)` is one step, and returns its output and the new states.

    `inputs` is (N, C); `states` is a list of arrays, the first from `begin_state`. A subclass defines `state_info` and
    `forward`.
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forget what was kept from step to step besides the states, before another sequence."""
        self._counter = -1  # the number of the step, in the names of symbols
        for cell in self._children.values():
            cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """What the states are: for each, its 'shape', and the meaning of the axes as '__layout__'."""
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> States:
        """The states before the first step, each made by `func(shape=..., **kwargs)`."""
        self._check_not_modified()
        return first_states(self.state_info(batch_size), f"{self.prefix}begin_state", func, kwargs)

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ArgumentError(f"{type(self).__name__} '{self.name}' is inside a modifier cell: use that one instead")

    def _states_for(self, inputs: Steps, layout: str, begin_state: States | None) -> States:
        """`begin_state`, or zeros beside the inputs."""
        if begin_state is not None:
            return begin_state
        time_axis(layout)  # which checks it
        if operators(inputs) is symbol:
            return self.begin_state(func=symbol.zeros)
        batched = isinstance(inputs, NDArray)
        first = inputs if batched else inputs[0]
        size = first.shape[layout.index("N") if batched else 0]
        return self.begin_state(batch_size=size, ctx=first.context, dtype=first.dtype)

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """`length` steps: the outputs of all, and the states after the last.

        Parameters
        ----------
        inputs: one array in `layout`, 'NTC' or 'TNC', or a list of (N, C).
        begin_state: None for zeros.
        merge_outputs: whether the outputs are one array or a list; None for whichever comes by itself.
        valid_length: (N,), how many steps of each sequence count: the outputs are 0 from there on, and the states are
            those after the last that counts.
        """
        self.reset()
        states = self._states_for(inputs, layout, begin_state)
        outputs, history = [], []
        for step in as_steps(inputs, layout, length):
            output, states = self(step, states)
            outputs.append(output)
            history.append(states)
        if valid_length is None:
            return merged(outputs, layout, merge_outputs), states
        states = [last_valid(steps, valid_length) for steps in zip(*history, strict=True)]
        return merged(masked(outputs, layout, valid_length), layout, merge_outputs), states

    def forward(self, inputs: NDArray, states: States) -> Any:
        self._counter += 1
        return super().forward(inputs, states)

    def _get_activation(self, F: Any, inputs: NDArray, activation: Any, **kwargs: Any) -> NDArray:
        """`activation`, a name or something to call, of `inputs`."""
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)

    def _named(self, x: NDArray, what: str) -> NDArray:
        """`x`; the operator that a symbol is the result of is called `what` of this step."""
        if not isinstance(x, symbol.Symbol):
            return x
        return x._renamed(NameManager.current.get(f"t{self._counter}_{what}", ""))


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell with `hybrid_forward(F, inputs, states, **params)`."""

    def _make_parameters(self, shapes: dict[str, tuple[int, ...]], initializers: Sequence[Any]) -> None:
        """A parameter, also an attribute, for each name; lengths of 0 or less come with the first batch."""
        for (name, shape), init in zip(shapes.items(), initializers, strict=True):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))


Function = Callable[[NDArray], NDArray]


class _GatedCell(HybridRecurrentCell):
    """A cell whose gates are one product with the inputs and one with the first state.

    `mode` is as in `nd.RNN`; `initializers` are for i2h weight, h2h weight, h2r weight where the state is projected to
    `state_size`, i2h bias and h2h bias.
    """

    mode: str

    def __init__(
        self,
        hidden_size: int,
        input_size: int,
        initializers: tuple[Any, ...],
        prefix: str | None,
        params: Any,
        state_size: int | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = count(f"{type(self).__name__}: hidden_size", hidden_size)
        self._input_size = count(f"{type(self).__name__}: input_size", input_size, -1)
        self._height = GATES[self.mode] * hidden_size
        shapes = {
            "i2h_weight": (self._height, input_size),
            "h2h_weight": (self._height, state_size or hidden_size),
            **({"h2r_weight": (state_size, hidden_size)} if state_size else {}),
            "i2h_bias": (self._height,),
            "h2h_bias": (self._height,),
        }
        self._make_parameters(shapes, initializers)

    def infer_shape(self, inputs: NDArray, *args: Any) -> None:
        self.i2h_weight.shape = (self._height, inputs.shape[-1])

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def forward(self, inputs: NDArray, states: States) -> Any:
        if isinstance(inputs, NDArray):
            check_states(self, inputs, states, self.state_info(inputs.shape[0]))
        return super().forward(inputs, states)

    def _alias(self) -> str:
        return self.mode

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.i2h_weight.shape[1] or None} -> {self._height})"

    def _products(
        self,
        F: Any,
        x: NDArray,
        h: NDArray,
        i2h_weight: NDArray,
        h2h_weight: NDArray,
        i2h_bias: NDArray,
        h2h_bias: NDArray,
    ) -> tuple[NDArray, NDArray]:
        n = self._height
        i2h = F.FullyConnected(x, i2h_weight, i2h_bias, num_hidden=n)
        h2h = F.FullyConnected(h, h2h_weight, h2h_bias, num_hidden=n)
        return self._named(i2h, "i2h"), self._named(h2h, "h2h")


class RNNCell(_GatedCell):
    """Elman's cell: `h' = activation(W_ih x + b_ih + W_hh h + b_hh)` (Elman, "Finding structure in time", 1990).

    Parameters
    ----------
    hidden_size: units of the state, which is also the output.
    activation: 'tanh', 'relu', another name `nd.Activation` knows, or something to call.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: first values.
    input_size: channels of the inputs; 0 for those of the first inputs.
    """

    mode = "rnn_tanh"

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, input_size, initializers, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def __repr__(self) -> str:
        return super().__repr__()[:-1] + f", {self._activation})"

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        i, h = self._products(F, inputs, states[0], **params)
        output = self._named(self._get_activation(F, i + h, self._activation), "out")
        return output, [output]


class LSTMCell(_GatedCell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), with forget gates.

    With `i, f, g, o` the four parts of `W_ih x + b_ih + W_hh h + b_hh`, `c' = s(f) c + s(i) a(g)` and
    `h' = s(o) a(c')`, where a is `activation` and s `recurrent_activation`. States are h and c; other parameters as of
    `RNNCell`.
    """

    mode = "lstm"

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, input_size, initializers, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return super().state_info(batch_size) * 2

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        h, c = states
        i, h = self._products(F, inputs, h, **params)
        h, c = lstm_step(
            F.split(i + h, num_outputs=4, axis=1),
            c,
            lambda x: self._get_activation(F, x, self._recurrent_activation),
            lambda x: self._get_activation(F, x, self._activation),
        )
        h, c = self._named(h, "out"), self._named(c, "state")
        return h, [h, c]


class GRUCell(_GatedCell):
    """Gated recurrent units (Cho et al., 2014), with the reset gate after the product, as in cuDNN.

    With `r, z, n` the three parts of the products, `r = sigmoid(r_x + r_h)`, `z = sigmoid(z_x + z_h)`,
    `n = tanh(n_x + r n_h)` and `h' = (1 - z) n + z h`. Parameters as of `RNNCell`.
    """

    mode = "gru"

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, input_size, initializers, prefix, params)

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States, **params: NDArray) -> tuple[NDArray, States]:
        (before,) = states
        i, h = self._products(F, inputs, before, **params)
        h = gru_step(*(F.split(x, num_outputs=3, axis=1) for x in (i, h)), before, F.sigmoid, F.tanh)
        h = self._named(h, "out")
        return h, [h]
