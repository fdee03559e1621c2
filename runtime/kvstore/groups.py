"""Groups the values that users pass by key: one key or a list, with one value or several for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.base import ArgumentError
from runtime.kvstore.base import Key
from runtime.ndarray import NDArray

Groups = dict[Key, list[NDArray]]
"""All values of each key, keys in the order in which they came."""


def grouped(operation: str, key: Any, value: Any) -> Groups:
    """The values by key.

    `key` is a number or a name with an array or a list of arrays (one for each context) as its `value`, or a list of
    keys with a list of as many such values. A key may come several times.

    Raises ArgumentError, which names the operation and the key, for anything else.
    """
    groups: Groups = {}
    for k, array in _pairs(operation, key, value):
        groups.setdefault(k, []).append(array)
    if len({isinstance(k, str) for k in groups}) > 1:
        raise ArgumentError(f"{operation}: keys must be all numbers or all names, not both: {list(groups)}")
    return groups


def _pairs(operation: str, key: Any, value: Any) -> Iterator[tuple[Key, NDArray]]:
    if isinstance(key, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(key) != len(value):
            count = len(value) if isinstance(value, (list, tuple)) else f"a {type(value).__name__} instead of a list"
            raise ArgumentError(f"{operation}: {len(key)} keys {list(key)}, but {count} of values")
        for k, v in zip(key, value, strict=True):
            yield from _pairs(operation, k, v)
        return
    if not isinstance(key, (int, str)):
        raise ArgumentError(f"{operation}: a key is an int or a str, not {type(key).__name__}: {key!r}")
    arrays = value if isinstance(value, (list, tuple)) else [value]
    for array in arrays:
        if not isinstance(array, NDArray):
            raise ArgumentError(f"{operation}: the value of key {key!r} is no NDArray, but {type(array).__name__}")
        yield key, array
