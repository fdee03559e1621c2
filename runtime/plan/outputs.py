"""What a hybridized block returns: arrays of their own, in calls without a plan as in calls with one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from optgen.loops.kernel import address
from runtime.ndarray.elementwise import identity
from runtime.ndarray.ndarray import NDArray

Range = tuple[int, int]
"""The first address of an array, and that behind it."""


def own_memory(arrays: Sequence[np.ndarray], taken: Sequence[NDArray]) -> list[np.ndarray]:
    """The arrays, with copies of those that share memory with an array in `taken`, or with one before them."""
    seen = [_range(x._data) for x in taken]
    return [np.copy(x) if _is_seen(x, seen) else x for x in arrays]


def own_outputs(result: Any, taken: Any) -> Any:
    """Arrays in nested lists, as operators have computed them, with recorded copies as in `own_memory`.

    `taken` are nested lists, too. Sparse arrays stay as they are.
    """
    if type(result) is NDArray and _is_new(result._data, taken):
        return result
    return _owned(result, [_range(x._data) for x in _flat(taken)])


def _is_new(x: Any, taken: Any) -> bool:
    """Whether it is known at a glance that an array shares no memory with those in `taken`, or in lists there: it is no
    view, and none of them is it or a view of it. (The base of a view of a view is the array that has the memory.)"""
    if type(x) is not np.ndarray or x.base is not None:
        return False
    for part in taken:
        for y in part if type(part) is list else (part,):
            if type(y) is not NDArray or type(y._data) is not np.ndarray or y._data is x or y._data.base is x:
                return False
    return True


def _flat(nested: Any) -> Iterator[NDArray]:
    if isinstance(nested, (list, tuple)):
        for part in nested:
            yield from _flat(part)
    elif type(nested) is NDArray:
        yield nested


def _owned(result: Any, seen: list[Range]) -> Any:
    if type(result) in (list, tuple):
        return type(result)([_owned(part, seen) for part in result])
    return identity(result) if type(result) is NDArray and _is_seen(result._data, seen) else result


def _is_seen(x: Any, seen: list[Range]) -> bool:
    """Whether memory was seen before; then it has been."""
    start, stop = _range(x)
    if any(begin < stop and start < end for begin, end in seen):
        return True
    seen.append((start, stop))
    return False


def _range(x: Any) -> Range:
    """Of an array of NumPy, or of CuPy, which has it from `data`."""
    start = address(x) if isinstance(x, np.ndarray) else x.data.ptr
    return start, start + x.nbytes
