"""Shapes of operators that find objects in images."""

from __future__ import annotations

import math

from runtime.symbol.shapes.common import Shapes, Values, merged
from runtime.symbol.shapes.layers import convolution


def deformable(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """A convolution with offsets, and perhaps a mask, between data and weights."""
    between = 2 if "im2col_step" in values else 1
    (data, *weights), (y,) = convolution(values, [inputs[0], *inputs[1 + between :]], outputs)
    shifts = inputs[1 : 1 + between]
    if y is not None:
        size = math.prod(values["kernel"]) * values["num_deformable_group"]
        shifts = [merged(x, (y[0], k * size, *y[2:])) for x, k in zip(shifts, (2, 1), strict=False)]
    return [data, *shifts, *weights], [y]


def proposal(values: Values, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    scores = inputs[0]
    if scores is None:
        return inputs, outputs
    batch, channels, *grid = scores
    changes = merged(inputs[1], (batch, -1 if channels == -1 else 2 * channels, *grid))
    boxes = -1 if batch == -1 else batch * values["rpn_post_nms_top_n"]
    return [scores, changes, merged(inputs[2], (batch, 3))], [(boxes, 5), (boxes, 1)][: len(outputs)]
