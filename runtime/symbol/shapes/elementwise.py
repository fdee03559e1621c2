"""Shapes of operators that compute element by element."""

from __future__ import annotations

from runtime.symbol.shapes.common import Shapes, Values, merged, text


def same(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """All of one shape."""
    shape = None
    for x in (*inputs, *outputs):
        shape = merged(shape, x)
    return [shape] * len(inputs), [shape] * len(outputs)


def first(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The first input and output of one shape; the others of shapes of their own."""
    shape = merged(inputs[0], outputs[0])
    return [shape, *inputs[1:]], [shape, *outputs[1:]]


def broadcast(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    rank = max(len(a), len(b))
    lengths = []
    for m, n in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if m != n and min(m, n) > 1:
            raise ValueError(f"{text(a)} and {text(b)} cannot be broadcast to one shape")
        lengths.append(n if m == 1 else m if n == 1 else max(m, n) if max(m, n) > 1 else -1 if -1 in (m, n) else m)
    return inputs, [tuple(lengths)]
