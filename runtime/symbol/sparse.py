"""`sym.sparse`: operators that take sparse arrays too. A graph has dense and sparse arrays by the same operators."""

from __future__ import annotations

import sys
from typing import Any

from runtime.symbol.namespace import names_of, offered


def __getattr__(name: str) -> Any:
    return offered(sys.modules[__name__], name, "_sparse_", "")


def __dir__() -> list[str]:
    return sorted({*globals(), *names_of("_sparse_"), *names_of("")})
