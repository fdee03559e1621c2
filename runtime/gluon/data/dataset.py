"""Datasets: samples by index."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from runtime import base
from runtime.base import ArgumentError
from runtime.gluon.data.sampler import Sampler
from runtime.ndarray import NDArray
from runtime.recordio import MXIndexedRecordIO


class Dataset:
    """A sequence of samples. Subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__(idx)")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__()")

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """The samples for which `fn(sample)` holds; each is looked at once, now."""
        return _Chosen(self, [i for i in range(len(self)) if fn(self[i])])

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of `num_shards` consecutive parts, whose lengths differ by at most one, longer ones first."""
        num_shards, index = base.count("num_shards", num_shards), base.count("index", index, 0)
        if index >= num_shards:
            raise ValueError(f"index must be from 0 to {num_shards - 1}, not {index}")
        length, longer = divmod(len(self), num_shards)
        start = length * index + min(index, longer)
        return _Chosen(self, range(start, start + length + (index < longer)))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all, if there are not so many, or for None."""
        return _Chosen(self, range(len(self))[: None if count is None else base.count("count", count, 0)])

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples whose numbers `sampler` gives, in its order, drawn once, now."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sample takes a gluon.data.Sampler, not {type(sampler).__name__}")
        return _Chosen(self, list(sampler))

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """The results of `fn(sample)`, or of `fn(*sample)` where samples are tuples.

        With `lazy`, `fn` is called each time a sample is asked for; otherwise once for all, now.
        """
        changed = _Transformed(self, fn)
        return changed if lazy else SimpleDataset([changed[i] for i in range(len(changed))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """The samples with their first element, the data beside a label, changed by `fn`; see `transform`."""
        return self.transform(_First(fn), lazy)


class SimpleDataset(Dataset):
    """The elements of a list, an array or anything else with numbered elements and a length."""

    def __init__(self, data: Sequence[Any]) -> None:
        self._data = data

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]

    def __len__(self) -> int:
        return len(self._data)


class ArrayDataset(Dataset):
    """Sample i is the tuple of the i-th elements of several arrays; of one array, the element itself."""

    def __init__(self, *args: Sequence[Any]) -> None:
        if not args:
            raise ArgumentError("ArrayDataset needs at least one array")
        lengths = [len(a) for a in args]
        if len(set(lengths)) != 1:
            raise ArgumentError(f"ArrayDataset: arrays must have the same length, not {lengths}")
        # Labels are read one by one, which NumPy does faster.
        self._data = [a.asnumpy() if isinstance(a, NDArray) and a.ndim == 1 else a for a in args]

    def __getitem__(self, idx: int) -> Any:
        return self._data[0][idx] if len(self._data) == 1 else tuple(a[idx] for a in self._data)

    def __len__(self) -> int:
        return len(self._data[0])


class RecordFileDataset(Dataset):
    """The records, as bytes, of a file `x.rec` with its index `x.idx`; see `runtime.recordio`."""

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _Chosen(Dataset):
    """Some samples of another data set."""

    def __init__(self, dataset: Dataset, numbers: Sequence[int]) -> None:
        self._dataset = dataset
        self._numbers = numbers

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._numbers[idx]]

    def __len__(self) -> int:
        return len(self._numbers)


class _Transformed(Dataset):
    def __init__(self, dataset: Dataset, fn: Callable[..., Any]) -> None:
        self._dataset = dataset
        self._fn = fn

    def __getitem__(self, idx: int) -> Any:
        sample = self._dataset[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def __len__(self) -> int:
        return len(self._dataset)


class _First:
    """A function of a sample that applies `fn` to its first element. It is a class, so that it can be pickled for
    workers."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *rest: Any) -> Any:
        return (self._fn(x), *rest) if rest else self._fn(x)
