"""Plans of a graph that is bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.plan.plans import Plans


class GraphPlans:
    """`compute(arrays)` gives the outputs, by operators. The arrays are mostly the same ones in all calls; those at the
    places `varying` have no gradients, and count as data. Calls are planned from the second one on."""

    def __init__(self, compute: Callable[[list[NDArray]], list[NDArray]], varying: Sequence[int]) -> None:
        self._compute, self._varying = compute, list(varying)
        self._plans = Plans()

    def __call__(self, arrays: list[NDArray]) -> list[NDArray]:
        places = self._varying or [0]
        if not (arrays and self._plans.pays):
            return self._compute(arrays)

        def function(*given: NDArray) -> list[NDArray]:
            handles = dict(zip(places, given, strict=True))
            return self._compute([handles.get(i, x) for i, x in enumerate(arrays)])

        held = [_Held(x) for i, x in enumerate(arrays) if i not in places]
        return self._plans(function, [arrays[i] for i in places], held)


class _Held:
    """An array as what `Plans` takes for a parameter."""

    def __init__(self, x: NDArray) -> None:
        self._array, self._data = x, x._data

    def data(self, ctx: Context) -> NDArray:
        return self._array
