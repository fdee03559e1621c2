"""The arrays of a state, in the order of MXNet, and by the names of the spec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.ndarray.ndarray import NDArray


class NamedStates(tuple):
    """A tuple of arrays, in the order of the spec, whose entries are also reached by name: `state["m"]`.

    `shape` is that of the weight, which an array of codes that share bytes does not have.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]

    def __new__(cls, arrays: Iterable[NDArray], names: Iterable[str], shape: tuple[int, ...]) -> NamedStates:
        self = super().__new__(cls, arrays)
        self.names, self.shape = tuple(names), shape
        return self

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def __reduce__(self) -> tuple:
        """For copies and pickles."""
        return NamedStates, (tuple(self), self.names, self.shape)
