"""`sym._internal`: operators that users reach through syntax, under the names that code for MXNet calls them by."""

from __future__ import annotations

import sys
from typing import Any

from runtime.symbol import table
from runtime.symbol.namespace import function, names_of


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name not in table.names():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    made = function(name, name)
    setattr(sys.modules[__name__], name, made)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *names_of("_")})
