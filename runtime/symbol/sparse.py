"""`sym.sparse`: operators that take sparse arrays too. A graph has dense and sparse arrays by the same operators."""

from __future__ import annotations

from runtime.symbol.namespace import offering

__getattr__, __dir__ = offering(__name__, "_sparse_", "")
