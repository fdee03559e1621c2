"""Shapes of operators written in Python, as their CustomOpProp has them."""

from __future__ import annotations

from runtime.ndarray.custom import inferred
from runtime.symbol.shapes.common import Shapes, Values


def shapes(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The rule of shapes. `infer_shape` gets an empty list for an input whose shape is not known.

    Its errors are none while something is not known that it may count on.
    """
    prop = values["prop"]
    own = [None if x is None or -1 in x else list(x) for x in inputs[: len(prop.list_arguments())]]
    if own and not any(own):
        return inputs, outputs
    try:
        found, made, states = inferred(values["op_type"], "infer_shape", prop, [x or [] for x in own])
    except (IndexError, TypeError, ValueError, AssertionError):
        if None in own:
            return inputs, outputs
        raise
    return [_read(x) for x in (*found, *states)], [_read(y) for y in made]


def _read(shape: list[int]) -> tuple[int, ...] | None:
    return tuple(map(int, shape)) or None
