"""The one door to optgen: specs in, updates of parameters out."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from optgen import UpdateRule
    from optgen.arguments import Arguments
    from optgen.model import Optimizer as Spec
    from runtime.nd import NDArray

# optgen is imported where it is first needed, so that `import runtime` does not wait for a compiler.


def names() -> tuple[str, ...]:
    """The specs that come with optgen."""
    from optgen import specfiles

    return specfiles.available()


def read(spec: str | os.PathLike[str]) -> Spec:
    """The checked spec of a name, of the path of a `.opt` file, or of a spec's text (what has several lines)."""
    from optgen import Source, api, pipeline

    return pipeline.checked(Source("<text>", spec) if isinstance(spec, str) and "\n" in spec else api.read(spec))


def resolve(spec: Spec, values: Mapping[str, Any]) -> Arguments:
    """Constructor arguments, checked, with defaults filled in: `.values` of params and `.flags`, by name."""
    from optgen import arguments

    return arguments.resolve(spec, values)


def checked(spec: Spec, name: str, value: Any) -> Any:
    """A new value for the param `name`; TypeError or ValueError naming its interval if it cannot have it."""
    from optgen import arguments

    return arguments.check(spec, arguments.find(spec, name), value)


def load(spec: Spec, dtype: str, values: Mapping[str, Any]) -> UpdateRule:
    """The spec compiled for arrays of `dtype`, in the variant that `values` choose."""
    import optgen

    return optgen.load(spec, dtype, **values)


class Binding:
    """A rule bound to several parameters; calling it updates all of them in one native call.

    `states[i]` holds the state arrays of parameter i by name.
    """

    def __init__(
        self,
        rule: UpdateRule,
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        states: Sequence[dict[str, NDArray]],
    ) -> None:
        from optgen import State

        self._weights, self._grads, self._states = weights, grads, states
        self._counts = np.zeros(len(weights), np.int64)
        columns = {name: _memory(state[name] for state in states) for name in rule.state_names}
        self._step = rule.bind(_memory(weights), _memory(grads), State(columns, self._counts))
        self._sent: dict[str, Any] = {}

    def fits(self, weights: Sequence[NDArray], states: Sequence[dict[str, NDArray]]) -> bool:
        """Whether these are the very weights and states that are bound."""
        return all(map(operator.is_, self._weights, weights)) and all(map(operator.is_, self._states, states))

    def __call__(self, grads: Sequence[NDArray], counts: Sequence[int], values: Mapping[str, Any]) -> None:
        """One update.

        `counts[i]` updates were done on parameter i before; `values` are numbers, or lists of one for each parameter.
        """
        if not all(map(operator.is_, self._grads, grads)):
            self._step.rebind(_memory(grads))
            self._grads = grads
        self._counts[:] = counts
        sent = self._sent
        changed = {name: value for name, value in values.items() if name not in sent or sent[name] != value}
        self._step(**changed)
        sent |= changed


def _memory(arrays: Iterable[NDArray]) -> list[np.ndarray]:
    return [array._data for array in arrays]
