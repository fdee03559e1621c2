"""Libraries of operators in C++, which cannot be loaded: they are made for MXNet's own memory and engine."""

from __future__ import annotations

import os
from typing import NoReturn

from runtime.base import MXNetError


def load(path: str | os.PathLike[str], verbose: bool = True) -> NoReturn:
    """MXNetError: operators are written in Python, as `mx.operator.CustomOp`, or as functions of `nd`."""
    if not os.path.exists(path):
        raise MXNetError(f"library.load: there is no file '{os.fspath(path)}'")
    raise MXNetError(f"library.load: '{os.fspath(path)}' is made for MXNet's own library; use mx.operator.CustomOp")
