"""Arrays that follow from sizes and other arguments, whatever the elements of arrays are; kept for the next call with
the same sizes."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
Result = TypeVar("Result")
_made: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()
"""By their addresses as Python objects."""


def of_sizes(function: Callable[P, Result]) -> Callable[P, Result]:
    """Decorator: the arrays that the function makes, alone or in tuples, follow from sizes, types and attributes.

    Plans take such arrays for constants. Nobody changes them, and no argument follows from elements of an array.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        result = function(*args, **kwargs)
        _note(result)
        return result

    return call


def _note(result: Any) -> None:
    if isinstance(result, tuple):
        for part in result:
            _note(part)
    elif isinstance(result, np.ndarray):
        _made[id(root(result))] = root(result)


def is_of_sizes(x: np.ndarray) -> bool:
    """Whether a function `of_sizes` has made the array, or what it is a part of."""
    return _made.get(id(root(x))) is root(x)


def root(x: np.ndarray) -> np.ndarray:
    """The array that the memory of x was made as."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


# ---------------------------------------------------------------- kept

MAX_BYTES = 1 << 28
"""The most memory of all results together."""
MAX_RESULTS = 1024
"""The most results. Beyond either bound, those that were not used for the longest time are dropped."""

Tables = TypeVar("Tables", bound=tuple)
_kept: OrderedDict[Any, tuple] = OrderedDict()


def kept(function: Callable[..., Tables]) -> Callable[..., Tables]:
    """Decorator for functions whose results are tuples with arrays among them, which nobody changes.

    The bound is of bytes: the tables of large images are as large as these. There is no lock, which a fork
    could find taken: each access of `_kept` is one step for other threads.
    """
    made = of_sizes(function)

    @functools.wraps(function)
    def call(*sizes: Any) -> Tables:
        key = (function, *sizes)
        found: Any = _kept.get(key)
        if found is None:
            found = _kept[key] = made(*sizes)
            while len(_kept) > MAX_RESULTS or (len(_kept) > 1 and _nbytes() > MAX_BYTES):
                _kept.popitem(last=False)
        else:
            try:
                _kept.move_to_end(key)
            except KeyError:  # another thread has dropped it
                _kept[key] = found
        return found

    return call


def _nbytes() -> int:
    return sum(x.nbytes for tables in list(_kept.values()) for x in tables if isinstance(x, np.ndarray))
