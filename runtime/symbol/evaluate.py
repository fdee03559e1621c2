"""Running a graph: each node by the function of `nd` that computes its operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.symbol import control_flow
from runtime.symbol.functions import compute
from runtime.symbol.graph import Entry, Node, order
from runtime.symbol.infer import shapes_of

Monitor = Callable[[Node, Sequence[NDArray], Sequence[NDArray]], object]


def run(
    entries: Sequence[Entry],
    arrays: Mapping[Node, NDArray],
    nodes: Sequence[Node] | None = None,
    monitor: Monitor | None = None,
    taken: Callable[[Node, list[NDArray]], list[NDArray]] | None = None,
    contexts: Mapping[Node, Context] | None = None,
) -> list[NDArray]:
    """The values of `entries`, given an array for each variable. An array is let go after its last use.

    `nodes` is `order(entries)`, for who has it. `monitor` is called with each operation, its inputs and its outputs.
    `taken` gives the arrays that an operation is computed from, in the place of its inputs. Operations in `contexts`
    are computed there, from copies of inputs that live elsewhere.
    """
    nodes = order(entries) if nodes is None else nodes
    inferred: Mapping[Entry, tuple[int, ...]] | None = None
    left = Counter(x for node in nodes for x in node.inputs)
    left.update(entries)
    values: dict[Entry, NDArray] = {}
    for node in nodes:
        if node.operator is None:
            values[Entry(node)] = arrays[node]
            continue
        inputs = [values[x] for x in node.inputs]
        call = node
        if not inputs and depends_on_readers(node):
            inferred = inferred or shapes_of(entries, {variable: x.shape for variable, x in arrays.items()})
            call = with_shape(node, inferred[Entry(node)])
        if taken is not None:
            inputs = taken(node, inputs)
        place = contexts.get(node) if contexts else None
        if place is not None:
            inputs = [x.as_in_context(place) for x in inputs]
        try:
            with place or nullcontext():
                outputs = control_flow.compute(call, inputs, run) if node.subgraphs else compute(call, inputs)
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


def depends_on_readers(node: Node) -> bool:
    """Whether the shape of a node without inputs follows from what reads it."""
    shape = node.values.get("shape", (1,))
    return bool(node.values.get("infer_range")) or not shape or any(n < 1 for n in shape)


def with_shape(node: Node, shape: tuple[int, ...] | None) -> Node:
    """The node with the shape that follows, if one does."""
    if shape is None:
        return node
    if "infer_range" in node.values:
        steps = shape[0] // node.values["repeat"]
        own = {"stop": str(node.values["start"] + node.values["step"] * steps)}
    else:
        own = {"shape": str(shape)}
    return replace(node, attributes=node.attributes | own)
