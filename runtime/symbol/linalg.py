"""`sym.linalg`: the operators of `nd.linalg`, as symbols."""

from __future__ import annotations

from runtime.symbol.namespace import offering

__getattr__, __dir__ = offering(__name__, "_linalg_")
