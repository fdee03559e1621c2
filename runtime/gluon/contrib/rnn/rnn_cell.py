"""An LSTM cell with projected states, dropout with one mask for all steps, and unrolling over whole arrays."""

from __future__ import annotations

from typing import Any

from runtime import ndarray as nd
from runtime.base import MXNetError, count
from runtime.gluon.rnn import BidirectionalCell, ModifierCell, RecurrentCell
from runtime.gluon.rnn.basic_cell import States, _GatedCell
from runtime.gluon.rnn.sequences import Steps
from runtime.ndarray import NDArray
from runtime.ndarray.rnn.recurrent import lstm_step


class VariationalDropoutCell(ModifierCell):
    """Dropout around a cell, with masks that are drawn once for a sequence (Gal and Ghahramani, 2016).

    `drop_inputs`, `drop_states` (of the first state) and `drop_outputs` are probabilities; each has its own mask, which
    stays until `reset`.
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise MXNetError("VariationalDropoutCell: drop the states of the cells of the BidirectionalCell instead")
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        super().reset()
        self._masks: dict[str, NDArray] = {}

    def _dropped(self, F: Any, what: str, p: float, x: NDArray) -> NDArray:
        if not p:
            return x
        if what not in self._masks:
            self._masks[what] = F.Dropout(F.ones_like(x), p=p)
        return x * self._masks[what]

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States) -> tuple[NDArray, States]:
        states = [self._dropped(F, "states", self.drop_states, states[0]), *states[1:]]
        output, states = self.base_cell(self._dropped(F, "inputs", self.drop_inputs, inputs), states)
        return self._dropped(F, "outputs", self.drop_outputs, output), states

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """See `RecurrentCell.unroll`; the base cell is unrolled as a whole where its states are not dropped."""
        if self.drop_states or not isinstance(inputs, NDArray):
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        axes = (layout.index("T"),)
        inputs = nd.Dropout(inputs, p=self.drop_inputs, axes=axes)
        unroll = self.base_cell.unroll
        merge = True if self.drop_outputs or merge_outputs is None else merge_outputs
        outputs, states = self._unmodified(unroll, length, inputs, begin_state, layout, merge, valid_length)
        if self.drop_outputs:
            outputs = nd.Dropout(outputs, p=self.drop_outputs, axes=axes)
        return outputs, states


class LSTMPCell(_GatedCell):
    """An LSTM cell whose state is a linear function of its hidden units (Sak et al., 2014).

    `hidden_size` units are projected to `projection_size`, by a matrix that starts with `h2r_weight_initializer`. Other
    parameters as of `gluon.rnn.LSTMCell`.
    """

    mode = "lstm"

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        projection_size = count("LSTMPCell: projection_size", projection_size)
        matrices = (i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer)
        initializers = (*matrices, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, input_size, initializers, prefix, params, projection_size)
        self._projection_size = projection_size

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def _alias(self) -> str:
        return "lstmp"

    def __repr__(self) -> str:
        return super().__repr__()[:-1] + f" -> {self._projection_size})"

    def hybrid_forward(
        self, F: Any, inputs: NDArray, states: States, h2r_weight: NDArray, **params: NDArray
    ) -> tuple[NDArray, States]:
        r, c = states
        i2h, h2h = self._products(F, inputs, r, **params)
        hidden, c = lstm_step(F.split(i2h + h2h, num_outputs=4, axis=1), c, F.sigmoid, F.tanh)
        r = F.FullyConnected(hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True)
        r, c = self._named(r, "out"), self._named(c, "state")
        return r, [r, c]


def dynamic_unroll(
    cell: RecurrentCell,
    inputs: NDArray,
    begin_state: States,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: NDArray | None = None,
) -> tuple[NDArray, States]:
    """All steps of `inputs`, one array in `layout`: the outputs as one array, and the last states.

    With `valid_length`, (N,), outputs are 0 from there on and states those after the last step that counts. Along time,
    dropout shares one draw.
    """
    axis = layout.index("T")
    length = inputs.shape[axis]
    inputs = nd.Dropout(inputs, p=drop_inputs, axes=(axis,))
    states = [begin_state] if isinstance(begin_state, NDArray) else begin_state
    outputs, states = cell.unroll(length, inputs, states, layout, merge_outputs=True, valid_length=valid_length)
    return nd.Dropout(outputs, p=drop_outputs, axes=(axis,)), states
