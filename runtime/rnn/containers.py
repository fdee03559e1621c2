"""Cells made of several cells: one after the other, or in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import symbol as sym
from runtime.base import ArgumentError
from runtime.rnn.base_cell import BaseRNNCell, Outputs, RNNParams, Weights, in_steps
from runtime.symbol import Symbol


class _Container(BaseRNNCell):
    """The base class of cells made of cells. Given `params`, the cells share these."""

    def __init__(self, params: RNNParams | None) -> None:
        self._cells: list[BaseRNNCell] = []
        super().__init__("", params)
        self._shares = params is not None

    def _take(self, cell: BaseRNNCell) -> None:
        if self._shares:
            if not cell._own_params:
                raise ArgumentError("variables are given to the container or to a cell in it, not to both")
            cell.params._params.update(self.params._params)
        self._params._params.update(cell.params._params)
        self._cells.append(cell)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> list[Symbol]:
        self._need_unmodified()
        return [state for cell in self._cells for state in cell.begin_state(func=func, **kwargs)]

    def _split(self, states: Sequence[Symbol]) -> list[Sequence[Symbol]]:
        """The states of each cell."""
        found, at = [], 0
        for cell in self._cells:
            n = len(cell.state_info)
            found.append(states[at : at + n])
            at += n
        return found

    def unpack_weights(self, args: Weights) -> Weights:
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: Weights) -> Weights:
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args


class SequentialRNNCell(_Container):
    """Cells one after the other, each with the outputs of the last one as its inputs."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Add a cell at the end."""
        self._take(cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        self._counter += 1
        following: list[Symbol] = []
        for cell, own in zip(self._cells, self._split(states), strict=True):
            inputs, new = cell(inputs, own)
            following.extend(new)
        return inputs, following

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        following: list[Any] = []
        for cell, own in zip(self._cells, self._split(states), strict=True):
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, new = cell.unroll(length, inputs, own, layout, merge)
            following.extend(new)
        return inputs, following


class BidirectionalCell(_Container):
    """A cell that goes forward in time and one that goes backward, whose outputs are put side by side."""

    steps = False

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._take(l_cell)
        self._take(r_cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise NotImplementedError("BidirectionalCell sees whole sequences: call unroll")

    def unroll(
        self,
        length: int,
        inputs: Outputs,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, list[Any]]:
        self.reset()
        steps = in_steps(length, inputs, layout)
        forward, backward = self._cells
        own = self._split(self.begin_state() if begin_state is None else begin_state)
        left, left_states = forward.unroll(length, steps, own[0], layout, merge_outputs)
        right, right_states = backward.unroll(length, steps[::-1], own[1], layout, merge_outputs)
        prefix, states = self._output_prefix, [left_states, right_states]
        if merge_outputs or (merge_outputs is None and isinstance(left, Symbol) and isinstance(right, Symbol)):
            turned = sym.reverse(right, axis=layout.find("T"))
            return sym.Concat(left, turned, dim=2, name=f"{prefix}out"), states
        pairs = zip(in_steps(length, left, layout), in_steps(length, right, layout)[::-1], strict=True)
        return [sym.Concat(a, b, dim=1, name=f"{prefix}t{i}") for i, (a, b) in enumerate(pairs)], states
