"""Functions of single elements, and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.runtime.onnx_nodes.drawn import Draw, Drawn, beside, floats, one_of, shape_of, some, whole


def unary(low: float = -2, high: float = 2, **attributes: Callable[[Draw], Any]) -> Callable[[Draw], Drawn]:
    return lambda draw: Drawn(
        [floats(draw, shape_of(draw), low, high)], some(draw, **{key: f(draw) for key, f in attributes.items()})
    )


def pair(low: float = -2, high: float = 2, kind: str = "f", **attributes: Any) -> Callable[[Draw], Drawn]:
    def drawn(draw: Draw) -> Drawn:
        shape = shape_of(draw)
        shapes = [shape, beside(draw, shape)]
        inputs = [floats(draw, s, low, high) for s in (shapes if draw.random() < 0.7 else shapes[::-1])]
        if kind == "b":
            return Drawn([x > 0 for x in inputs])
        if kind == "w":
            inputs = [np.round(x) for x in inputs]
        return Drawn(inputs, attributes)

    return drawn


def several(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    return Drawn([floats(draw, shape if i == 0 else beside(draw, shape)) for i in range(draw.integers(1, 4))])


def gelu(draw: Draw) -> Drawn:
    return Drawn([floats(draw, shape_of(draw))], some(draw, approximate=one_of(draw, ("none", "tanh"))), opset=20)


def clip(draw: Draw) -> Drawn:
    bounds = [np.float32(one_of(draw, (-1, -0.5))), np.float32(one_of(draw, (0.5, 1)))]
    given = [bound if draw.random() < 0.7 else None for bound in bounds]
    return Drawn([floats(draw, shape_of(draw)), *given], fixed=(1, 2))


def prelu(draw: Draw) -> Drawn:
    shape = shape_of(draw, 2)
    return Drawn([floats(draw, shape), floats(draw, one_of(draw, [(1,), (shape[1], *(1,) * (len(shape) - 2)), shape]))])


def where(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    x, y = floats(draw, shape), floats(draw, beside(draw, shape))
    return Drawn([floats(draw, beside(draw, shape)) > 0, x, y])


# ---------------------------------------------------------------- reductions


def reduced(low: float = -2) -> Callable[[Draw], Drawn]:
    def drawn(draw: Draw) -> Drawn:
        shape = shape_of(draw)
        axes = draw.permutation(len(shape))[: draw.integers(0, len(shape) + 1)]
        given = whole([int(a) if draw.random() < 0.5 else int(a) - len(shape) for a in axes])
        attributes = some(draw, keepdims=int(draw.integers(0, 2)), noop_with_empty_axes=int(draw.integers(0, 2)))
        return Drawn([floats(draw, shape, low), given if draw.random() < 0.8 else None], attributes, fixed=(1,))

    return drawn


def place(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    axis = int(draw.integers(-len(shape), len(shape)))
    return Drawn([floats(draw, shape)], some(draw, axis=axis, keepdims=int(draw.integers(0, 2))))


def top_k(draw: Draw) -> Drawn:
    shape = tuple(draw.integers(2, 5, draw.integers(1, 4)).tolist())
    axis = int(draw.integers(-len(shape), len(shape)))
    k = int(draw.integers(1, shape[axis] + 1))
    given = some(draw, largest=int(draw.integers(0, 2)), sorted=1) | {"axis": axis}
    return Drawn([floats(draw, shape), whole([k])], given, fixed=(1,), outputs=2)


def softmax(draw: Draw) -> Drawn:
    shape = shape_of(draw, 2)
    axis = int(draw.integers(0, len(shape)))
    return Drawn([floats(draw, shape)], some(draw, axis=axis), opset=one_of(draw, (11, 18)))


def cumulated(draw: Draw) -> Drawn:
    shape = shape_of(draw)
    flags = some(draw, exclusive=int(draw.integers(0, 2)), reverse=int(draw.integers(0, 2)))
    return Drawn([floats(draw, shape), whole(int(draw.integers(-len(shape), len(shape))))], flags, fixed=(1,))
