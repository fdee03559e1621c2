"""How arrays of a graph are stored: gradients as row-sparse arrays, where the operations that a variable goes into use
some of its rows only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.symbol.graph import Entry, Node, order

STORAGES = {"0": "default", "1": "row_sparse", "2": "csr"}
"""What variables state, MXNet's numbers, and the kinds of storage."""

_KEEPING = frozenset(
    ("_copy", "_mul_scalar", "_div_scalar", "negative", "abs", "sign", "square", "sqrt", "relu", "sin", "tan", "tanh")
)
"""Operators of one array whose zeros they leave."""


def storage_of(node: Node) -> str:
    """The kind of storage that a variable states, by MXNet's number."""
    return STORAGES.get(node.attributes.get("__storage_type__", "0"), "default")


def gradient_storages(entries: Sequence[Entry], storages: Mapping[str, str]) -> dict[Node, str]:
    """The storage of each variable's gradient, where `storages` are those of the variables, by name."""
    nodes = order(entries)
    kinds: dict[Entry, str] = {}
    by_rows: dict[Node, list[bool]] = {}
    for node in nodes:
        if node.operator is None:
            kinds[Entry(node)] = storages.get(node.name, "default")
        elif node.operator.name in _KEEPING:
            kinds[Entry(node)] = kinds.get(node.inputs[0], "default")
        for number, entry in enumerate(node.inputs):
            if entry.node.operator is None:
                by_rows.setdefault(entry.node, []).append(_takes_rows(node, number, kinds))
    for entry in entries:
        by_rows.setdefault(entry.node, []).append(False)
    return {node: "row_sparse" if all(uses) else "default" for node, uses in by_rows.items() if node.operator is None}


def _takes_rows(node: Node, number: int, kinds: Mapping[Entry, str]) -> bool:
    """Whether the gradient of this input of an operation has those of its rows only that the operation used."""
    assert node.operator is not None
    match node.operator.name, number:
        case "dot", 1:
            return kinds.get(node.inputs[0]) == "csr" and not node.values["transpose_a"]
        case "Embedding", 1:
            return node.values["sparse_grad"]
        case "_contrib_SparseEmbedding", 1:
            return True
        case "_square_sum", 0:
            return kinds.get(node.inputs[0]) == "row_sparse"
    return False
