"""What everything else stands on: the library's errors, kinds of Python values, and the wording for a misspelt name."""

from __future__ import annotations

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
"""The element type of arrays that ask for none."""


class MXNetError(RuntimeError):
    """An operation on arrays or parameters that cannot be done as asked; the name is the one MXNet code catches."""


class ArgumentError(MXNetError, ValueError, AssertionError):
    """An argument that does not fit. It is all that MXNet raises for those: code that catches any of them goes on."""


class NotSupportedForSparseNDArray(MXNetError):
    """A method of dense arrays that was called on a sparse one. `alias` is the name of its operator, if it has one."""

    def __init__(self, function: Callable, alias: str | None = None, *args: Any) -> None:
        called = f"{function.__name__}({', '.join(type(a).__name__ for a in args)})"
        also = f" (the operator '{alias}')" if alias else ""
        super().__init__(f"{called}{also} is not there for sparse arrays: convert with tostype('default') first")


def py_str(x: bytes) -> str:
    """The text of UTF-8 bytes."""
    return x.decode("utf-8")


def data_dir() -> str:
    """The folder for data sets and the like: `MXNET_HOME`, by default `~/.mxnet`."""
    return os.environ.get("MXNET_HOME") or str(Path.home() / ".mxnet")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of an error message: `; did you mean 'x'?` when something is near, else `; known: a, b, c`."""
    from optgen.diagnostics import nearest

    names = sorted(set(known))
    near = nearest(name, names)
    return f"; did you mean '{near}'?" if near is not None else f"; known: {', '.join(names)}"


def _as_list(x: Any) -> list:
    """A list or tuple as a list; anything else alone in one."""
    return list(x) if isinstance(x, (list, tuple)) else [x]
