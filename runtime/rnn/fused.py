"""All layers of a recurrent network in one operator, as a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import ndarray as nd
from runtime import symbol as sym
from runtime.initializer import FusedRNN
from runtime.rnn.base_cell import BaseRNNCell, Outputs, RNNParams, Weights, in_steps, merged
from runtime.rnn.cells import GRUCell, LSTMCell, RNNCell
from runtime.rnn.containers import BidirectionalCell, SequentialRNNCell
from runtime.rnn.modifiers import DropoutCell
from runtime.symbol import Symbol


class FusedRNNCell(BaseRNNCell):
    """The operator RNN: layers of `mode` 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru', which it computes as a whole.

    Its weights are one vector, `parameters`. Last states are returned with `get_next_state`.
    """

    steps = False

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._forget_bias = forget_bias
        self._initializer = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=self._initializer)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        shape = (self._num_layers * (2 if self._bidirectional else 1), 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return self._initializer.gates

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise NotImplementedError("FusedRNNCell sees whole sequences: call unroll")

    def unpack_weights(self, args: Weights) -> Weights:
        args = dict(args)
        name = f"{self._prefix}parameters"
        parts = self._initializer.parts(name, args.pop(name))
        return args | {f"{self._prefix}{part}": view.copy() for part, view in parts}

    def pack_weights(self, args: Weights) -> Weights:
        args = dict(args)
        name = f"{self._prefix}parameters"
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        vector = nd.zeros(self._initializer.size(first.shape[1]), ctx=first.context, dtype=first.dtype)
        for part, view in self._initializer.parts(name, vector):
            view[:] = args.pop(f"{self._prefix}{part}")
        return args | {name: vector}

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        self.reset()
        data, batch_first = merged(inputs, layout), layout.find("T") == 1
        if batch_first:
            data = sym.swapaxes(data, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        rnn = sym.RNN(
            data=data,
            parameters=self._parameter,
            **dict(zip(("state", "state_cell"), states, strict=False)),
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
        )
        outputs, following = (rnn[0], list(rnn[1:])) if self._get_next_state else (rnn, [])
        if batch_first:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return (in_steps(length, outputs, layout) if merge_outputs is False else outputs), following

    def unfuse(self) -> SequentialRNNCell:
        """A cell for each layer that computes the same, with the weights that `unpack_weights` gives."""
        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            cells = [self._single(f"{self._prefix}{way}{i}_") for way in ("lr" if self._bidirectional else "l")]
            output_prefix = f"{self._prefix}bi_l{i}_"
            stack.add(BidirectionalCell(*cells, output_prefix=output_prefix) if len(cells) == 2 else cells[0])
            if self._dropout > 0 and i < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack

    def _single(self, prefix: str) -> BaseRNNCell:
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix, forget_bias=self._forget_bias)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)
