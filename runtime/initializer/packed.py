"""The initializer of parameters that hold all weights of a recurrent network."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.base import ArgumentError, did_you_mean
from runtime.initializer.base import InitDesc, Initializer, create, register
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.rnn.stacked import Weights, shapes_of_weights, unpacked

_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


@register
class FusedRNN(Initializer):
    """The vector that `nd.RNN` takes as `parameters`.

    Parameters
    ----------
    init: an initializer, or its name, for the weights and biases of each gate, which are called `l0_i2h_f_weight` and
        the like (`r0` backward); None for the one that the network is initialized with.
    num_hidden, num_layers, mode, bidirectional: as `state_size` and so on of `nd.RNN`.
    forget_bias: what both biases of the forget gate of an LSTM are.
    """

    def __init__(
        self,
        init: str | Initializer | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if mode not in _GATES:
            raise ArgumentError(f"FusedRNN: unknown mode '{mode}'{did_you_mean(str(mode), _GATES)}")
        self._init = None if init is None else create(init)
        super().__init__(
            init=self._init and self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._hidden, self._layers, self._mode, self._forget_bias = num_hidden, num_layers, mode, forget_bias
        self._directions = 2 if bidirectional else 1

    def _init_weight(self, name: str, arr: NDArray) -> None:
        init = self._init or getattr(name, "global_init", None)
        if init is None:
            raise ArgumentError(f"FusedRNN needs init= for '{name}': no other initializer is given")
        for part, view in self.parts(name, arr):
            if self._mode == "lstm" and part.endswith("_f_bias"):
                view[:] = self._forget_bias
            else:
                init(InitDesc(part), view)

    @property
    def gates(self) -> tuple[str, ...]:
        """What is added to the names of weights for each gate."""
        return _GATES[self._mode]

    def size(self, inputs: int) -> int:
        """The number of elements of the vector, for so many inputs of the first layer."""
        hidden, directions = self._hidden, self._directions
        further = (self._layers - 1) * (hidden * directions + hidden + 2)
        return len(self.gates) * hidden * directions * (inputs + hidden + 2 + further)

    def parts(self, name: str, arr: NDArray) -> Iterator[tuple[str, NDArray]]:
        """The weights and biases of each gate, by name, as views of the vector."""
        gates, hidden, directions = self.gates, self._hidden, self._directions
        rows = len(gates) * hidden * directions
        inputs = (arr.size - self.size(0)) // rows
        if arr.ndim != 1 or inputs < 1 or arr.size % rows:
            raise ArgumentError(f"FusedRNN: '{name}' of shape {arr.shape} is no vector of the weights of {self!r}")
        shapes = list(shapes_of_weights(len(gates), inputs, hidden, None, self._layers, directions))
        for k, weights in enumerate(unpacked(arr, shapes)):
            for field, w in zip(Weights._fields, weights[:4], strict=False):
                source, kind = field.split("_")
                for i, gate in enumerate(gates):
                    yield (
                        f"{'lr'[k % directions]}{k // directions}_{source}{gate}_{kind}",
                        w[i * hidden : (i + 1) * hidden],
                    )
