"""The functions of `nd`, and NDArray's methods, made to cast what they are given, where a precision is chosen."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, did_you_mean
from runtime.contrib.amp import lists
from runtime.core.dtypes import element_type
from runtime.gluon.loss import classification
from runtime.ndarray import NDArray
from runtime.ndarray.methods import COMPARISONS, SYMBOLS

_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Casts:
    """What is cast to what: the type of 16 bits, and the names of operators by the precision that they compute in."""

    low: np.dtype
    low_ops: frozenset[str]
    full_ops: frozenset[str]
    conditional: Mapping[str, tuple[str, frozenset[Any]]]
    widest_ops: frozenset[str]

    def wanted(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> np.dtype | None:
        """The type that the floats among an operator's arguments are cast to; None: they are not."""
        if name in self.low_ops:
            return self.low
        if name in self.full_ops:
            return _FLOAT32
        if name in self.conditional:
            key, values = self.conditional[name]
            return _FLOAT32 if kwargs.get(key) in values else None
        if name in self.widest_ops:
            types = {x._data.dtype for x in _arrays((*args, *kwargs.values()))}
            return _FLOAT32 if {self.low, _FLOAT32} <= types else None
        return None

    def cast(self, x: Any, dtype: np.dtype) -> Any:
        """`x`, an array or a list of them, in `dtype` if it has one of both types."""
        if isinstance(x, (list, tuple)):
            return type(x)(self.cast(part, dtype) for part in x) if type(x) in (list, tuple) else x
        if isinstance(x, NDArray) and x._data.dtype != dtype and x._data.dtype in (self.low, _FLOAT32):
            return nd.amp_cast(x, dtype)
        return x


def casts(
    dtype: Any,
    low_ops: Iterable[str] | None = None,
    conditional: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    full_ops: Iterable[str] | None = None,
) -> Casts:
    """The casts of a type of 16 bits, with other lists than the usual ones where they are given.

    ArgumentError if an operator is in two of the lists that are given.
    """
    low = low_type(dtype)
    low_ops, full_ops = (None if x is None else list(x) for x in (low_ops, full_ops))
    conditional = None if conditional is None else list(conditional)
    given = Counter([*(low_ops or ()), *(full_ops or ()), *{name for name, _, _ in conditional or ()}])
    if twice := sorted(name for name, times in given.items() if times > 1):
        raise ArgumentError(f"amp: an operator has one precision, but {', '.join(twice)} are listed twice")
    usual_full = lists.FP32 + (lists.FP32_OF_BFLOAT16 if low.name == "bfloat16" else ())
    conditional = lists.CONDITIONAL_FP32 if conditional is None else conditional
    low_names = frozenset(lists.LP16[low.name] if low_ops is None else low_ops)
    made = Casts(
        low,
        low_names,
        frozenset(usual_full if full_ops is None else full_ops) - low_names,
        {name: (key, frozenset(values)) for name, key, values in conditional},
        frozenset(lists.WIDEST) - low_names,
    )
    for name in made.low_ops | made.full_ops | made.conditional.keys():
        if not callable(getattr(nd, name, None)):
            raise ArgumentError(f"amp: nd has no operator '{name}'{did_you_mean(name, nd.__all__)}")
    return made


def low_type(dtype: Any) -> np.dtype:
    """float16 or bfloat16; ArgumentError for anything else."""
    low = element_type(dtype)
    if low.name not in lists.LP16:
        raise ArgumentError(f"amp: target_dtype is 'float16' or 'bfloat16', not {dtype!r}")
    return low


def _arrays(values: Iterable[Any]) -> Iterator[NDArray]:
    for x in values:
        if isinstance(x, NDArray):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _arrays(x)


_everywhere: Casts | None = None
_here: ContextVar[Casts | None] = ContextVar("amp", default=None)
_wrapped: set[str] = set()


def everywhere(chosen: Casts) -> None:
    """Cast so from here on, in all threads."""
    global _everywhere
    _install(chosen)
    _everywhere = chosen


@contextmanager
def within(chosen: Casts) -> Iterator[None]:
    """`with within(chosen):` this thread casts so."""
    _install(chosen)
    token = _here.set(chosen)
    try:
        yield
    finally:
        _here.reset(token)


def _install(chosen: Casts) -> None:
    """Wrap the functions and methods of these names that are not wrapped yet."""
    names = chosen.low_ops | chosen.full_ops | chosen.conditional.keys() | chosen.widest_ops
    for name in sorted(names - _wrapped):
        own = getattr(nd, name)
        wrapped = _casting(own, name)
        places = [(nd, name), (NDArray, name), *((nd.linalg, key) for key in list(vars(nd.linalg)))]
        for place, key in places:
            if getattr(place, key, None) is own:
                setattr(place, key, wrapped)
    if not _wrapped:
        # The loss calls a kernel of its own in place of log_softmax and pick.
        classification.cross_entropy = _casting(classification.cross_entropy, "log_softmax")
        for name in (*SYMBOLS, *COMPARISONS):
            # x**y is no product: it is computed in float32, as `power` is
            of = "power" if name == "pow" else "add"
            for method in (f"__{name}__", f"__r{name}__"):
                if method in vars(NDArray):
                    setattr(NDArray, method, _casting(getattr(NDArray, method), of))
            if f"__i{name}__" in vars(NDArray):
                setattr(NDArray, f"__i{name}__", _in_place(getattr(NDArray, f"__i{name}__")))
    _wrapped.update(names)


def _casting(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = _here.get() or _everywhere
        dtype = None if chosen is None else chosen.wanted(name, args, kwargs)
        if dtype is None:
            return function(*args, **kwargs)
        cast = chosen.cast
        return function(
            *[cast(x, dtype) for x in args],
            **{key: x if key == "out" else cast(x, dtype) for key, x in kwargs.items()},
        )

    return call


def _in_place(function: Callable[[NDArray, Any], NDArray]) -> Callable[[NDArray, Any], NDArray]:
    """`x += y` keeps the type of x."""

    @functools.wraps(function)
    def call(self: NDArray, other: Any) -> NDArray:
        chosen = _here.get() or _everywhere
        return function(self, other if chosen is None else chosen.cast(other, self._data.dtype))

    return call
