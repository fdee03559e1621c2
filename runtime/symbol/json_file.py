"""Graphs in MXNet's JSON, as `Symbol.save` and `HybridBlock.export` write it and versions from 0.8 on wrote it.

A file is a list of nodes, of which each reads earlier ones, and heads, the entries that the graph is given by. Nothing
in it is evaluated: an attribute is a string until its operator reads it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NoReturn

from runtime.base import MXNetError, did_you_mean
from runtime.symbol.attributes import HIDDEN, parse_shape, stored_key
from runtime.symbol.graph import Entry, Node, initialize, order, rebuilt
from runtime.symbol.table import Operator, find
from runtime.util import is_np_shape

VERSION = 10901
"""The version that files get: 10000 times the major number, and so on."""


def to_json(entries: Sequence[Entry], remove_amp_cast: bool) -> str:
    """The graph as text; without casts that mixed precision put there, if `remove_amp_cast`."""
    flags = {"is_np_shape": ["int", 1]} if is_np_shape() else {}
    content = _content(entries, remove_amp_cast) | {"attrs": flags | {"mxnet_version": ["int", VERSION]}}
    listed = ",\n    ".join(map(json.dumps, content.pop("nodes")))
    others = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(x)}" for key, x in content.items())
    return f'{{\n  "nodes": [\n    {listed}\n  ],\n  {others}\n}}'


def _content(entries: Sequence[Entry], remove_amp_cast: bool) -> dict[str, Any]:
    """What a file has of a graph, and a node of each of its subgraphs."""
    if remove_amp_cast:
        entries = rebuilt(entries, _without_casts)
    nodes = order(entries)
    place = {node: i for i, node in enumerate(nodes)}
    return {
        "nodes": [_node_json(node, place, remove_amp_cast) for node in nodes],
        "arg_nodes": [i for i, node in enumerate(nodes) if node.operator is None],
        "node_row_ptr": [0, *accumulate(node.output_count for node in nodes)],
        "heads": [[place[node], index, 0] for node, index in entries],
    }


def _without_casts(node: Node, inputs: tuple[Entry, ...]) -> Node | Entry:
    name = node.operator and node.operator.name
    if name == "amp_cast":
        return inputs[0]
    return node.reading(inputs)


def _node_json(node: Node, place: Mapping[Node, int], remove_amp_cast: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"op": "null" if node.operator is None else node.operator.name, "name": node.name}
    if node.attributes:
        found["attrs"] = dict(sorted(node.attributes.items()))
    inputs = zip(node.inputs, node.input_names, strict=True)
    found["inputs"] = [[place[x.node], x.index, int(auxiliary)] for x, (_, auxiliary) in inputs]
    if node.subgraphs:
        found["subgraphs"] = [_content(entries, remove_amp_cast) for entries in node.subgraphs]
    return found


# ---------------------------------------------------------------- reading


def from_json(text: str | bytes, source: str) -> list[Entry]:
    """The heads of the graph in the text; MXNetError names `source`, the node and what is wrong with it."""
    try:
        return _Reader(source).graph(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise MXNetError(f"{source} holds no graph: it is no JSON ({error})") from None


class _Reader:
    """Reads the parsed content of a file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._nodes: list[Node] = []

    def fail(self, message: str) -> NoReturn:
        raise MXNetError(f"{self._source} holds no graph: {message}")

    def graph(self, content: Any, around: tuple[int, bool] | None = None) -> list[Entry]:
        """The heads. A subgraph does not state its version, and what 0 is in shapes: they are those `around` it."""
        if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
            self.fail("there is no list of 'nodes'")
        attrs = content.get("attrs")
        own = is_np_shape() and not (isinstance(attrs, dict) and "is_np_shape" in attrs)
        version, self._zero_is_unknown = around or (self._version(attrs), own)
        for i, entry in enumerate(content["nodes"]):
            self._nodes.append(self._node(i, entry, version))
        heads = content.get("heads")
        if not isinstance(heads, list) or not heads:
            self.fail("there are no 'heads', the outputs of the graph")
        return [self._entry(x, f"head {i}", len(self._nodes)) for i, x in enumerate(heads)]

    def _version(self, attrs: Any) -> int:
        """The version that wrote the file; 0.8 did not write its number."""
        found = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
        return found[1] if isinstance(found, list) and len(found) == 2 and isinstance(found[1], int) else 800

    def _node(self, i: int, entry: Any, version: int) -> Node:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("op", "name")):
            self.fail(f"node {i} has no 'op' and 'name'")
        what = f"node {i}, '{entry['name']}'"
        attributes: dict[str, str] = {}
        for key in ("param", "attr", "attrs"):  # the names that attributes had, version by version
            part = entry.get(key) or {}
            if not isinstance(part, dict) or not all(isinstance(x, str) for x in part.values()):
                self.fail(f"{what}: '{key}' is not a dict of strings")
            attributes |= part
        inputs = entry.get("inputs", [])
        if not isinstance(inputs, list):
            self.fail(f"{what}: 'inputs' is no list")
        parts = entry.get("subgraphs") or []
        if not isinstance(parts, list):
            self.fail(f"{what}: 'subgraphs' is no list")
        entries = [self._entry(x, f"{what}: input {k}", i) for k, x in enumerate(inputs)]
        if entry["op"] == "null":
            stored = {stored_key(k): x for k, x in attributes.items()}
            if self._zero_is_unknown and "__shape__" in stored:
                stored["__shape__"] = str(tuple(n or -1 for n in parse_shape(stored["__shape__"])))
            return Node(None, entry["name"], stored)
        try:
            subgraphs = [tuple(_Reader("its subgraph").graph(x, (version, self._zero_is_unknown))) for x in parts]
            return _operation(entry["op"], entry["name"], attributes, entries, tuple(subgraphs), version)
        except MXNetError as error:
            self.fail(f"{what}: {error}")

    def _entry(self, entry: Any, what: str, before: int) -> Entry:
        numbers = entry if isinstance(entry, list) and 2 <= len(entry) <= 3 else [None]
        if not all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in numbers):
            self.fail(f"{what} is {entry!r:.60}, and must be the number of a node and that of its output")
        if numbers[0] >= before:
            self.fail(f"{what} is the output of node {numbers[0]}, which does not come before it")
        node = self._nodes[numbers[0]]
        if numbers[1] >= len(node.output_names):
            self.fail(f"{what} is output {numbers[1]} of '{node.name}', which has {len(node.output_names)}")
        return Entry(node, numbers[1])


def _operation(
    op: str,
    name: str,
    attributes: dict[str, str],
    entries: list[Entry],
    subgraphs: tuple[tuple[Entry, ...], ...],
    version: int,
) -> Node:
    """A node of the operator `op`, as files of any version have it."""
    operator = find(op)
    if version < 905 and op in ("argmax", "argmin") and attributes.get("axis") == "-1":
        attributes = {key: text for key, text in attributes.items() if key != "axis"}  # it stood for all axes
    values = operator.values(attributes)
    named = operator.inputs_of(values, len(entries))
    if not operator.takes_many(values):
        for key, auxiliary in named[len(entries) :]:
            if not auxiliary:
                break
            texts = {stored_key(k): text for k, text in attributes.items()}
            entries.append(Entry(Node(None, f"{name}_{key}", texts)))  # version 0.8 left out auxiliary states
            initialize(operator, key, entries[-1])
        if len(entries) != len(named):
            raise MXNetError(f"{op} takes {len(named)} inputs here, not {len(entries)}")
    own = {}
    _warn_of_unknown(operator, name, attributes, [key for key, _ in named])
    for key, text in attributes.items():
        target = next((x for x, (k, _) in zip(entries, named, strict=True) if _of_input(key, k)), None)
        if target is not None and target.node.operator is None:  # version 0.8: `weight_lr_mult`
            target.node.attributes[stored_key(key.split("_", 1)[1])] = text
        else:
            own[stored_key(key)] = text
    return Node(operator, name, own, tuple(entries), subgraphs)


def _warn_of_unknown(operator: Operator, name: str, attributes: Mapping[str, str], inputs: Sequence[str]) -> None:
    """Warn of attributes that nothing reads: one that is misspelt would be left out in silence."""
    for key in attributes:
        hidden = key in HIDDEN or key.startswith("__") or any(_of_input(key, x) for x in inputs)
        if not (operator.open or hidden or key in operator.attributes):
            hint = did_you_mean(key, operator.attributes)
            warnings.warn(f"'{name}': {operator.name} has no attribute '{key}'{hint}; it is not used", stacklevel=2)


def _of_input(key: str, name: str) -> bool:
    """Whether a key is a hidden attribute of the input of this name, as `weight_lr_mult` is of `weight`."""
    return key.startswith(f"{name}_") and key.removeprefix(f"{name}_") in HIDDEN
