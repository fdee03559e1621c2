"""Arrays that follow from sizes, kept for the next call with the same sizes."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from runtime.core.sizes import of_sizes

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
