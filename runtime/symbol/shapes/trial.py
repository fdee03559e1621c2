"""Shapes of the outputs of any operator: it is run once, on zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.core.generator import generator
from runtime.symbol.functions import compute
from runtime.symbol.graph import Node
from runtime.symbol.shapes.common import Shape

MOST_ELEMENTS = 1 << 28
"""Of the inputs of an operator that is run."""


def output_shapes(node: Node, shapes: Sequence[Shape | None]) -> list[Shape]:
    """The shapes of the outputs of a node whose inputs have these shapes. Draws leave the generator as it was."""
    known = [() if shape is None else shape for shape in shapes]
    total = sum(map(math.prod, known))
    if total > MOST_ELEMENTS:
        raise MXNetError(f"inputs of {total} elements are too many to find the shapes of outputs")
    with generator.replayed(generator.bit_generator.state), autograd.pause():
        outputs = compute(node, [nd.zeros(shape) for shape in known])
    return [y.shape for y in outputs[: len(node.output_names)]]
