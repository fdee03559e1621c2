"""An update rule bound to arrays of the runtime: the native call that updates them."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.core.protocols import NDArray

if TYPE_CHECKING:
    from optgen import State, UpdateRule

    Gradient = NDArray | list[NDArray]


class Binding:
    """A rule bound to several parameters; calling it updates all of them in one native call.

    `states[i]` holds the state arrays of parameter i by name, its master as "w", and `given[i]` is the object, never to
    be changed, that they were taken from; `names[i]` is what errors call the parameter. In place of gradients there may
    be lists of several dense ones, as many for each, which are summed; lists that were bound must not be changed. With
    `donate_grads`, every call uses their memory. Other arguments go to the rule's `bind`.
    """

    def __init__(
        self,
        rule: UpdateRule,
        names: Sequence[str],
        weights: Sequence[NDArray],
        grads: Sequence[Gradient],
        states: Sequence[Mapping[str, NDArray]],
        seed: int,
        given: Sequence[Any],
        donate_grads: bool = False,
        **arguments: Any,
    ) -> None:
        self._names, self._donates = names, donate_grads
        self._weights = memory(weights)
        self._given, self._held = list(given), [array for state in states for array in state.values()]
        self._states = memory(self._held)
        self._grads, self._is_sparse, self._summed = grads, _any_sparse(grads), _summed(grads)
        self._counts = np.zeros(len(weights), np.int64)
        self._expected: list[int] = []  # what the counts will be after the next update, if none is made elsewhere
        self.sent: Any = None  # what the values follow from that were sent last; the caller's
        try:
            state = state_of(states, self._counts)
            self._step = rule.bind(self._weights, _gradients(grads), state, donate_grads=donate_grads, **arguments)
        except (TypeError, ValueError) as error:
            raise renamed(error, names) from None
        self._step.seed = seed

    def fits(
        self, weights: Sequence[NDArray], given: Sequence[Any], grads: Sequence[Gradient], donate_grads: bool = False
    ) -> bool:
        """Whether these are the very weights and states that are bound, and as many gradients of each."""
        return (
            donate_grads == self._donates
            and len(weights) == len(self._weights)
            and _summed(grads) == self._summed
            and all(map(operator.is_, map(_DATA, weights), self._weights))
            and all(map(operator.is_, given, self._given))
            and all(map(operator.is_, map(_DATA, self._held), self._states))
        )

    def __call__(
        self, grads: Sequence[Gradient], counts: list[int], values: Mapping[str, Any], phase: str | None = None
    ) -> None:
        """One update, or one phase of it. An ArithmeticError names a parameter without a factorization; nothing has
        changed then.

        `counts[i]` is how many there are of parameter i, this one included; `values` are those that may have changed:
        numbers, or lists of one for each parameter.
        """
        self._take(grads)
        if phase is not None and phase != self._step.phases[0]:
            self._counts[:] = counts
        elif counts != self._expected:
            self._counts[:] = counts
            self._counts -= 1
        try:
            if phase is None:
                self._step(**values)
            else:
                self._step.resume(phase, range(len(counts)))
                self._step.prepare(phase, **values)
                self._step.run()
        except ArithmeticError as error:
            raise renamed(error, self._names) from None
        self._expected = [count + 1 for count in counts]

    def _take(self, grads: Sequence[Gradient]) -> None:
        """Read the gradients from these; those of row-sparse ones are elsewhere at each step."""
        same = operator.is_ if self._summed == 1 else _same
        if not (self._is_sparse or self._donates) and all(map(same, self._grads, grads)):
            return
        try:
            self._step.rebind(_gradients(grads))
        except (TypeError, ValueError) as error:
            raise renamed(error, self._names) from None
        self._grads, self._is_sparse = grads, _any_sparse(grads)


_DATA = operator.attrgetter("_data")


def memory(arrays: Iterable[NDArray]) -> list[np.ndarray]:
    """The memory of arrays."""
    return list(map(_DATA, arrays))


def _same(a: list[NDArray], b: list[NDArray]) -> bool:
    return all(map(operator.is_, a, b))


def _any_sparse(grads: Iterable[Gradient]) -> bool:
    return any(not isinstance(g, list) and g.stype == "row_sparse" for g in grads)


def _summed(grads: Sequence[Gradient]) -> int:
    """How many gradients there are of each parameter."""
    return len(grads[0]) if isinstance(grads[0], list) else 1


def _gradients(grads: Iterable[Gradient]) -> list[Any]:
    import optgen

    def taken(g: Gradient) -> Any:
        if isinstance(g, list):
            return memory(g)
        return optgen.RowSparse(g._indices, g._rows) if g.stype == "row_sparse" else g._data

    return list(map(taken, grads))


def state_of(states: Sequence[Mapping[str, NDArray]], counts: np.ndarray) -> State:
    """The state of a rule, of the arrays of each parameter by name, and the update counts."""
    from optgen import State

    names = dict.fromkeys(name for state in states for name in state)
    return State({n: [state[n]._data if n in state else None for state in states] for n in names}, counts)


_PLACE = re.compile(r"\b(params|grads|state|inputs)(?:\['([\w.]+)'\])?\[(\d+)\](?:\.(indices|values))?")
_WORDS = {"params": "weight", "grads": "gradient", "state": "state", "inputs": "input"}


def renamed(error: Exception, names: Sequence[str]) -> Exception:
    """The error with `state['m'][1]` and its like put as "state 'm' of parameter 'dense0_bias'"."""

    def place(match: re.Match[str]) -> str:
        what, name, position, part = match.groups()
        words = [
            part and f"{part} of the",
            _WORDS[what],
            name and f"'{name}'",
            f"of parameter '{names[int(position)]}'",
        ]
        return " ".join(filter(None, words))

    return type(error)(_PLACE.sub(place, str(error)))
