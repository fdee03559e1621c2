"""Optimizer states, one for each parameter, made when its first gradient comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.context import Context
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.updates.sums import total
from runtime.optimizer import state_trees, states
from runtime.optimizer.optimizer import Index, Optimizer, device_number

Columns = tuple[Sequence[Index], Sequence[NDArray], Sequence[NDArray], Sequence[Any]]
"""Indices, weights, gradients and states."""


class Updater:
    """Applies an optimizer: `updater(index, grad, weight)`, or lists of the three. `states` are by index.

    With `donate_grads`, gradients are donated: an optimizer made of a spec may use their memory.
    """

    def __init__(self, optimizer: Optimizer, *, donate_grads: bool = False) -> None:
        self.optimizer = optimizer
        self._donates = donate_grads
        self.states: dict[Index, Any] = {}
        self.states_synced: dict[Index, bool] = {}  # False: not yet as this weight and this optimizer need them
        self._device = 0  # where the weights are

    def __call__(
        self,
        index: Index | Sequence[Index],
        grad: NDArray | Sequence[NDArray | list[NDArray]],
        weight: NDArray | Sequence[NDArray],
    ) -> None:
        """Update one parameter, or several; in place of a gradient there may be a list of several, whose sum is it."""
        several = isinstance(index, (list, tuple))
        indices, grads, weights = (index, grad, weight) if several else ([index], [grad], [weight])
        if not indices:
            return
        self._device = device_number(weights[0]._ctx)
        if self._device != self.optimizer._device:
            self.optimizer._set_current_context(self._device)
        if self._donates != self.optimizer.donates_grads:  # which several updaters may share
            self.optimizer.donates_grads = self._donates
        if not all(map(self.states_synced.get, indices)):
            self.prepare(indices, weights)
        update, chunk = self.optimizer.update_multi_precision, self.optimizer.aggregate_num
        if not self.optimizer.sums_gradients:
            grads = [total(g, w.context) if isinstance(g, list) else g for g, w in zip(grads, weights, strict=True)]
        rows = (indices, weights, grads, list(map(self.states.__getitem__, indices)))
        if chunk == 0:
            self._one_by_one(rows)
            return
        if self.optimizer.pieces and any(map(self._is_elsewhere, indices)):
            self.optimizer._update_count(list(filter(self._is_elsewhere, indices)))
            rows = tuple(zip(*(row for row in zip(*rows, strict=True) if not self._is_elsewhere(row[0])), strict=True))
        for group in _by_type(rows) if rows else ():
            count = len(group[0])
            if count <= chunk:
                update(*group)
            else:
                for start in range(0, count, chunk):
                    update(*(column[start : start + chunk] for column in group))

    def _one_by_one(self, rows: Columns) -> None:
        """Update what is here of parameters that are not cut; the others are counted alike on every owner."""
        for index, weight, grad, state in zip(*rows, strict=True):
            if self._is_elsewhere(index):
                self.optimizer._update_count(index)
            else:
                self.optimizer.update_multi_precision(index, weight, grad, state)

    def _is_elsewhere(self, index: Index) -> bool:
        """Whether a parameter is updated by another owner, as an optimizer written by hand has no pieces."""
        return index in self.optimizer.pieces and not self.optimizer.sums_gradients

    def prepare(self, indices: Sequence[Index], weights: Sequence[NDArray]) -> None:
        """Make the states of these parameters, or what was loaded fit for them; MXNetError where it does not."""
        for i, weight in zip(indices, weights, strict=True):
            if self.states_synced.get(i):
                continue
            if self._is_elsewhere(i):
                self.states[i] = None
            elif i in self.states:
                saved = state_trees.joined(self.states[i], self.optimizer)
                self.states[i] = state_trees.converted(saved, self.optimizer, i, weight)
            else:
                self.states[i] = self.optimizer.create_state_multi_precision(i, weight)
            self.states_synced[i] = True

    def evaluate(self, indices: Sequence[Index], weights: Sequence[NDArray]) -> list[NDArray]:
        """The optimizer's `evaluate` of these; of parameters that were never updated, the weights themselves."""
        self.optimizer._set_current_context(self._device)
        found = dict(zip(indices, weights, strict=True))
        known = [i for i in indices if i in self.states]
        held = [found[i] for i in known]
        self.prepare(known, held)
        for ids, group, _, state in _by_type((known, held, held, [self.states[i] for i in known])):
            found.update(zip(ids, self.optimizer.evaluate(ids, group, state), strict=True))
        return list(found.values())

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """The state with its arrays in `context`."""
        return state_trees.mapped(lambda array: array.as_in_context(context), state)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states and update counts, as a safetensors file; with `dump_optimizer`, the hyper-parameters, too."""
        self.optimizer._set_current_context(self._device)
        return states.dumps(self.optimizer, self.states, dump_optimizer)

    def set_states(self, states_: bytes) -> None:
        """Take what `get_states` gave, from any storage and element type; it is converted when it is next used.

        Raises MXNetError, with nothing changed, for anything that `get_states` did not write in whole, and for the
        states of another optimizer.
        """
        states.restore([self], states_, [{}])


def _by_type(columns: Columns) -> list[Columns]:
    """The rows of the columns in groups of one element type of weights."""
    types = [weight.dtype for weight in columns[1]]
    if types and types.count(types[0]) == len(types):
        return [columns]
    distinct = dict.fromkeys(types)
    rows = list(zip(types, *columns, strict=True))
    return [tuple(zip(*(row[1:] for row in rows if row[0] == dtype), strict=True)) for dtype in distinct]


def get_updater(optimizer: Optimizer) -> Updater:
    """An Updater for `optimizer`."""
    return Updater(optimizer)
