"""`sym.op`: the functions of `sym`, under another name that MXNet has for them."""

from __future__ import annotations

from runtime.symbol.namespace import offering

__getattr__, __dir__ = offering(__name__, "")
