"""Cells made of cells: one after the other, or one forwards and one backwards."""

from __future__ import annotations

from typing import Any

from runtime import ndarray as nd
from runtime.gluon.rnn.basic_cell import HybridRecurrentCell, RecurrentCell, States
from runtime.gluon.rnn.sequences import Steps, Whole, as_array, as_steps, masked, merged, operators, reverse
from runtime.ndarray import NDArray


class _Composite(RecurrentCell):
    """A cell whose states are those of its parts, one after the other."""

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, **kwargs: Any) -> States:
        self._check_not_modified()
        return [s for cell in self._children.values() for s in cell.begin_state(batch_size=batch_size, **kwargs)]

    def _shares(self, states: States) -> list[States]:
        """The states of each part."""
        rest = iter(states)
        return [[next(rest) for _ in cell.state_info()] for cell in self._children.values()]


class SequentialRNNCell(_Composite):
    """Cells stacked: each takes the outputs of the one before. `add` puts one on top."""

    def __repr__(self) -> str:  # MXNet does not indent the cells of a stack
        parts = [f"({i}): {cell!r}".replace("\n", "\n  ") for i, cell in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(parts) + "\n)"

    def add(self, cell: RecurrentCell) -> None:
        """Put `cell` on top."""
        self.register_child(cell)

    def forward(self, inputs: NDArray, states: States) -> tuple[NDArray, States]:
        new: States = []
        for cell, share in zip(self._children.values(), self._shares(states), strict=True):
            inputs, share = cell(inputs, share)
            new += share
        return inputs, new

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """All steps of the first cell, then all of the next; see `RecurrentCell.unroll`."""
        self.reset()
        shares = self._shares(self._states_for(inputs, layout, begin_state))
        last: States = []
        for i, (cell, share) in enumerate(zip(self._children.values(), shares, strict=True)):
            merge = merge_outputs if i == len(shares) - 1 else None
            inputs, share = cell.unroll(length, inputs, share, layout, merge, valid_length)
            last += share
        return inputs, last

    def __getitem__(self, i: int) -> RecurrentCell:
        return list(self._children.values())[i]

    def __len__(self) -> int:
        return len(self._children)


class HybridSequentialRNNCell(SequentialRNNCell, HybridRecurrentCell):
    """`SequentialRNNCell`, as a HybridBlock."""

    forward = SequentialRNNCell.forward


class BidirectionalCell(_Composite, HybridRecurrentCell):
    """Two cells, of which one takes the sequence forwards and one backwards; outputs are put beside each other.

    It has no single step: only `unroll`.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __repr__(self) -> str:
        l_cell, r_cell = self._children.values()
        return f"{type(self).__name__}(forward={l_cell}, backward={r_cell})"

    def forward(self, inputs: NDArray, states: States) -> Any:
        raise NotImplementedError("BidirectionalCell needs the whole sequence: use unroll")

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: States | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: NDArray | None = None,
    ) -> tuple[Steps, States]:
        """See `RecurrentCell.unroll`; backwards, a sequence begins at its last step that counts."""
        self.reset()
        left, right = self._shares(self._states_for(inputs, layout, begin_state))
        steps = as_steps(inputs, layout, length)
        l_cell, r_cell = self._children.values()
        forward, left = l_cell.unroll(length, steps, left, layout, merge_outputs, valid_length)
        backward, right = r_cell.unroll(length, reverse(steps, valid_length), right, layout, False, valid_length)
        backward = reverse(backward, valid_length)
        if isinstance(forward, Whole):
            outputs: Steps = self._joined(forward, as_array(backward, layout), 2, "out")
        else:
            pairs = enumerate(zip(forward, backward, strict=True))
            outputs = [self._joined(left, right, 1, f"t{i}") for i, (left, right) in pairs]
        if valid_length is not None:
            outputs = merged(masked(outputs, layout, valid_length), layout, merge_outputs)
        return outputs, left + right

    def _joined(self, left: NDArray, right: NDArray, axis: int, name: str) -> NDArray:
        """What both directions have, beside each other; the name is that of a symbol."""
        F = operators(left)
        names = {} if F is nd else {"name": self._output_prefix + name}
        return F.concat(left, right, dim=axis, **names)
