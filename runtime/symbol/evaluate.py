"""Running a graph: each node by the function of `nd` that computes its operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.core.generator import generator
from runtime.ndarray import NDArray
from runtime.symbol.functions import compute
from runtime.symbol.graph import Entry, Node, order

Monitor = Callable[[Node, Sequence[NDArray], Sequence[NDArray]], object]


def run(
    entries: Sequence[Entry],
    arrays: Mapping[Node, NDArray],
    nodes: Sequence[Node] | None = None,
    monitor: Monitor | None = None,
) -> list[NDArray]:
    """The values of `entries`, given an array for each variable. An array is let go after its last use.

    `nodes` is `order(entries)`, for who has it. `monitor` is called with each operation, its inputs and its outputs.
    """
    nodes = order(entries) if nodes is None else nodes
    left = Counter(x for node in nodes for x in node.inputs)
    left.update(entries)
    values: dict[Entry, NDArray] = {}
    for node in nodes:
        if node.operator is None:
            values[Entry(node)] = arrays[node]
            continue
        inputs = [values[x] for x in node.inputs]
        try:
            outputs = compute(node, inputs)
        except Exception as error:
            error.add_note(f"in the operator {node.operator.name} '{node.name}' of the graph")
            raise
        if monitor is not None:
            monitor(node, inputs, outputs)
        for i, y in enumerate(outputs[: len(node.output_names)]):
            if left[Entry(node, i)]:
                values[Entry(node, i)] = y
        left.subtract(node.inputs)
        for x in set(node.inputs):
            if not left[x]:
                del values[x]
    return [values[x] for x in entries]


MOST_ELEMENTS = 1 << 28
"""Of the inputs of an operator that is run to see what shapes it gives."""


def output_shapes(node: Node, shapes: Sequence[tuple[int, ...] | None]) -> list[tuple[int, ...]]:
    """The shapes of the outputs of a node whose inputs have these shapes, found by running it on zeros."""
    known = [() if shape is None else shape for shape in shapes]
    total = 0
    for shape in known:
        size = 1
        for n in shape:
            size *= n
        total += size
    if total > MOST_ELEMENTS:
        raise MXNetError(f"inputs of {total} elements are too many to find the shapes of outputs")
    state = generator.bit_generator.state
    try:
        with autograd.pause():
            outputs = compute(node, [nd.zeros(shape) for shape in known])
    finally:
        generator.bit_generator.state = state
    return [y.shape for y in outputs[: len(node.output_names)]]
