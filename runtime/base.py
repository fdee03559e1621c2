"""Errors, types of Python values, checks of counts, and suggestions for misspelt names."""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

__version__ = "1.9.1"
"""The version of MXNet whose interface this is; scripts compare it."""

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
mx_real_t = np.float32
"""The element type of arrays that are created without one."""
NDArrayHandle = ctypes.c_void_p
"""The type of MXNet's pointers to arrays, which modules import: `NDArray.handle`."""


class MXNetError(RuntimeError):
    """The base class of errors of operations on arrays and parameters. Code for MXNet catches it by this name."""


class ArgumentError(MXNetError, ValueError, AssertionError):
    """An argument with a wrong value. It derives from every class that MXNet raises for these, so that code that
    catches any of them works."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a wrong type."""


class MissingFileError(FileNotFoundError, MXNetError):
    """A file or a folder that is not there: an MXNetError, as in MXNet, and a FileNotFoundError, as in Python."""


class NotImplementedForSymbol(MXNetError):
    """A method of arrays that was called on a symbol, which has no values."""


class NotSupportedForSparseNDArray(MXNetError):
    """A method of dense arrays that was called on a sparse one. `alias` is the name of its operator, if it has one."""

    def __init__(self, function: Callable, alias: str | None = None, *args: Any) -> None:
        called = f"{function.__name__}({', '.join(type(a).__name__ for a in args)})"
        also = f" (the operator '{alias}')" if alias else ""
        super().__init__(f"{called}{also} is not there for sparse arrays: convert with tostype('default') first")


def py_str(x: bytes | str) -> str:
    """The text of UTF-8 bytes; a text itself, as names are here."""
    return x if isinstance(x, str) else x.decode("utf-8")


def data_dir() -> str:
    """The folder for data sets and the like: `MXNET_HOME`, by default `~/.mxnet`."""
    return os.environ.get("MXNET_HOME") or str(Path.home() / ".mxnet")


def count(name: str, value: Any, least: int | None = 1) -> int:
    """The argument `name`, a whole number that is not below `least`, as an int.

    ArgumentTypeError for what has no `__index__`, as floats have none, and for True and False. ArgumentError for a
    number below `least` (None: for none).
    """
    if type(value) is int and (least is None or value >= least):
        return value
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        way = " (// divides to whole numbers)" if isinstance(value, float) and value.is_integer() else ""
        raise ArgumentTypeError(f"{name} must be a whole number, not {value!r}{way}")
    if least is not None and number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {number}")
    return number


def optional_count(name: str, value: Any) -> int | None:
    """As `count`, of a number that may be 0 or None, which stand for none."""
    return None if value is None else count(name, value, 0)


def counts(name: str, values: Any, least: int | None = 1) -> tuple[int, ...]:
    """The argument `name`, one whole number or several, each as `count` has it."""
    several = hasattr(values, "__iter__") and not isinstance(values, (str, bytes))
    return tuple([count(name, value, least) for value in (values if several else (values,))])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of an error message: `; did you mean 'x'?` when something is near, else `; known: a, b, c`, cut where
    there are many; nothing where none is known."""
    from optgen.diagnostics import listed, suggest

    names = sorted(set(known))
    return f"; {suggest(name, names) or f'known: {listed(names)}'}" if names else ""


def not_provided(package: str, name: str, instead: str) -> str:
    """The message of an error for a part of MXNet that a package does not have, with what to use instead."""
    return f"{package} does not provide '{name}': {instead}"


def _as_list(x: Any) -> list:
    """A list of the elements of a list or tuple; any other object becomes a list of one."""
    return list(x) if isinstance(x, (list, tuple)) else [x]
