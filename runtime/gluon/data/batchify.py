"""Functions that make a batch of samples, for `DataLoader(batchify_fn=...)`.

batchify_fn=batchify.Group(batchify.Pad(), batchify.Stack())   # texts of several lengths, and their labels
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context, cpu
from runtime.core.backend import device_scope
from runtime.core.dtypes import element_type
from runtime.ndarray import NDArray


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Samples as one array with an axis more, in front; samples that are tuples, as a list of such arrays."""
    if isinstance(data[0], tuple):
        return [default_batchify_fn(column) for column in zip(*data, strict=True)]
    return Stack()(data)


default_mp_batchify_fn = default_batchify_fn


class Stack:
    """Samples of one shape, stacked along a new first axis."""

    def __call__(self, data: Sequence[Any]) -> NDArray:
        arrays = _arrays(data)
        if len({a.shape for a in arrays}) > 1:
            raise ArgumentError(
                f"samples have different shapes, {_shapes(arrays)}, and make no batch: bring them to one shape, or "
                "give the DataLoader batchify_fn=batchify.Pad() (of pairs, batchify.Group(Pad(), Stack()))"
            )
        with device_scope(_home(data)):
            return _placed(np.stack(arrays), data)


class Pad:
    """Samples as one array, each filled up with `val` to the longest along each axis.

    `dtype` is that of the array, by default the samples'. With `ret_length`, the length of each sample along `axis`
    comes as a second array, of int32.
    """

    def __init__(self, axis: int = 0, val: float = 0, ret_length: bool = False, dtype: Any = None) -> None:
        self._axis = axis
        self._val = val
        self._ret_length = ret_length
        self._dtype = dtype

    def __call__(self, data: Sequence[Any]) -> Any:
        arrays = _arrays(data)
        if len({a.ndim for a in arrays}) > 1:
            raise MXNetError(f"Pad: samples have different numbers of axes, {_shapes(arrays)}")
        shape = np.max([a.shape for a in arrays], axis=0)
        with device_scope(_home(data)):
            padded = np.full_like(arrays[0], self._val, shape=(len(arrays), *shape.tolist()))
            for row, a in zip(padded, arrays, strict=True):
                row[tuple(map(slice, a.shape))] = a
            batch = _placed(padded if self._dtype is None else padded.astype(element_type(self._dtype)), data)
        if not self._ret_length:
            return batch
        lengths = np.array([a.shape[self._axis] for a in arrays], np.int32)
        return batch, nd.array(lengths, batch.context, np.int32)


class Group:
    """Samples that are tuples: each element has a function of its own."""

    def __init__(self, *fn: Callable[[Sequence[Any]], Any]) -> None:
        self._functions = fn[0] if len(fn) == 1 and isinstance(fn[0], (list, tuple)) else fn

    def __call__(self, data: Sequence[Sequence[Any]]) -> list[Any]:
        if any(len(sample) != len(self._functions) for sample in data):
            raise MXNetError(f"Group: {len(self._functions)} functions, but a sample has {len(data[0])} elements")
        return [fn(column) for fn, column in zip(self._functions, zip(*data, strict=True), strict=True)]


class AsList:
    """Samples as they are, in a list."""

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        return list(data)


def _arrays(data: Sequence[Any]) -> list[np.ndarray]:
    return [x._data if isinstance(x, NDArray) else np.asarray(x) for x in data]


def _home(data: Sequence[Any]) -> Context:
    """The context of the samples."""
    return data[0].context if isinstance(data[0], NDArray) else cpu()


def _placed(batch: np.ndarray, data: Sequence[Any]) -> NDArray:
    """The batch in the type it has, where its samples are; of samples that are no NDArrays, in the current context."""
    return NDArray(batch, data[0].context) if isinstance(data[0], NDArray) else nd.array(batch, None, batch.dtype)


def _shapes(arrays: Sequence[np.ndarray]) -> str:
    return ", ".join(map(str, sorted({a.shape for a in arrays})))
