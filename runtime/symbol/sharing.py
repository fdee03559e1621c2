"""Operations of a graph that compute the same from the same, done once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtime.symbol.gradients import is_loss
from runtime.symbol.graph import Entry, Node, rebuilt

_APART = re.compile(r"_random_.*|_sample_.*|_image_random_.*|.*_update.*|Custom|Dropout|LeakyReLU|RNN|_shuffle")
"""Operators that draw, write to what they are given, or run the user's code."""


def shared(entries: Iterable[Entry]) -> list[Entry]:
    """The entries of the graph in which each operation that repeats another is that one.

    Two are the same if operator, attributes and inputs are. Outputs of the graph stay apart, with names and memory of
    their own. So do operations that may differ each time, have no inputs, have states or subgraphs, or are losses.
    """
    entries = list(entries)
    outputs = {node for node, _ in entries}
    known: dict[tuple, Node] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        own = node.reading(inputs)
        if node.operator is None or _stays_apart(node):
            return own
        key = node.operator.name, tuple(sorted(node.attributes.items())), inputs
        return known.setdefault(key, own) if node not in outputs else own

    return rebuilt(entries, change)


def _stays_apart(node: Node) -> bool:
    assert node.operator is not None
    states = any(auxiliary for _, auxiliary in node.input_names)
    if states or node.subgraphs or not node.inputs or is_loss(node):  # those without inputs may follow their readers
        return True
    return _APART.fullmatch(node.operator.name) is not None
