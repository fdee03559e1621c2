"""The graph: the nodes that recorded calls leave on their results. It is freed with its arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from runtime.autograd.modes import mode
from runtime.base import MXNetError
from runtime.core.protocols import NDArray
from runtime.core.threaded import copy_into

_serial = itertools.count()


def check_arrays(what: str, values: Iterable[Any]) -> None:
    """TypeError, which begins with `what`, if one of the values is no NDArray."""
    for x in values:
        if not hasattr(x, "_in_graph"):  # to import the class would be a cycle
            raise TypeError(f"{what} must be NDArrays, not {type(x).__name__}")


class Node:
    """One recorded call.

    It holds NumPy or CuPy arrays, never the NDArray it is the node of. So there are no cycles, and memory is freed as
    soon as the arrays are.
    """

    __slots__ = ("attrs", "ctx", "inputs", "operator", "output", "parents", "released_at", "serial")

    def __init__(self, operator: Any, parents: list, inputs: list, output: Any, attrs: dict, ctx: Any) -> None:
        self.serial = next(_serial)  # larger than those of the parents: ascending serials are a topological order
        self.operator = operator
        self.parents: list[Node | Part | Variable | None] = parents
        self.inputs = inputs
        self.output = output
        self.attrs = attrs
        self.ctx = ctx
        self.released_at = 0  # the next serial number when `backward` released the arrays; 0: it has not

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return self.operator.pull(self, gradient)

    def release(self) -> None:
        self.released_at = next(_serial)
        self.inputs = self.output = self.operator = None
        self.parents = []


class SummingNode(Node):
    """One recorded call of many operators, whose gradients are added to what has arrived, one after the other.

    So the sums have the bits that they have where each of the operators has a node.
    """

    __slots__ = ()

    def pull_onto(self, gradient: Any, sums: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
        """Pairs as those of `pull`. Where `sums` has lost a parent that it had, the gradient includes its sum."""
        return self.operator.pull_onto(self, gradient, sums)


class NoGradient:
    """In the place of a node's operator: no gradient flows to its inputs. `operator` computed the output."""

    __slots__ = ("operator",)

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    def pull(self, node: Node, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return ()


class Part:
    """The node of one output of a call with several outputs. Its gradient is passed on to the node of the call."""

    __slots__ = ("index", "node", "parents", "serial")

    def __init__(self, node: Node, index: int) -> None:
        self.serial = next(_serial)
        self.node = node
        self.parents = (node,)
        self.index = index

    @property
    def released_at(self) -> int:
        return self.node.released_at

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return [(self.node, Gradients({self.index: gradient}))]

    def release(self) -> None:
        pass


class Gradients(dict):
    """The gradients of the outputs of one call, by position."""

    def __add__(self, other: Gradients) -> Gradients:
        both = {i: self[i] + other[i] for i in self.keys() & other.keys()}
        return Gradients({**self, **other, **both})


class Postponed:
    """A gradient that is computed once all of its addends are known, at less cost than their sum: `compute(addends)`
    is it, an NDArray."""

    __slots__ = ("addends", "compute")

    def __init__(self, compute: Callable[[list], NDArray], addend: Any) -> None:
        self.compute = compute
        self.addends = [addend]

    def __add__(self, other: Any) -> Any:
        """The sum. The addends of another one of the same kind become those of this one."""
        if type(other) is Postponed and other.compute is self.compute:
            self.addends += other.addends
            return self
        return complete(self) + complete(other)


def complete(gradient: Any) -> Any:
    """The gradient itself, of one that was postponed."""
    return gradient.compute(gradient.addends) if type(gradient) is Postponed else gradient


class Variable:
    """The node of an array with a gradient, where the walk ends.

    `grad` is the array that the gradient is written to (`grad_req` 'write') or added to ('add'). `fresh` is set to True
    each time, and `ready` is called with the variable if it is not None. `exposed` is True once code outside of this
    library was given `grad`: such code may write to it at any time. `used_up` is True from when an update has used the
    memory of `grad` until something is written there.

    `lent` is True from when `lend` gave `grad` away until a gradient is received.
    """

    __slots__ = ("exposed", "fresh", "grad", "grad_req", "lent", "ready", "serial", "used_up")
    parents: tuple = ()
    released_at = 0

    def __init__(self, grad: NDArray, grad_req: str) -> None:
        if grad_req not in ("write", "add"):
            raise ValueError(f"grad_req must be 'write', 'add' or 'null', not {grad_req!r}")
        self.serial = next(_serial)
        self.grad = grad
        self.grad_req = grad_req
        self.fresh = self.exposed = self.used_up = self.lent = False
        self.ready: Callable[[Variable], object] | None = None

    def expose(self) -> NDArray:
        """`grad`, for code outside of this library; MXNetError if it is used up."""
        if self.used_up:
            raise MXNetError(
                f"the gradient of an array of shape {self.grad.shape} was used up by the last step, as its Trainer has "
                "donate_grads=True: read it between backward and step, or call zero_grad()"
            )
        self.exposed = True
        return self.grad

    def _is_like(self, gradient: NDArray) -> bool:
        """Whether both are dense arrays of NumPy, of one type."""
        if not gradient.stype == self.grad.stype == "default":
            return False
        mine, other = self.grad._data, gradient._data
        return type(mine) is type(other) is np.ndarray and mine.dtype is other.dtype

    def lend(self) -> NDArray | None:
        """`grad`, for a walk to write a gradient to at once, so that `receive` has nothing to copy.

        None where the walk stores no gradients, `grad` is lent already, or the gradient is added or stored sparsely.
        """
        if not mode.storing or self.lent or self.grad_req != "write" or self.grad.stype != "default":
            return None
        self.lent = True
        return self.grad

    def receive(self, gradient: NDArray | None) -> None:
        """Store the gradient of one backward pass, which is not recorded; None stands for zeros."""
        self.lent = False
        if mode.trace is not None:
            mode.trace.refuse("it writes to a gradient")
        if gradient is self.grad:
            pass  # it was written there
        elif self.grad_req == "write" and gradient is not None and self._is_like(gradient):
            copy_into(self.grad._data, gradient._data)  # in half the time of `grad[:] = gradient`, or less
        elif self.grad_req == "write":
            self.grad[:] = 0 if gradient is None else gradient
        elif gradient is not None:
            self.grad += gradient
        self.fresh, self.used_up = True, False
        if self.ready is not None:
            self.ready(self)
