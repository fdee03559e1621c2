"""Cells around a cell, and dropout as a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import symbol as sym
from runtime.base import ArgumentError
from runtime.rnn.base_cell import BaseRNNCell, Outputs, RNNParams, Weights, in_steps, merged
from runtime.symbol import Symbol


class DropoutCell(BaseRNNCell):
    """Dropout of its input, with the probability `dropout`."""

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
            raise ArgumentError(f"dropout is a probability below 1, not {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        return (sym.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), list(states)

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        self.reset()
        if merge_outputs or (merge_outputs is None and isinstance(inputs, Symbol)):
            return self(merged(inputs, layout), [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base class of cells around a cell, whose weights and states they have."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> list[Symbol]:
        self._need_unmodified()
        return self._alone(lambda: self.base_cell.begin_state(func=func, **kwargs))

    def _alone(self, call: Callable[[], Any]) -> Any:
        """Call a method of the cell as if nothing were around it."""
        self.base_cell._modified = False
        try:
            return call()
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Weights) -> Weights:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Weights) -> Weights:
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """A cell some of whose outputs and states, drawn at each step, stay what they were (Krueger et al. 2016)."""

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if not base_cell.steps:
            raise ArgumentError(f"{type(base_cell).__name__} makes no single steps: use zoneout on the cells inside")
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def reset(self) -> None:
        super().reset()
        self.base_cell.reset()
        self._last: Symbol | None = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        output, new_states = self.base_cell(inputs, states)
        last = sym.zeros((0, 0)) if self._last is None else self._last
        self._last = output = _mixed(output, last, self.zoneout_outputs)
        kept = [_mixed(new, old, self.zoneout_states) for new, old in zip(new_states, states, strict=True)]
        return output, kept


def _mixed(new: Symbol, old: Symbol, p: float) -> Symbol:
    """The old values with the probability p, else the new ones."""
    return sym.where(sym.Dropout(sym.ones_like(new), p=p), new, old) if p else new


class ResidualCell(ModifierCell):
    """A cell whose input is added to its output (Wu et al. 2016)."""

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        output, states = self.base_cell(inputs, states)
        return _sum(output, inputs), list(states)

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        self.reset()
        outputs, states = self._alone(lambda: self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs))
        if isinstance(outputs, Symbol):
            return _sum(outputs, merged(inputs, layout)), states
        return [_sum(y, x) for y, x in zip(outputs, in_steps(length, inputs, layout), strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
