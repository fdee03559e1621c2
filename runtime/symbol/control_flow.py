"""Loops and branches in graphs: how they run, and what their shapes and types tell.

The subgraphs of a node are graphs of their own, whose variables stand for inputs of the node (`Node.wiring`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.ndarray import NDArray
from runtime.ndarray.creation import blank
from runtime.symbol.graph import Entry, Node, order
from runtime.symbol.subgraphs import loop_inputs

Run = Callable[[Sequence[Entry], dict[Node, NDArray], Sequence[Node]], list[NDArray]]
Inside = Callable[[Sequence[Entry], list, list], tuple[list, list]]
"""What follows inside of a subgraph, from what is known of its variables and of its outputs."""


def compute(node: Node, inputs: Sequence[NDArray], run: Run) -> list[NDArray]:
    """The outputs of a node that has subgraphs. `run` computes a graph, whose nodes it gets in order."""
    assert node.operator is not None
    nodes = list(map(order, node.subgraphs))
    variables = [[x for x in part if x.operator is None] for part in nodes]

    def graph(i: int, given: Sequence[NDArray]) -> list[NDArray]:
        arrays = dict(zip(variables[i], (given[k] for k in node.wiring[i]), strict=True))
        return run(node.subgraphs[i], arrays, nodes[i])

    if node.operator.name == "_cond":
        return nd.contrib.cond(graph(0, inputs)[0], lambda: graph(1, inputs), lambda: graph(2, inputs))
    states = loop_inputs(node.operator.name, node.values, node.output_count)
    steps = node.values["num_out_data"]
    data = len(node.values.get("in_data_locs", ()))

    def placed(values: Sequence[NDArray]) -> list[NDArray]:
        """The inputs, with the states of a step in their places."""
        changed = dict(zip(states, values, strict=True))
        return [changed.get(k, x) for k, x in enumerate(inputs)]

    if node.operator.name == "_foreach":

        def body(slices: list[NDArray], now: list[NDArray]) -> tuple[list[NDArray], list[NDArray]]:
            found = graph(0, [*slices, *placed(now)[data:]])
            return found[:steps], found[steps:]

        outputs, last = nd.contrib.foreach(body, list(inputs[:data]), [inputs[k] for k in states])
    else:

        def step(*now: NDArray) -> tuple[list[NDArray], list[NDArray]]:
            found = graph(1, placed(now))
            return found[:steps], found[steps:]

        outputs, last = nd.contrib.while_loop(
            lambda *now: graph(0, placed(now))[0], step, [inputs[k] for k in states], node.values["max_iterations"]
        )
    if len(outputs) < steps:  # no step was made: its shapes are those of a step
        length = node.values.get("max_iterations", 0)
        slices = [blank(x.shape[1:] or (1,), x.context, x.dtype) for x in inputs[:data]]
        step_outputs = graph(-1, [*slices, *inputs[data:]])[:steps]
        outputs = [blank((length, *x.shape), x.context, x.dtype) for x in step_outputs]
    return [*outputs, *last]


def rule(node: Node, inputs: list, outputs: list, inside: Inside, of_shapes: bool) -> tuple[list, list]:
    """What follows of the shapes, or of the element types, of inputs and outputs of a node that has subgraphs."""
    assert node.operator is not None
    if node.operator.name == "_cond":
        for i in range(3):
            inputs, found = _through(node, i, inputs, [None] if i == 0 else outputs, inside)
            outputs = outputs if i == 0 else found
        return inputs, outputs
    states = loop_inputs(node.operator.name, node.values, len(outputs))
    data = range(len(node.values["in_data_locs"])) if node.operator.name == "_foreach" else range(0)
    steps = node.values["num_out_data"]
    known = [*(inputs[k] for k in data), *outputs[:steps]] if of_shapes else []
    length = node.values.get("max_iterations", max((x[0] for x in known if x), default=-1))

    def stacked(x: Any) -> Any:
        return (length, *x) if of_shapes and x is not None else x

    def one(x: Any) -> Any:
        return x[1:] if of_shapes and x is not None else x

    def sliced(x: Any) -> Any:
        return one(x) or (1,) if of_shapes and x is not None else x  # an element is an array of one

    def whole(x: Any, given: Any) -> Any:
        return given if of_shapes and given is not None and len(given) == 1 else stacked(x)

    for i in range(len(node.subgraphs)):
        is_body = i == len(node.subgraphs) - 1
        given = [sliced(x) if k in data else x for k, x in enumerate(inputs)]
        wanted = [*map(one, outputs[:steps]), *outputs[steps:]] if is_body else [None]
        for k, x in zip(states, wanted[steps:], strict=False):
            given[k] = given[k] if given[k] is not None else x
        found, made = _through(node, i, given, wanted, inside)
        inputs = [whole(x, inputs[k]) if k in data else x for k, x in enumerate(found)]
        if is_body:
            last = [x if x is not None else found[k] for k, x in zip(states, made[steps:], strict=True)]
            outputs = [*map(stacked, made[:steps]), *last]
    return inputs, outputs


def _through(node: Node, i: int, inputs: list, outputs: list, inside: Inside) -> tuple[list, list]:
    """What follows inside of subgraph i, for the inputs of the node and the outputs of the subgraph."""
    variables, made = inside(node.subgraphs[i], [inputs[k] for k in node.wiring[i]], outputs)
    found = list(inputs)
    for k, x in zip(node.wiring[i], variables, strict=True):
        found[k] = x
    return found, made
