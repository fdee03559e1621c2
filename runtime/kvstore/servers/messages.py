"""What travels between workers and servers: dicts of what JSON can hold, beside lists of NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.context import cpu
from runtime.core.dtypes import element_type
from runtime.kvstore.compression import GradientCompression
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray

Message = dict[str, Any]
Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Place:
    """What is known of a key, and where it lies: shard s has its elements [cuts[s], cuts[s + 1]), in C order."""

    shape: tuple[int, ...]
    dtype: str
    stype: str
    cuts: tuple[int, ...]

    def part(self, shard: int) -> slice:
        """The elements that a shard has."""
        return slice(self.cuts[shard], self.cuts[shard + 1])

    @property
    def owners(self) -> list[int]:
        """The shards that have elements of the key; the first one for a key without any."""
        found = [s for s in range(len(self.cuts) - 1) if self.cuts[s + 1] > self.cuts[s]]
        return found or [0]

    @property
    def is_cut(self) -> bool:
        return len(self.owners) > 1

    def shape_on(self, shard: int) -> tuple[int, ...]:
        """Of the array that a shard has: one-dimensional where the key is cut."""
        part = self.part(shard)
        return (part.stop - part.start,) if self.is_cut else self.shape

    def dump(self) -> list[Any]:
        """For JSON; `load` reads it."""
        return [list(self.shape), self.dtype, self.stype, list(self.cuts)]

    @staticmethod
    def load(content: Sequence[Any]) -> Place:
        shape, dtype, stype, cuts = content
        return Place(tuple(shape), dtype, stype, tuple(cuts))


# ---------------------------------------------------------------- arrays


@functools.cache
def _name(dtype: np.dtype) -> str:
    return dtype.name  # which NumPy puts together anew each time


def raw(array: np.ndarray) -> np.ndarray:
    """The elements in memory of their own, in order, as a type that NumPy itself has."""
    array = np.ascontiguousarray(array)
    return array.view(np.uint16) if _name(array.dtype) == "bfloat16" else array


def put(value: NDArray, part: slice | None, arrays: Arrays) -> list[str]:
    """Append a value, or a part of the elements of a dense one, to a message. `take`, given what is returned, reads it.

    Nothing is copied but what is on a GPU or not in order.
    """
    if not value.context.on_cpu:
        value = value.as_in_context(cpu())
    if isinstance(value, RowSparseNDArray):
        arrays += [raw(value._rows), value._indices]
        return ["rows", _name(value._rows.dtype)]
    data = value._data if part is None else np.ascontiguousarray(value._data).reshape(-1)[part]
    arrays.append(raw(data))
    return ["dense", _name(data.dtype)]


def put_packed(
    words: np.ndarray, part: slice | None, compression: GradientCompression, dtype: np.dtype, arrays: Arrays
) -> list[Any]:
    """Append a compressed gradient, or the part of its elements that begins with a whole word."""
    if part is not None:
        begin = part.start // compression.per_word
        words = words[begin : begin + compression.words(part.stop - part.start)]
    arrays.append(words)
    return ["packed", _name(dtype), compression.type, compression.threshold]


def take(form: Sequence[Any], shape: tuple[int, ...], arrays: Iterator[np.ndarray]) -> NDArray:
    """The value that was put into a message: of this shape, over the memory of the message where that is possible."""
    kind, dtype = form[0], element_type(form[1])
    data = next(arrays)
    match kind:
        case "rows":
            indices = next(arrays).view(np.int64)
            return RowSparseNDArray(data.view(dtype).reshape(len(indices), *shape[1:]), indices, shape, cpu())
        case "packed":
            out = np.empty(shape, dtype)
            GradientCompression({"type": form[2], "threshold": form[3]}).unpack(data, out)
            return NDArray(out, cpu())
    return NDArray(data.view(dtype).reshape(shape), cpu())
