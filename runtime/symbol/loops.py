"""`foreach`, `while_loop` and `cond` of `sym.contrib`: functions of symbols become subgraphs.

What a function computes is found by calling it once. Its nodes are marked with `__subgraph_name__`, as MXNet's are;
what it reads of the graph around it becomes an input of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from runtime.attribute import MARK, AttrScope, subgraph_name
from runtime.base import ArgumentError, _as_list
from runtime.name import NameManager
from runtime.symbol import _internal, table
from runtime.symbol.attributes import text_of
from runtime.symbol.graph import Entry, Node, inputs_of, order
from runtime.symbol.symbol import Symbol

Nested = Any  # a Symbol, or a list or tuple of Nested


def foreach(
    body: Callable[[Nested, Nested], tuple[Nested, Nested]], data: Nested, init_states: Nested, name: str = "foreach"
) -> tuple[Nested, Nested]:
    """`nd.contrib.foreach` in a graph: the outputs of all calls of `body`, stacked, and the last states.

    The body must read each of `data`, and of the states.
    """
    slices, states = _flat("foreach: data", data), _flat("foreach: init_states", init_states)
    outside = dict(zip(_names([*slices, *states]), (*slices, *states), strict=True))

    def call(*inside: Symbol) -> tuple[Nested, Nested]:
        return body(*_regrouped(inside, [data, init_states]))

    part, (outputs, last) = _subgraph("foreach", name, call, outside)
    if len(_flat("", last)) != len(states):
        raise ArgumentError(f"foreach: body was given {len(states)} states, and returned {len(_flat('', last))}")
    places = {key: i for i, key in enumerate(part.reads)}
    used = _used("foreach", outside, places)
    remaining = [key for key in part.reads if key not in outside]
    found = _call(
        "_foreach",
        [part],
        [*slices, *states, *(part.reads[key] for key in remaining)],
        num_out_data=len(part.outputs) - len(states),
        in_data_locs=used[: len(slices)],
        in_state_locs=used[len(slices) :],
        remain_locs=[places[key] for key in remaining],
    )
    first, second = _regrouped(found, [outputs, last])
    return first, second


def while_loop(
    cond: Callable[..., Symbol],
    func: Callable[..., tuple[Nested, Nested]],
    loop_vars: Nested,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Nested, Nested]:
    """`nd.contrib.while_loop` in a graph: outputs of `max_iterations` steps, and the last loop_vars.

    `func` must read each of the loop_vars. Outputs are zeros where no step was made.
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations must be given")
    variables = _flat("while_loop: loop_vars", loop_vars)
    if not variables:
        raise ArgumentError("while_loop: loop_vars must have an element at least")
    outside = dict(zip(_names(variables), variables, strict=True))

    def test(*inside: Symbol) -> tuple[Nested, Nested]:
        return [], cond(*_as_list(_regrouped(inside, loop_vars)))

    def step(*inside: Symbol) -> tuple[Nested, Nested]:
        outputs, changed = func(*_as_list(_regrouped(inside, loop_vars)))
        return [] if outputs is None else outputs, [] if changed is None else changed

    condition, (_, number) = _subgraph("while_loop: cond", f"{name}_cond", test, outside)
    if len(_flat("", number)) != 1:
        raise ArgumentError(f"while_loop: cond must return one number, not {number!r}")
    body, (outputs, changed) = _subgraph("while_loop: func", f"{name}_func", step, outside)
    if len(_flat("", changed)) != len(variables):
        raise ArgumentError(
            f"while_loop: func was given {len(variables)} loop_vars, and returned {len(_flat('', changed))}"
        )
    own = {key: i for i, key in enumerate(body.reads)}
    inputs, (tested, read) = _united([condition, body])
    found = _call(
        "_while_loop",
        [condition, body],
        inputs,
        max_iterations=int(max_iterations),
        cond_input_locs=tested,
        func_input_locs=read,
        func_var_locs=_used("while_loop", outside, own),
        num_out_data=len(body.outputs) - len(variables),
    )
    first, second = _regrouped(found, [outputs, loop_vars])
    return first, second


def cond(pred: Symbol, then_func: Callable[[], Nested], else_func: Callable[[], Nested], name: str = "cond") -> Nested:
    """`then_func()` where the number `pred` is not 0, else `else_func()`, whose outputs are of the same shapes."""
    parts, results = zip(
        _subgraph("cond: pred", f"{name}_pred", lambda: (pred, []), {}),
        _subgraph("cond: then_func", f"{name}_then", lambda: (then_func(), []), {}),
        _subgraph("cond: else_func", f"{name}_else", lambda: (else_func(), []), {}),
        strict=True,
    )
    counts = [len(part.outputs) for part in parts]
    if counts[0] != 1:
        raise ArgumentError(f"cond: pred must be one number, not {pred!r}")
    if counts[1] != counts[2]:
        raise ArgumentError(f"cond: then_func returns {counts[1]} outputs, and else_func {counts[2]}")
    inputs, reads = _united(parts)
    keys = ("cond_input_locs", "then_input_locs", "else_input_locs")
    return _regrouped(_call("_cond", parts, inputs, **dict(zip(keys, reads, strict=True))), results[1][0])


# ---------------------------------------------------------------- subgraphs


class _Part(NamedTuple):
    """A subgraph, and what its variables, by name in the order of a walk, stand for in the graph around it."""

    outputs: tuple[Entry, ...]
    reads: dict[str, Symbol]


def _subgraph(
    what: str, name: str, function: Callable[..., tuple[Nested, Nested]], outside: dict[str, Symbol]
) -> tuple[_Part, tuple[Nested, Nested]]:
    """What a function computes from variables that stand for `outside`, and the two parts of its result."""
    mark = subgraph_name(name)
    with AttrScope(**{MARK: mark}):
        inside = [Symbol([Entry(Node(None, key, {MARK: mark}))]) for key in outside]
        result = function(*inside)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ArgumentError(f"{what} must return a pair, outputs and states")
        outputs, states = (_flat(f"{what}: the result", part) for part in result)
        heads = _apart(outputs, states, mark)
    entries, cut = _cut([head._entries[0] for head in heads], mark)
    reads: dict[str, Symbol] = {}
    for node in inputs_of(entries):
        if node.name in reads:
            raise ArgumentError(f"{what}: two variables that it reads are called '{node.name}'")
        reads[node.name] = outside.get(node.name, Symbol([cut.get(node, Entry(node))]))
    return _Part(tuple(entries), reads), result


def _apart(outputs: Sequence[Symbol], states: Sequence[Symbol], mark: str) -> list[Symbol]:
    """The outputs and states as nodes of the subgraph, none of which is an input of it."""
    heads = [*outputs, *states]
    inputs = {node.name for node in inputs_of([x._entries[0] for x in heads])}
    taken = {x.name for x in outputs}
    return [
        _internal._copy(x, name=NameManager.current.get(None, "identity"))
        if x.name in inputs or (i >= len(outputs) and x.name in taken) or not _is_inside(x._entries[0].node, mark)
        else x
        for i, x in enumerate(heads)
    ]


def _is_inside(node: Node, mark: str) -> bool:
    return node.attributes.get(MARK) == mark


def _cut(heads: Sequence[Entry], mark: str) -> tuple[list[Entry], dict[Node, Entry]]:
    """The heads over nodes of the subgraph alone, and what each variable that takes the place of others stands for."""
    became: dict[Node, Node] = {}
    cut: dict[Entry, Node] = {}

    def moved(entry: Entry) -> Entry:
        if entry.node in became:
            return Entry(became[entry.node], entry.index)
        return Entry(cut.setdefault(entry, Node(None, entry.name)))

    for node in order(heads):
        if _is_inside(node, mark):
            became[node] = node if node.operator is None else node.reading(tuple(map(moved, node.inputs)))
    return list(map(moved, heads)), {node: entry for entry, node in cut.items()}


def _united(parts: Sequence[_Part]) -> tuple[list[Symbol], list[list[int]]]:
    """What the parts read, each once, and the numbers of what each reads."""
    found: dict[Entry, int] = {}
    reads = [[found.setdefault(x._entries[0], len(found)) for x in part.reads.values()] for part in parts]
    return [Symbol([entry]) for entry in found], reads


def _used(what: str, outside: dict[str, Symbol], places: dict[str, int]) -> list[int]:
    """The places of the variables that stand for `outside`."""
    for key, x in outside.items():
        if key not in places:
            raise ArgumentError(f"{what}: the function does not read {x!r}, and it must read each array that it gets")
    return [places[key] for key in outside]


def _call(operator: str, parts: Sequence[_Part], inputs: Sequence[Symbol], **attributes: Any) -> list[Symbol]:
    """The outputs of a new node with subgraphs."""
    attributes |= {"num_args": len(parts) + len(inputs), "num_outputs": len(parts[-1].outputs)}
    texts = AttrScope.current.get({key: text_of(x) for key, x in attributes.items()})
    node = Node(
        table.find(operator),
        NameManager.current.get(None, operator),
        texts,
        tuple(x._entries[0] for x in inputs),
        tuple(part.outputs for part in parts),
    )
    return [Symbol([entry]) for entry in node.entries()]


# ---------------------------------------------------------------- nested lists of symbols


def _names(symbols: Sequence[Symbol]) -> list[str]:
    """What the variables are called that stand for these inside of a subgraph."""
    names: list[str] = []
    for x in symbols:
        name = f"{x.name}-{x._entries[0].index}"
        while name in names:
            name += "-"
        names.append(name)
    return names


def _flat(what: str, nested: Nested) -> list[Symbol]:
    if isinstance(nested, Symbol):
        return list(nested)
    if not isinstance(nested, (list, tuple)):
        raise ArgumentError(f"{what} must be a symbol or a nested list of symbols, not {type(nested).__name__}")
    return [x for item in nested for x in _flat(what, item)]


def _regrouped(flat: Sequence[Symbol], like: Nested) -> Nested:
    """`flat` in the nesting of `like`, with lists for lists, tuples and symbols of several outputs."""
    remaining = iter(flat)

    def group(nested: Nested) -> Nested:
        if isinstance(nested, Symbol) and len(nested) == 1:
            return next(remaining)
        return [group(item) for item in nested]

    return group(like)
