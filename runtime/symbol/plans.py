"""Plans of a graph that is bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.plan.outputs import own_outputs
from runtime.plan.plans import Plans


class GraphPlans:
    """`compute(arrays)` gives the outputs, by operators. The arrays are mostly the same ones in all calls; those at the
    places `varying` have no gradients, and count as data. Calls are planned from the second one on."""

    def __init__(self, compute: Callable[[list[NDArray]], list[NDArray]], varying: Sequence[int]) -> None:
        self._compute, self._varying = compute, list(varying)
        self._plans = Plans()
        self._held: dict[int, _Held] = {}

    def __call__(self, arrays: list[NDArray]) -> list[NDArray]:
        places = self._varying or [0]
        if not (arrays and self._plans.pays):
            return own_outputs(self._compute(arrays), arrays)

        def function(*given: NDArray) -> list[NDArray]:
            handles = dict(zip(places, given, strict=True))
            return self._compute([handles.get(i, x) for i, x in enumerate(arrays)])

        held = [self._parameter(i, x) for i, x in enumerate(arrays) if i not in places]
        return self._plans(function, [arrays[i] for i in places], held)

    def _parameter(self, place: int, x: NDArray) -> _Held:
        """The array at a place: the same parameter as in the last call if it has the same memory."""
        held = self._held.get(place)
        if held is None or held.data()._data is not x._data:
            held = self._held[place] = _Held()
        held.hold(x)
        return held


class _Held:
    """An array as what `Plans` takes for a parameter, which is the same one as long as `_data` is."""

    def __init__(self) -> None:
        self._data: list[NDArray] = []

    def hold(self, x: NDArray) -> None:
        self._data[:] = [x]

    def data(self, ctx: Context | None = None) -> NDArray:
        return self._data[0]
