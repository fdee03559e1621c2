"""Graphs: frozen nodes, each of which holds those that it computes from.

A graph is given by some entries, outputs of nodes. It has no other container: `order` lists its nodes. A graph is
changed by making another one, of which unchanged nodes are the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from runtime.base import MXNetError
from runtime.symbol.subgraphs import wiring
from runtime.symbol.table import Operator


class Entry(NamedTuple):
    """An output of a node."""

    node: Node
    index: int = 0

    @property
    def name(self) -> str:
        """The name among a symbol's outputs: a variable's own, else the node's with the ending of the output."""
        node = self.node
        return node.name if node.operator is None else f"{node.name}_{node.output_names[self.index]}"


@dataclass(frozen=True, eq=False)
class Node:
    """A variable, whose operator is None, or a call of an operator. `attributes` are strings, as files have them."""

    operator: Operator | None
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    inputs: tuple[Entry, ...] = ()
    subgraphs: tuple[tuple[Entry, ...], ...] = ()
    """The bodies of loops and branches, each given by its outputs."""

    values: Mapping[str, Any] = field(init=False)
    """The attributes of the operator as Python values, with defaults."""
    input_names: Sequence[tuple[str, bool]] = field(init=False)
    """The operator's name of each input, and whether it is an auxiliary state."""
    wiring: Sequence[tuple[int, ...]] = field(init=False, default=())
    """For each subgraph the number of the input that each of its variables stands for."""
    _outputs: tuple[Sequence[str], int] = field(init=False)

    def __post_init__(self) -> None:
        found: tuple = ({}, (), (("output",), 1))
        if self.operator is not None:
            values = self.operator.values(self.attributes)
            found = values, self.operator.inputs_of(values, len(self.inputs)), self.operator.outputs_of(values)
        for name, value in zip(("values", "input_names", "_outputs"), found, strict=True):
            object.__setattr__(self, name, value)
        if self.subgraphs or (self.operator is not None and self.operator.graphs):
            self._wire()

    def _wire(self) -> None:
        """Find which input each variable of the subgraphs is, and which inputs are auxiliary states there."""
        name, graphs = ("a variable", 0) if self.operator is None else (self.operator.name, self.operator.graphs)
        if len(self.subgraphs) != graphs:
            raise MXNetError(f"{name} has {graphs} subgraphs, not {len(self.subgraphs)}")
        found = list(map(inputs_of, self.subgraphs))
        places = wiring(name, self.values, len(self.inputs), list(map(len, found)))
        states = {
            place
            for entries, nodes, reads in zip(self.subgraphs, found, places, strict=True)
            for place, node in zip(reads, nodes, strict=True)
            if node in auxiliaries(order(entries))
        }
        named = [(key, i in states) for i, (key, _) in enumerate(self.input_names)]
        object.__setattr__(self, "wiring", places)
        object.__setattr__(self, "input_names", named)

    def reading(self, inputs: tuple[Entry, ...]) -> Node:
        """The same operation of other inputs; itself of its own."""
        return self if inputs == self.inputs else replace(self, inputs=inputs)

    def set_attribute(self, key: str, text: str) -> None:
        """Change an attribute, which all symbols of the node see. MXNetError, with nothing changed, if it does not
        fit."""
        changed = replace(self, attributes=self.attributes | {key: text})
        self.attributes[key] = text
        for name in ("values", "input_names", "_outputs"):
            object.__setattr__(self, name, getattr(changed, name))

    @property
    def output_names(self) -> Sequence[str]:
        """The endings of the names of the outputs that other nodes can take."""
        return self._outputs[0]

    @property
    def output_count(self) -> int:
        """How many outputs there are, hidden ones too."""
        return self._outputs[1]

    def entries(self) -> list[Entry]:
        """The outputs that other nodes can take."""
        return [Entry(self, i) for i in range(len(self.output_names))]


def order(entries: Iterable[Entry]) -> list[Node]:
    """The nodes that lead to the entries, each after those that it reads: depth first, inputs in their order."""
    seen: set[Node] = set()
    found: list[Node] = []
    for head, _ in entries:
        if head in seen:
            continue
        seen.add(head)
        path = [(head, iter(head.inputs))]
        while path:
            node, remaining = path[-1]
            entry = next((x for x in remaining if x.node not in seen), None)
            if entry is None:
                found.append(node)
                path.pop()
            else:
                seen.add(entry.node)
                path.append((entry.node, iter(entry.node.inputs)))
    return found


def initialize(operator: Operator, key: str, entry: Entry) -> None:
    """Note in a variable that is the input `key` of `operator` what initializes it, unless it has that already."""
    initial = _INITIAL.get(f"{operator.name} {key}", _INITIAL.get(key))
    if initial is not None and entry.node.operator is None:
        entry.node.attributes.setdefault("__init__", initial)


_INITIAL = {
    "moving_avg": '["zero", {}]',
    "moving_mean": '["zero", {}]',
    "moving_var": '["one", {}]',
    "LeakyReLU gamma": '["Constant", {"value": 0.25}]',
    "UpSampling weight": '["bilinear", {}]',
}
"""What initializes the variable that is an input, by the names of operator and input, or of the input."""


def auxiliaries(nodes: Iterable[Node]) -> set[Node]:
    """The variables that some node has in the place of an auxiliary state."""
    return {
        entry.node
        for node in nodes
        for entry, (_, auxiliary) in zip(node.inputs, node.input_names, strict=True)
        if auxiliary and entry.node.operator is None
    }


def rebuilt(entries: Iterable[Entry], change: Callable[[Node, tuple[Entry, ...]], Node | Entry]) -> list[Entry]:
    """The entries of the graph in which each node is what `change(node, its new inputs)` returns: a node, or an entry
    that takes the place of its only output."""
    entries = list(entries)
    became: dict[Node, Node | Entry] = {}

    def moved(entry: Entry) -> Entry:
        found = became[entry.node]
        return Entry(found, entry.index) if isinstance(found, Node) else found

    for node in order(entries):
        became[node] = change(node, tuple(map(moved, node.inputs)))
    return list(map(moved, entries))


def inputs_of(entries: Iterable[Entry]) -> list[Node]:
    """All variables, in the order in which a walk meets them."""
    return [node for node in order(entries) if node.operator is None]


def variables(entries: Iterable[Entry]) -> tuple[list[Node], list[Node]]:
    """The variables that are arguments, and those that are auxiliary states."""
    nodes = order(entries)
    states = auxiliaries(nodes)
    found = [node for node in nodes if node.operator is None]
    return [node for node in found if node not in states], [node for node in found if node in states]


def listing(entries: Sequence[Entry]) -> str:
    """The graph as text, in the form that MXNet's `debug_str` has."""
    lines = ["Symbol Outputs:", *(f"\toutput[{i}]={node.name}({k})" for i, (node, k) in enumerate(entries))]
    nodes = order(entries)
    if len(nodes) == 1 and nodes[0].operator is None:
        return f"Variable:{nodes[0].name}\n"
    for node in nodes:
        if node.operator is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.operator.name}, Name={node.name}"]
        lines += ["Inputs:"] * bool(node.inputs)
        for i, ((source, k), (_, state)) in enumerate(zip(node.inputs, node.input_names, strict=True)):
            version = f" version={int(state)}" if source.operator is None else ""
            lines.append(f"\targ[{i}]={source.name}({k}){version}")
        lines += ["Attrs:"] * bool(node.attributes)
        lines += [f"\t{key}={value}" for key, value in sorted(node.attributes.items())]
    return "\n".join(lines) + "\n"
