"""Data sets: samples by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.ndarray import NDArray


class Dataset:
    """Something with a length, whose samples are had by number. Subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__(idx)")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__()")


class ArrayDataset(Dataset):
    """Sample i is the tuple of the i-th elements of several arrays; of one array, the element itself."""

    def __init__(self, *args: Sequence[Any]) -> None:
        if not args:
            raise ValueError("ArrayDataset needs at least one array")
        lengths = [len(a) for a in args]
        if len(set(lengths)) != 1:
            raise ValueError(f"ArrayDataset: arrays must have the same length, not {lengths}")
        # Labels one by one are numbers; they are faster had from NumPy.
        self._data = [a.asnumpy() if isinstance(a, NDArray) and a.ndim == 1 else a for a in args]

    def __getitem__(self, idx: int) -> Any:
        return self._data[0][idx] if len(self._data) == 1 else tuple(a[idx] for a in self._data)

    def __len__(self) -> int:
        return len(self._data[0])
