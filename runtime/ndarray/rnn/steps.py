"""One step of recurrent layers, of arrays or symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from runtime.native.formulas import gru_state, lstm_memory

Function = Callable[[Any], Any]


def lstm_step(gates: Iterable[Any], c: Any, gate: Function, activation: Function) -> tuple[Any, Any]:
    """The new h and c of long short-term memory; `gates` are the sums for input, forget, cell and output."""
    i, f, g, o = gates
    c = lstm_memory.python(gate(f), c, gate(i), activation(g))
    return gate(o) * activation(c), c


def gru_step(i: Iterable[Any], h: Iterable[Any], before: Any, gate: Function, activation: Function) -> Any:
    """The new state of gated recurrent units; `i` and `h` are the products of reset, update and new gate."""
    (ir, iz, inew), (hr, hz, hnew) = i, h
    new = activation(inew + gate(ir + hr) * hnew)
    return gru_state.python(new, gate(iz + hz), before)
