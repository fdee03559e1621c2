"""`sym.contrib`: the operators of `nd.contrib`, as symbols."""

from __future__ import annotations

from runtime.symbol.loops import cond, foreach, while_loop  # noqa: F401 (they are offered here)
from runtime.symbol.namespace import offering

__getattr__, __dir__ = offering(__name__, "_contrib_")
