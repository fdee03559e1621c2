"""Cells that change what another cell takes or gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.gluon.parameter import ParameterDict
from runtime.gluon.rnn.basic_cell import HybridRecurrentCell, RecurrentCell, States
from runtime.gluon.rnn.sequences import Steps, Whole, as_array, as_steps, masked, merged, operators
from runtime.gluon.rnn.stacked_cell import BidirectionalCell
from runtime.ndarray import NDArray


class DropoutCell(HybridRecurrentCell):
    """Dropout between cells: in training, inputs are 0 with probability `rate`; along `axes` all share one draw."""

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, (int, float)):
            raise TypeError(f"DropoutCell: rate must be a number, not {rate!r}")
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States) -> tuple[NDArray, States]:
        return F.Dropout(inputs, p=self._rate, axes=self._axes), states

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """See `RecurrentCell.unroll`; one array is dropped from in one call."""
        self.reset()
        inputs = merged(inputs, layout, merge_outputs)
        if isinstance(inputs, Whole):
            return self.hybrid_forward(nd, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(HybridRecurrentCell):
    """The base class: a cell around `base_cell`, which is then not to be called by itself."""

    def __init__(self, base_cell: RecurrentCell) -> None:
        base_cell._check_not_modified()
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    def _alias(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} must define _alias")

    @property
    def params(self) -> ParameterDict:
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> States:
        self._check_not_modified()
        return self._unmodified(self.base_cell.begin_state, batch_size=batch_size, func=func, **kwargs)

    def _unmodified(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a method of the base cell as if it stood alone."""
        self.base_cell._modified = False
        try:
            return method(*args, **kwargs)
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Zoneout (Krueger et al., 2016): in training, outputs and states keep what they were with a probability."""

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "ZoneoutCell goes around single steps: put it around the cells of the BidirectionalCell"
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def __repr__(self) -> str:
        rates = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({rates}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        super().reset()
        self._prev_output: NDArray | None = None

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States) -> tuple[NDArray, States]:
        output, new_states = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            before = F.zeros_like(output) if self._prev_output is None else self._prev_output
            output = _mixed(F, self.zoneout_outputs, output, before)
        if self.zoneout_states:
            new_states = [_mixed(F, self.zoneout_states, *pair) for pair in zip(new_states, states, strict=True)]
        self._prev_output = output
        return output, new_states


def _mixed(F: Any, p: float, new: NDArray, old: NDArray) -> NDArray:
    """In training, each element is the old one with probability `p`."""
    return F.where(F.Dropout(F.ones_like(new), p=p), new, old)


class ResidualCell(ModifierCell):
    """The output of a cell plus its input (Wu et al., "Google's neural machine translation system", 2016)."""

    def _alias(self) -> str:
        return "residual"

    def hybrid_forward(self, F: Any, inputs: NDArray, states: States) -> tuple[NDArray, States]:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs), states

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """See `RecurrentCell.unroll`; inputs are added in one call where outputs are one array."""
        self.reset()
        unroll = self.base_cell.unroll
        outputs, states = self._unmodified(unroll, length, inputs, begin_state, layout, merge_outputs, valid_length)
        if valid_length is not None:
            inputs = masked(inputs, layout, valid_length)
        if isinstance(outputs, Whole):
            return operators(outputs).elemwise_add(outputs, as_array(inputs, layout)), states
        steps = as_steps(inputs, layout)
        return [operators(y).elemwise_add(y, x) for y, x in zip(outputs, steps, strict=True)], states
