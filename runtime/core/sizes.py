"""Arrays that follow from sizes and other arguments of an operator, whatever the elements of its inputs are."""

from __future__ import annotations

import functools
import weakref
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
