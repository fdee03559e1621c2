"""Loops and branches in graphs; see `cases`. The bodies read arrays of the graph around them, and have weights."""

from __future__ import annotations

from typing import Any

from tests.symbol.cases import Case


def _foreach(S: Any, x: Any, y: Any) -> Any:
    twice = y * 2

    def body(row: Any, state: Any) -> tuple[Any, Any]:
        found = S.FullyConnected(row + state, num_hidden=3, name="fc")
        return found * twice, found + 1

    outputs, state = S.contrib.foreach(body, x, S.var("s"))
    return S.Group([outputs * 2, state])


def _nested(S: Any, x: Any, y: Any) -> Any:
    def body(matrix: Any, states: list) -> tuple[Any, Any]:
        outputs, _ = S.contrib.foreach(lambda row, state: ([row * state + y, row], state + row), matrix, states[0])
        layer = S.FullyConnected(matrix, num_hidden=3, name="fc")
        return [S.sum(outputs[0]), outputs], [states[0] + S.sum(layer, axis=0), states[1]]

    outputs, states = S.contrib.foreach(body, x, [S.var("s"), S.var("t")])
    return S.Group([outputs[0], *outputs[1], *states])


def _while_loop(S: Any, x: Any, y: Any) -> Any:
    twice = y * 2
    outputs, changed = S.contrib.while_loop(
        lambda i, s: i <= 5, lambda i, s: (i + s * twice, (i + 1, s + i)), [x, S.var("s")], max_iterations=5
    )
    return S.Group([outputs, *changed])


def _cond(S: Any, x: Any, y: Any) -> Any:
    twice = y * 2
    chosen = S.contrib.cond(S.slice(x, begin=(0,), end=(1,)) < 0, lambda: [x + 1, y], lambda: [x * twice, x])
    return S.Group(chosen)


CASES = {
    "foreach": Case(_foreach, {"x": (4, 2, 3), "y": (2, 3)}),
    "nested": Case(_nested, {"x": (4, 2, 3), "y": (3,), "s": (3,), "t": (5,)}, train=False),
    "while": Case(_while_loop, {"x": (1,), "y": (1,), "s": (1,)}, inferred=False),
    "then": Case(_cond, {"x": (3,), "y": (3,)}, inferred=False, values={"x": [-1, 2, 3]}),
    "else": Case(_cond, {"x": (3,), "y": (3,)}, inferred=False, values={"x": [1, 2, 3]}),
}
