"""What all recurrent cells do: variables for weights, first states, unrolling in time, weights by gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime import symbol as sym
from runtime.base import ArgumentError, MXNetError
from runtime.ndarray import NDArray
from runtime.symbol import Symbol

Weights = dict[str, NDArray]
Outputs = Symbol | list[Symbol]


class RNNParams:
    """The variables of cells that share them, by name. Names get a prefix."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable, which is made, with these arguments of `sym.Variable`, when it is first asked for."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = sym.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """A cell: from an input and states to an output and the next states.

    A subclass defines `state_info` and `__call__`, and `_gate_names` if its weights are those of several gates.

    Parameters
    ----------
    prefix: of the names of variables and operations.
    params: variables to share; by default the cell has its own.
    """

    steps = True
    """Whether it can be called for a single step."""
    _cells: Sequence[BaseRNNCell] = ()
    _num_hidden = 0

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Count steps from 0 again, as before another graph."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._cells:
            cell.reset()

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step: the output and the next states."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")

    @property
    def params(self) -> RNNParams:
        """The variables, from now on shared."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape, with 0 for the batch, and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        """What is added to the names of weights for each gate."""
        return ()

    def _step_name(self) -> str:
        """The beginning of the names of the next step's operations."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> list[Symbol]:
        """The states before the first step: `func` of shape, name and `kwargs`, zeros or for example `sym.Variable`."""
        self._need_unmodified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **(kwargs | info)))
        return states

    def _need_unmodified(self) -> None:
        if self._modified:
            raise MXNetError(f"{type(self).__name__} is inside of a modifier, as ZoneoutCell: call that one")

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """An activation by name, or a function, of a symbol; `kwargs` are a name and attributes."""
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)

    # ------------------------------------------------------------ weights by gate

    def unpack_weights(self, args: Weights) -> Weights:
        """The arrays with those of each gate, `i2h_f_weight` and the like, in place of those of all gates."""
        args, n = dict(args), self._num_hidden
        for key in self._packed() if self._gate_names else ():
            source, kind = key.rsplit("_", 1)
            whole = args.pop(key)
            for i, gate in enumerate(self._gate_names):
                args[f"{source}{gate}_{kind}"] = whole[i * n : (i + 1) * n].copy()
        return args

    def pack_weights(self, args: Weights) -> Weights:
        """The inverse of `unpack_weights`."""
        args = dict(args)
        for key in self._packed() if self._gate_names else ():
            source, kind = key.rsplit("_", 1)
            parts = [args.pop(f"{source}{gate}_{kind}") for gate in self._gate_names]
            args[key] = nd.concat(*parts, dim=0) if len(parts) > 1 else parts[0]
        return args

    def _packed(self) -> list[str]:
        """The names of the arrays of all gates."""
        return [f"{self._prefix}{source}_{kind}" for source in ("i2h", "h2h") for kind in ("weight", "bias")]

    # ------------------------------------------------------------ in time

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        """The outputs of `length` steps, and the last states.

        `inputs` is one symbol with the axis T of `layout`, or a list with one for each step. So are the outputs: one
        symbol if `merge_outputs`, else a list; None: whichever costs nothing.
        """
        self.reset()
        steps = in_steps(length, inputs, layout)
        states = list(self.begin_state() if begin_state is None else begin_state)
        outputs = []
        for x in steps:
            output, states = self(x, states)
            outputs.append(output)
        return (merged(outputs, layout) if merge_outputs else outputs), states


def in_steps(length: int, inputs: Outputs, layout: str) -> list[Symbol]:
    """The inputs of each step. ArgumentError unless there are `length` of them."""
    if isinstance(inputs, Symbol):
        if len(inputs) != 1:
            raise ArgumentError(f"unroll takes one symbol or a list of them, not a group of {len(inputs)}: list(group)")
        return list(sym.split(inputs, axis=layout.find("T"), num_outputs=length, squeeze_axis=1))
    if len(inputs) != length:
        raise ArgumentError(f"unroll has {len(inputs)} inputs for {length} steps")
    return list(inputs)


def merged(outputs: Outputs, layout: str) -> Symbol:
    """One symbol in place of those of steps, with their axis where T is."""
    if isinstance(outputs, Symbol):
        return outputs
    axis = layout.find("T")
    return sym.Concat(*[sym.expand_dims(y, axis=axis) for y in outputs], dim=axis)
