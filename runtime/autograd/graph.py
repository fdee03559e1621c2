"""The graph: what recorded calls leave behind. It belongs to its arrays and dies with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from runtime.core.protocols import NDArray

_serial = itertools.count()


def check_arrays(what: str, values: Iterable[Any]) -> None:
    """TypeError, which speaks of `what`, if one of the values is no NDArray."""
    for x in values:
        if not hasattr(x, "_in_graph"):  # to import the class would be a cycle
            raise TypeError(f"{what} must be NDArrays, not {type(x).__name__}")


class Node:
    """One recorded call.

    It holds raw arrays, never the NDArray it is the node of: there are no cycles, and memory goes when the arrays go.
    """

    __slots__ = ("attrs", "ctx", "inputs", "operator", "output", "parents", "released_at", "serial")

    def __init__(self, operator: Any, parents: list, inputs: list, output: Any, attrs: dict, ctx: Any) -> None:
        self.serial = next(_serial)  # a node is younger than its parents: from old to young is a topological order
        self.operator = operator
        self.parents: list[Node | Part | Variable | None] = parents
        self.inputs = inputs
        self.output = output
        self.attrs = attrs
        self.ctx = ctx
        self.released_at = 0  # when `backward` has been through here and let go of the arrays, in serial numbers

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return self.operator.pull(self, gradient)

    def release(self) -> None:
        self.released_at = next(_serial)
        self.inputs = self.output = self.operator = None
        self.parents = []


class Part:
    """The node of one output of a call that has several; what flows into it flows on to the call's node."""

    __slots__ = ("index", "node", "serial")

    def __init__(self, node: Node, index: int) -> None:
        self.serial = next(_serial)
        self.node = node
        self.index = index

    @property
    def parents(self) -> list[Node]:
        return [self.node]

    @property
    def released_at(self) -> int:
        return self.node.released_at

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return [(self.node, Gradients({self.index: gradient}))]

    def release(self) -> None:
        pass


class Gradients(dict):
    """What flows into the outputs of one call, by position."""

    def __add__(self, other: Gradients) -> Gradients:
        both = {i: self[i] + other[i] for i in self.keys() & other.keys()}
        return Gradients({**self, **other, **both})


class Variable:
    """The node of an array that wants its gradient: the end of the walk.

    `grad` is the array the gradient is written to ('write') or added to ('add'); `fresh` says whether that happened
    since someone last set it to False. `ready` is called, if it is set, each time that it happens.
    """

    __slots__ = ("fresh", "grad", "grad_req", "ready", "serial")
    parents: tuple = ()
    released_at = 0

    def __init__(self, grad: NDArray, grad_req: str) -> None:
        if grad_req not in ("write", "add"):
            raise ValueError(f"grad_req must be 'write', 'add' or 'null', not {grad_req!r}")
        self.serial = next(_serial)
        self.grad = grad
        self.grad_req = grad_req
        self.fresh = False
        self.ready: Callable[[], object] | None = None

    def receive(self, gradient: NDArray | None) -> None:
        """Take the gradient of one backward pass, which is not recorded; None stands for zero."""
        if self.grad_req == "write":
            self.grad[:] = 0 if gradient is None else gradient
        elif gradient is not None:
            self.grad += gradient
        self.fresh = True
        if self.ready is not None:
            self.ready()
