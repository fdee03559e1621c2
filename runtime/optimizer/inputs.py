"""The inputs of an optimizer: further arrays that its equations read, such as Sophia's estimate of a diagonal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from runtime.core import optgen_bridge

if TYPE_CHECKING:
    from runtime.context import Context
    from runtime.ndarray.ndarray import NDArray
    from runtime.optimizer.optimizer import Index


class Inputs:
    """The inputs of an optimizer by name, with an array of each for every parameter that was given one.

    The arrays are copies. One that is read in another context than it was given in is copied to that as well.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._arrays: dict[str, dict[Index, NDArray]] = {name: {} for name in names}
        self._elsewhere: dict[tuple[str, Index, Context], NDArray] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def arrays(self) -> Iterator[tuple[str, Index, NDArray]]:
        """Every array with the name of its input and the index of its parameter."""
        return ((name, i, array) for name, arrays in self._arrays.items() for i, array in arrays.items())

    def set(self, name: str, index: Index, array: NDArray) -> None:
        """Copy an array, into the memory of the last one of this parameter if that has its shape."""
        held = self._arrays[name]
        if index in held and held[index].shape == array.shape:
            held[index][:] = array
        else:
            held[index] = array.copy()
        for (other, i, _), copy in self._elsewhere.items():
            if (other, i) == (name, index):
                copy[:] = array

    def get(self, name: str, index: Index, context: Context) -> NDArray | None:
        """The array of a parameter, in the memory of a context; None if there is none."""
        given = self._arrays[name].get(index)
        if given is None or optgen_bridge.gpu_of(given.context) == optgen_bridge.gpu_of(context):
            return given
        place = name, index, context
        if place not in self._elsewhere:
            self._elsewhere[place] = given.as_in_context(context)
        return self._elsewhere[place]
