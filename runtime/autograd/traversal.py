"""The walk back through the graph, from what is differentiated to the variables."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Container, Iterable
from typing import Any, NoReturn

import numpy as np

from runtime.autograd.graph import Postponed, SummingNode, Variable, check_arrays, complete
from runtime.base import ArgumentError, MXNetError, _as_list
from runtime.core.protocols import NDArray


def walk(
    heads: list,
    head_grads: Any,
    receive: Callable[[Variable, Any], object],
    found: dict | None = None,
    ends: Container = (),
    sums: dict | None = None,
) -> set:
    """Visit the nodes that lead to a head, newest first, and return them.

    `receive(variable, gradient)` is called for each variable, with None for no gradient: as soon as its gradient is
    complete if the variable has a `ready`. The keys of `found` are nodes, whose gradients become the values. The walk
    does not go past the nodes in `ends`. `sums` are gradients of nodes to which those of the heads are added.
    """
    head_grads = [None] * len(heads) if head_grads is None else _as_list(head_grads)
    if len(head_grads) != len(heads):
        raise ArgumentError(f"{len(heads)} heads, but {len(head_grads)} head gradients")
    try:
        gradients = _seeds(heads, head_grads)
    except AttributeError:
        check_arrays("heads and their gradients", [x for x in (*heads, *head_grads) if x is not None])
        raise
    nodes = reachable(gradients, ends)
    if sums:
        for node, known in sums.items():
            gradients[node] = _sum(known, gradients[node]) if node in gradients else known
    for node in _ordered(nodes):
        gradient = gradients.pop(node, None)
        if type(gradient) is Postponed:
            gradient = complete(gradient)
        if found is not None and node in found:
            found[node] = gradient
        kind = type(node)
        if kind is Variable:
            receive(node, gradient)
        elif gradient is not None and node not in ends:
            pulled = node.pull_onto(gradient, gradients) if kind is SummingNode else node.pull(gradient)
            for parent, arrived in pulled:
                last = parent in ends or not (parent.parents or type(parent) is Variable)
                if last and (found is None or parent not in found):
                    continue  # nobody asks for it, and truth values have no sums
                known = gradients.get(parent)
                gradients[parent] = arrived if known is None else _sum(known, arrived)
    return nodes


age = operator.attrgetter("serial")


def _ordered(nodes: set) -> list:
    """Newest first, but each variable with a `ready` right behind the last node whose gradient it takes."""
    order = sorted(nodes, key=age, reverse=True)
    for node in order:
        if type(node) is Variable and node.ready is not None:
            break
    else:
        return order
    awaited = {node for node in order if type(node) is Variable and node.ready is not None}
    last = {parent: node for node in order for parent in node.parents if parent in awaited}
    behind: dict[Any, list[Variable]] = {}
    for variable, node in last.items():
        behind.setdefault(node, []).append(variable)
    return [x for node in order if node not in last for x in (node, *behind.get(node, ()))]


def _explain_no_graph(head: NDArray) -> NoReturn:
    what = f"cannot differentiate an array of shape {head.shape}"
    if head._node is None:
        raise MXNetError(
            f"{what} that is not in a computational graph: compute it inside autograd.record(), from parameters or "
            "from arrays with attach_grad()"
        )
    raise MXNetError(
        f"{what}: the computational graph it was in is gone, released by an earlier backward; to walk it twice, pass "
        "retain_graph=True the first time"
    )


def release(nodes: Iterable[Any]) -> None:
    for node in nodes:
        if type(node) is not Variable:
            node.release()


def _seeds(heads: list[NDArray], head_grads: list[NDArray | None]) -> dict:
    """The gradients that the walk starts from, by node. A head that is given twice counts twice.

    Heads in no graph, such as the loss of a part that is switched off, are skipped if other heads are in one.
    """
    seeds: dict = {}
    for head, gradient in zip(heads, head_grads, strict=True):
        node = head._node
        if node is None or node.released_at:
            if node is None and any(other._node is not None for other in heads):
                continue
            _explain_no_graph(head)
        if gradient is None:
            gradient = head._full_like(1)
        elif gradient.shape != head.shape:
            gradient = _fitted(gradient, head)
        if head.stype == "default" and gradient.stype != "default":
            # A dense output uses all elements: a slope may be infinite where the gradient has none.
            gradient = gradient.tostype("default")
        if gradient.dtype is not head.dtype:
            check_arrays("heads and their gradients", (head, gradient))
            raise ArgumentError(
                f"a head of {np.dtype(head.dtype)} cannot have a head gradient of {np.dtype(gradient.dtype)}; convert "
                "one with astype()"
            )
        known = seeds.get(node)
        seeds[node] = gradient if known is None else _sum(known, gradient)
    return seeds


def _fitted(gradient: NDArray, head: NDArray) -> NDArray:
    """A head gradient of another shape in that of the head: its first rows, or all of its elements."""
    if gradient.shape[1:] == head.shape[1:] and len(gradient) > len(head):
        warnings.warn(
            f"of a head gradient of shape {gradient.shape}, the rows that a head of {head.shape} has count",
            stacklevel=5,
        )
        return gradient[: len(head)]
    if gradient.size != head.size:
        raise ArgumentError(f"a head of shape {head.shape} cannot have a head gradient of shape {gradient.shape}")
    return gradient.reshape(head.shape)


def _sum(known: Any, arrived: Any) -> Any:
    """The sum of two gradients of one node."""
    return known + (arrived if type(known) is Postponed else complete(arrived))


def reachable(heads: Iterable[Any], ends: Container) -> set:
    """Every node that leads to a head, the heads included; the search does not go past `ends`.

    MXNetError if an earlier backward released nodes that are needed.
    """
    found: set = set()
    released = False
    waiting = list(heads)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        if node.released_at:
            released = True
            continue
        found.add(node)
        if node not in ends:
            for parent in node.parents:
                if parent is not None:
                    waiting.append(parent)
    if released:
        found -= _left_over(found, ends)
        if not found.issuperset(heads):
            _explain_released()
    return found


def _left_over(nodes: set, ends: Container) -> set:
    """Those of `nodes` that were computed from released nodes alone, before the release.

    Like released nodes, they are constants to what was recorded later: the last states of a recurrent layer are, in the
    next piece of the text. MXNetError for nodes that need both released nodes and others.
    """
    when: dict = {}  # of the nodes that are left over, the serial number of the release
    for node in sorted(nodes, key=age):
        if node in ends:
            continue
        parents = [p for p in node.parents if p is not None]
        releases = [p.released_at or when.get(p, 0) for p in parents]
        if any(release > node.serial for release in releases):
            if not all(releases):
                _explain_released()
            when[node] = max(releases)
    return set(when)


def _explain_released() -> NoReturn:
    raise MXNetError(
        "part of this graph was released by an earlier backward; pass retain_graph=True there, or call backward once "
        "with all heads"
    )
