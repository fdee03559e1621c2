"""Symbols from no symbols, and functions of `sym` that take symbols or numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.attribute import AttrScope
from runtime.base import ArgumentError
from runtime.initializer import Initializer
from runtime.symbol import _internal
from runtime.symbol.attributes import number_of_dtype, parse_shape, stored_key, text_of
from runtime.symbol.graph import Entry, Node
from runtime.symbol.storages import STORAGES
from runtime.symbol.symbol import Symbol


def Variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: str | Initializer | None = None,
    stype: str | None = None,
    profiler_scope: str | None = None,
    **kwargs: str,
) -> Symbol:
    """A variable: a place for an array. Shape and type, where given, help to infer those of others.

    `lr_mult`, `wd_mult` and `init` are what Module trains and initializes its array with. Other attributes are named
    `__like_this__`.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable must be a string, not {type(name).__name__}")
    texts = {stored_key(key): text_of(value) for key, value in AttrScope.current.get(dict(attr or {})).items()}
    for key, value in {
        "shape": shape,
        "lr_mult": lr_mult,
        "wd_mult": wd_mult,
        "profiler_scope": profiler_scope,
    }.items():
        if value is not None:
            texts[f"__{key}__"] = str(tuple(value) if isinstance(value, list) else value)
    if shape is not None:
        try:
            parse_shape(texts["__shape__"])
        except ValueError:
            raise TypeError(f"the shape of '{name}' must be a tuple of integers, not {shape!r}") from None
    if dtype is not None:
        texts["__dtype__"] = number_of_dtype(dtype)
    if init is not None:
        texts["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        if stype not in STORAGES.values():
            raise ArgumentError(f"Variable: stype is {', '.join(map(repr, STORAGES.values()))}, not {stype!r}")
        texts["__storage_type__"] = next(number for number, kind in STORAGES.items() if kind == stype)
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(f"Variable has no argument '{key}'; attributes of one's own are named __{key}__")
        texts[key] = str(value)
    return Symbol([Entry(Node(None, name, texts))])


var = Variable


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Zeros of `shape`."""
    return _internal._zeros(shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones of `shape`."""
    return _internal._ones(shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """`val` in each place of `shape`."""
    return _internal._full(shape=shape, dtype=dtype or "float32", value=float(val), **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Numbers from `start` to before `stop` (from 0 to before `start` without one), each `repeat` times."""
    return _internal._arange(
        start=start, stop=stop, step=step, repeat=repeat, infer_range=infer_range, name=name, dtype=dtype or "float32"
    )


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """`num` numbers from `start` to `stop`, or to before it."""
    return _internal._linspace(start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype or "float32")


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """N rows and M columns (0: N), of 0 but for ones on diagonal `k`."""
    return _internal._eye(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """The counts of values in bins, and the bins' edges: `bins` of one width within `range`, or edges in a symbol."""
    if isinstance(bins, Symbol):
        return _internal._histogram(data=a, bins=bins, **kwargs)
    if range is None:
        raise ValueError("histogram: a number of bins needs their range=")
    return _internal._histogram(data=a, bin_cnt=bins, range=range, **kwargs)


def split_v2(ary: Symbol, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Parts along an axis: so many, or those that begin at each of the indices."""
    if isinstance(indices_or_sections, int):
        given = {"indices": (), "sections": indices_or_sections}
    else:
        given = {"indices": [0, *indices_or_sections], "sections": 0}
    return _internal._split_v2(ary, axis=axis, squeeze_axis=squeeze_axis, **given)


# ---------------------------------------------------------------- of symbols or numbers


def _either(name: str, of_numbers: Callable[[float, float], float], doc: str) -> Callable[..., Any]:
    """A function of two, each a symbol or a number."""

    def call(left: Any, right: Any) -> Any:
        if isinstance(left, Symbol):
            return binary(name, left, right)
        if isinstance(right, Symbol):
            return binary(name, right, left, swapped=True)
        return of_numbers(left, right)

    call.__name__ = call.__qualname__ = name.lower()
    call.__doc__ = doc
    return call


def binary(name: str, x: Symbol, other: Any, swapped: bool = False) -> Symbol:
    """The operator called `_Plus` or the like of a symbol and another, or of a symbol and a number.

    `swapped` is whether the number stands to the left of the symbol.
    """
    if isinstance(other, Symbol):
        left, right = (other, x) if swapped else (x, other)
        return getattr(_internal, f"_{name}")(left, right)
    if not isinstance(other, (int, float)) and not hasattr(other, "__float__"):
        raise TypeError(f"a Symbol and {other!r:.40}, of type {type(other).__name__}, cannot be combined")
    reverse = "R" if swapped and name in _ORDERED else ""
    return getattr(_internal, f"_{reverse}{name}Scalar")(x, scalar=other)


_ORDERED = ("Minus", "Div", "Mod", "Power")
"""Operators that have another name where the number stands to the left."""

maximum = _either("Maximum", max, "The larger of two, element by element.")
minimum = _either("Minimum", min, "The smaller of two, element by element.")
hypot = _either("Hypot", lambda a, b: (a * a + b * b) ** 0.5, "The root of the sum of two squares.")
_power = _either("Power", lambda a, b: a**b, "The first to the power of the second.")


def power(base: Any, exp: Any) -> Any:
    """The first to the power of the second, each a symbol or a number."""
    return _power(base, exp)


pow = power
