"""`sym.contrib`: the operators of `nd.contrib`, as symbols."""

from __future__ import annotations

import sys
from typing import Any

from runtime.symbol.namespace import names_of, offered


def __getattr__(name: str) -> Any:
    return offered(sys.modules[__name__], name, "_contrib_")


def __dir__() -> list[str]:
    return sorted({*globals(), *names_of("_contrib_")})
