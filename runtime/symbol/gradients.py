"""Which operations of a graph gradients pass, and how much memory their outputs take."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from runtime.base import MXNetError
from runtime.ndarray import NDArray
from runtime.symbol.graph import Entry, Node, order
from runtime.symbol.infer import shapes_of

CONSTANT = frozenset(
    ("_contrib_index_array", "_contrib_MultiProposal", "_contrib_Proposal", "argmax", "argmin", "argsort", "BlockGrad",
     "one_hot", "ones_like", "shape_array", "size_array", "zeros_like")
)  # fmt: skip
"""Operators that pass no gradient on."""

LOSSES = frozenset(
    ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "make_loss", "MakeLoss", "SVMOutput",
     "SoftmaxOutput")
)  # fmt: skip
"""Operators with a gradient of their own, whatever flows into them, if anything does."""


WITHOUT_GRADIENT = frozenset(
    ("_contrib_allclose", "_grad_add", "_histogram", "_scatter_set_nd", "_shuffle", "argmax_channel", "batch_take",
     "khatri_rao")
)  # fmt: skip
"""Operators that MXNet refuses to bind where a gradient would pass them."""


def check_differentiable(entries: Sequence[Entry], wanted: Collection[Node]) -> None:
    """MXNetError if the gradient of a variable in `wanted` would pass an operator that has none."""
    for node in on_the_way(entries, order(entries), wanted):
        if node.operator is not None and node.operator.name in WITHOUT_GRADIENT:
            raise MXNetError(
                f"the operator {node.operator.name} '{node.name}' is not differentiable: say grad_req='null' for what "
                "it depends on, or put stop_gradient around it"
            )


def needed(
    entries: Sequence[Entry], nodes: Sequence[Node], arrays: Mapping[Node, NDArray], wanted: Collection[Node]
) -> int:
    """The most bytes that are in use at a time, besides the arrays of variables.

    An output is let go after its last use, unless the gradients of the variables in `wanted` are computed through it.
    Elements are counted with the size of the largest among the variables.
    """
    size = max((x._data.itemsize for x in arrays.values()), default=4)
    shapes = shapes_of(entries, {node: x.shape for node, x in arrays.items()})
    kept = on_the_way(entries, nodes, wanted)
    left = Counter(x for node in nodes for x in node.inputs)
    left.update(entries)
    used = most = 0
    for node in nodes:
        if node.operator is None:
            continue
        used += sum(math.prod(shapes[x]) * size for x in node.entries())
        most = max(most, used)
        left.subtract(node.inputs)
        done = {x for x in node.inputs if not left[x] and x.node.operator is not None and x.node not in kept}
        used -= sum(math.prod(shapes[x]) * size for x in done)
    return most


def on_the_way(entries: Sequence[Entry], nodes: Sequence[Node], wanted: Collection[Node]) -> set[Node]:
    """The nodes that gradients pass between the outputs and the wanted variables."""
    above: set[Node] = set(wanted)
    for node in nodes:
        if node.operator is not None and any(x.node in above and _passes(node, x.node) for x in node.inputs):
            above.add(node)
    below = {entry.node for entry in entries} & above
    for node in reversed(nodes):
        if node in below:
            below |= {x.node for x in node.inputs} & above
    return below


def _passes(node: Node, below: Node) -> bool:
    """Whether the operation `node` passes a gradient on to its input; BlockGrad does to losses, which need none."""
    name = node.operator.name
    return name not in CONSTANT or (name == "BlockGrad" and is_loss(below))


def is_loss(node: Node) -> bool:
    return node.operator is not None and node.operator.name in LOSSES


def needs_none(node: Node) -> bool:
    """Whether the gradient of the output means nothing: that of a loss, or of a barrier, which may follow one."""
    return is_loss(node) or (node.operator is not None and node.operator.name == "BlockGrad")
