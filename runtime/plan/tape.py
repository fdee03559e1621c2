"""What a traced function has computed: its calls of operators, in order, and those of its gradient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from runtime import autograd
from runtime.autograd import Node, Part, Placeholder, Trace, Variable
from runtime.autograd.modes import mode
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import handle


class NotTraceable(Exception):
    """What was computed cannot be computed again from its calls of operators; the message says why."""


@dataclass
class Tape:
    """The calls of a function of arrays, and of its gradient once that was traced."""

    data: list[NDArray]
    """The arrays that it was given; their nodes lead on to those of the caller's."""
    parameters: list[NDArray]
    result: Any
    """What the function returned: arrays in nested lists."""
    trace: Trace
    outputs: list[NDArray]
    forward: list[Node]
    unused: list[int] = field(default_factory=list)
    """The parameters, counted after the data, that no call takes: their gradients stay as they are."""
    heads: list[NDArray | None] = field(default_factory=list)
    """The gradients of the outputs, in copies of their own; None for an output that none flows into."""
    sums: list[tuple[int, NDArray]] = field(default_factory=list)
    """By inputs whose gradients have several addends: what these are added to, one after the other."""
    wanted: list[int] = field(default_factory=list)
    """The inputs, data and then parameters, whose gradients were traced."""
    gradients: list[NDArray | None] = field(default_factory=list)
    backward: list[Node] = field(default_factory=list)

    @property
    def draws(self) -> bool:
        """Whether random numbers were drawn."""
        calls = (getattr(x.operator, "operator", x.operator) for x in (*self.forward, *self.trace.outside))
        return any(not getattr(x, "pure", True) for x in calls)


def trace(function: Callable[..., Any], data: Sequence[NDArray], params: Iterable[NDArray]) -> tuple[Any, Tape]:
    """Call `function(*data)`. Returns what it returned, and the tape.

    NotTraceable where the calls do not say what was computed. Its second argument is what the function returned, in
    the graph as ever.
    """
    params = list(params)
    known = {p._node for p in params if p._node is not None}
    with Trace(p._data for p in params) as noted:
        handles = _handles(data, [p._data for p in params])
        result = function(*handles)
    try:
        if noted.refusal is not None:
            raise NotTraceable(noted.refusal)
        tape = Tape(handles, params, result, noted, flat(result), [])
        given = known | {x._node for x in handles}
        ends = [x._node for x in tape.outputs]
        tape.forward = _calls(ends, given, noted.start, noted.effects)
        taken = set(ends).union(*[x.parents for x in tape.forward])
        tape.unused = [i for i, p in enumerate(params, len(handles)) if p._node not in taken]
    except NotTraceable as error:
        _leave_graph(result, noted)
        raise NotTraceable(error.args[0], result) from None
    return result, tape


def _leave_graph(result: Any, noted: Trace) -> None:
    """Take the arrays in nested lists out of the graph that only the trace has made."""
    if isinstance(result, (list, tuple)):
        for part in result:
            _leave_graph(part, noted)
    elif type(result) is NDArray and isinstance(result._node, (Node, Part)):
        is_new = result._node.serial >= noted.start
        if is_new and not (mode.recording and autograd.is_recorded(result._node, noted)):
            result._node = None


def _handles(data: Sequence[NDArray], params: Sequence[np.ndarray]) -> list[NDArray]:
    """The arrays, each with a node of its own, but for those that have one in the graph.

    What shares a part of its memory with another, or with a parameter, is copied, as arrays on the tape are told from
    each other by their memory.
    """
    seen = list(params)
    handles: list[NDArray] = []
    nodes: dict[Any, Node] = {}
    for x in data:
        is_whole = any(x._data is other for other in seen[len(params) :])
        values = x._data
        if not is_whole and any(np.may_share_memory(x._data, other) for other in seen):
            values = x._data.copy()
        seen.append(values)
        node = nodes.get(x._node)
        if node is None:
            node = Node(handle, [x._node] if x._in_graph() else [], [values], values, {}, x._ctx)
        if x._in_graph():
            nodes[x._node] = node
        handles.append(NDArray(values, x._ctx, node))
    return handles


def gradients_of(
    tape: Tape, heads: Sequence[NDArray | None], wanted: Mapping[int, Any], sums: Sequence[NDArray | None]
) -> list[NDArray | None]:
    """The gradients of the nodes `wanted`, by inputs, given those of the outputs; the calls that compute them go on the
    tape. Those in `tape.sums` are added to the arrays in `sums`, if there are any.

    NotTraceable as in `trace`; `tape.gradients` are the gradients then, too.
    """
    before = len(tape.trace.effects)
    tape.heads = [None if g is None else NDArray(g._data.copy(), g._ctx, Placeholder()) for g in heads]
    pairs = [(y, g) for y, g in zip(tape.outputs, tape.heads, strict=True) if g is not None and y._in_graph()]
    found: dict[Any, Any] = dict.fromkeys(wanted.values())
    tape.trace.refusal = None
    ends = {x._node for x in tape.data} | _without_gradients(tape)
    uses = Counter(parent for node in tape.forward for parent in node.parents)
    uses.update(x._node for x in tape.outputs)
    tape.sums = [(i, _onto(tape, i, sums[i])) for i, node in wanted.items() if uses[node] > 1]
    known = {wanted[i]: x for i, x in tape.sums}
    with autograd.pause(mode.training), tape.trace:
        if pairs:
            autograd.walk(*map(list, zip(*pairs, strict=True)), lambda variable, gradient: None, found, ends, known)
    found = {node: x if x is not known.get(node) else None for node, x in found.items()}
    tape.sums = [(i, x) for i, x in tape.sums if found[wanted[i]] is not None]
    tape.gradients = [found[node] for node in wanted.values()]
    if tape.trace.refusal is not None:
        raise NotTraceable(tape.trace.refusal)
    given = {p._node for p in tape.parameters} | {x._node for x in (*tape.data, *tape.heads) if x is not None}
    flows = [g._node for g in tape.gradients if g is not None]
    done = set(tape.forward)
    tape.backward = [x for x in _calls(flows, given, tape.trace.start, tape.trace.effects[before:]) if x not in done]
    return tape.gradients


def _onto(tape: Tape, i: int, known: NDArray | None) -> NDArray:
    """What the gradient of input i is added to, in a copy of its own; -0, which changes nothing, for None."""
    x = [*tape.data, *tape.parameters][i]
    values = np.full_like(x._data, -0.0) if known is None else known._data.copy()
    return NDArray(values, x._ctx, Placeholder())


def _without_gradients(tape: Tape) -> set[Node]:
    """The calls whose inputs are in no graph but the tape's: no gradient is computed of what only the tape has noted.

    The gradient of a BatchNorm would move its averages, which stay as they are where all that leads to it is frozen.
    """
    live = {p._node for p in tape.parameters if p._node is not None}
    live |= {x._node for x in tape.data if any(x._node.parents)}
    constant = set()
    for node in tape.forward:
        parents = (x.node if isinstance(x, Part) else x for x in node.parents)
        (constant if live.isdisjoint(parents) else live).add(node)
    return constant


def flat(outputs: Any) -> list[NDArray]:
    """The arrays in nested lists."""
    if type(outputs) in (list, tuple):
        return [x for part in outputs for x in flat(part)]
    if type(outputs) is not NDArray:
        raise NotTraceable(f"it returns a {type(outputs).__name__}")
    return [outputs]


def emptied(outputs: Any) -> Any:
    """The nested lists, with None in the place of arrays."""
    return type(outputs)(map(emptied, outputs)) if type(outputs) in (list, tuple) else None


def nested(like: Any, arrays: Iterator[NDArray]) -> Any:
    """The nested lists that `like` is, with arrays in the place of None."""
    return next(arrays) if like is None else type(like)([nested(part, arrays) for part in like])


def _calls(ends: Iterable[Any], given: set[Any], start: int, effects: Sequence[Node]) -> list[Node]:
    """The calls that lead to nodes, and those made for their effects, in the order in which they were made."""
    found: set[Node] = set()
    waiting = [*ends, *effects]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Part):
            node = node.node
        if node is None or node in found or node in given or isinstance(node, Placeholder):
            continue
        if isinstance(node, Variable) or node.serial < start:
            raise NotTraceable("it uses an array with a gradient that is neither an input nor a parameter")
        found.add(node)
        waiting += node.parents
    return sorted(found, key=autograd.age)
