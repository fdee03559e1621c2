"""Automatic differentiation: what is recorded, and the walk back through it.

Inside `record()`, every operator that reads an array of the graph leaves a `Node` on its result: the operator, its
inputs and its output, and the nodes of the inputs. A `Variable` is the node of an array that wants its gradient
(`attach_grad`). `backward` visits the nodes that lead to a head, newest first, and asks each operator what its
gradient is. An operator answers in terms of operators, so the walk can itself be recorded.

Recording and training mode belong to the thread; the graph belongs to its arrays and dies with them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.base import MXNetError

if TYPE_CHECKING:
    from runtime.ndarray import NDArray
    from runtime.ndarray.operator import Operator


# ---------------------------------------------------------------- what the thread is doing


class _Mode(threading.local):
    recording = False
    training = False


mode = _Mode()


class _Scope:
    """A `with` block in which recording and training are set; None leaves that one as it is."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._inner = (recording, training)

    def __enter__(self) -> None:
        self._outer = (mode.recording, mode.training)
        recording, training = self._inner
        if recording is not None:
            mode.recording = recording
        if training is not None:
            mode.training = training

    def __exit__(self, *exception: object) -> None:
        mode.recording, mode.training = self._outer


def record(train_mode: bool = True) -> _Scope:
    """`with record():` operators leave what `backward` needs, and layers such as Dropout act as in training."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """`with pause():` nothing is recorded; for computations inside `record` that need no gradient."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """`with train_mode():` layers act as in training; recording stays as it is."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """`with predict_mode():` layers act as in prediction; recording stays as it is."""
    return _Scope(None, False)


def is_recording() -> bool:
    return mode.recording


def is_training() -> bool:
    return mode.training


# ---------------------------------------------------------------- the graph

_serial = itertools.count()


class Node:
    """One recorded call.

    It holds raw arrays, never the NDArray it is the node of: there are no cycles, and memory goes when the arrays go.
    """

    __slots__ = ("attrs", "ctx", "inputs", "operator", "output", "parents", "serial")

    def __init__(self, operator: Operator, parents: list, inputs: list, output: Any, attrs: dict, ctx: Any) -> None:
        self.serial = next(_serial)  # a node is younger than its parents: from old to young is a topological order
        self.operator = operator
        self.parents: list[Node | Variable | None] = parents
        self.inputs = inputs
        self.output = output
        self.attrs = attrs
        self.ctx = ctx

    @property
    def spent(self) -> bool:
        """Whether `backward` has been through here and let go of the arrays."""
        return self.inputs is None

    def release(self) -> None:
        self.inputs = self.output = None
        self.parents = []


class Variable:
    """The node of an array that wants its gradient: the end of the walk.

    `grad` is the array the gradient is written to ('write') or added to ('add'); `fresh` says whether that happened
    since someone last set it to False.
    """

    __slots__ = ("fresh", "grad", "grad_req", "serial")
    parents: tuple = ()
    spent = False

    def __init__(self, grad: NDArray, grad_req: str) -> None:
        if grad_req not in ("write", "add"):
            raise ValueError(f"grad_req must be 'write', 'add' or 'null', not {grad_req!r}")
        self.serial = next(_serial)
        self.grad = grad
        self.grad_req = grad_req
        self.fresh = False

    def receive(self, gradient: NDArray | None) -> None:
        """Take the gradient of one backward pass; None stands for zero."""
        with pause(mode.training):
            if self.grad_req == "write":
                self.grad[:] = 0 if gradient is None else gradient
            elif gradient is not None:
                self.grad += gradient
        self.fresh = True


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make each of `variables` want its gradient, written to its counterpart in `gradients` ('null': not any more).

    A variable is cut off from whatever it was computed from.
    """
    variables, gradients = _as_list(variables), _as_list(gradients)
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else grad_reqs
    for x, grad, req in zip(variables, gradients, reqs, strict=True):
        if x.shape != grad.shape:
            raise ValueError(f"an array of shape {x.shape} cannot have a gradient of shape {grad.shape}")
        x._node = None if req == "null" else Variable(grad, req)


# ---------------------------------------------------------------- the walk


def backward(
    heads: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of `heads` with respect to every variable they depend on, into the variables' `grad`.

    Parameters
    ----------
    heads: what to differentiate.
    head_grads: the gradient that flows into each head, of the head's shape; None for ones.
    retain_graph: keep the graph, so that it can be walked again; otherwise it is released, and a second call raises
        MXNetError.
    train_mode: whether the walk counts as training for operators that care.
    """
    heads = _as_list(heads)
    head_grads = [None] * len(heads) if head_grads is None else _as_list(head_grads)
    if len(head_grads) != len(heads):
        raise ValueError(f"{len(heads)} heads, but {len(head_grads)} head gradients")
    with pause(train_mode):
        gradients = _seeds(heads, head_grads)
        nodes = _reachable(gradients)
        for node in sorted(nodes, key=lambda n: n.serial, reverse=True):
            gradient = gradients.pop(node, None)
            if isinstance(node, Variable):
                node.receive(gradient)
            elif gradient is not None:
                _accumulate(gradients, node.operator.pull(node, gradient))
    if not retain_graph:
        for node in nodes:
            if isinstance(node, Node):
                node.release()


def _seeds(heads: Iterable[NDArray], head_grads: Iterable[NDArray | None]) -> dict:
    """The gradients the walk starts from, by node; a head given twice counts twice."""
    seeds: dict = {}
    for head, gradient in zip(heads, head_grads, strict=True):
        if not head._in_graph():
            raise MXNetError(
                "cannot differentiate an array that is not in a computational graph: compute it inside "
                "autograd.record(), from arrays with attach_grad(). backward releases a graph: to walk it twice, pass "
                "retain_graph=True the first time"
            )
        if gradient is None:
            gradient = head._full_like(1)
        elif gradient.shape != head.shape:
            raise ValueError(f"a head of shape {head.shape} cannot have a head gradient of shape {gradient.shape}")
        _accumulate(seeds, [(head._node, gradient)])
    return seeds


def _accumulate(gradients: dict, arrived: Iterable[tuple[Any, NDArray]]) -> None:
    for node, gradient in arrived:
        known = gradients.get(node)
        gradients[node] = gradient if known is None else known + gradient


def _reachable(heads: Iterable[Any]) -> set:
    """Every node that leads to a head, the heads included."""
    found: set = set()
    waiting = list(heads)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        if node.spent:
            raise MXNetError(
                "part of this graph was released by an earlier backward; pass retain_graph=True there, or call "
                "backward once with all heads"
            )
        found.add(node)
        waiting += [p for p in node.parents if p is not None]
    return found


def _as_list(x: Any) -> list:
    return list(x) if isinstance(x, (list, tuple)) else [x]
