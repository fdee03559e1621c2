"""Automatic differentiation: what is recorded, and the walk back through it.

Inside `record()`, every operator that reads an array of the graph leaves a `Node` on its result: the operator, its
inputs and its output, and the nodes of the inputs. A `Variable` is the node of an array that wants its gradient
(`attach_grad`). `backward` visits the nodes that lead to a head, newest first, and asks each operator what its
gradient is. An operator answers in terms of operators, so the walk can itself be recorded.

Recording and training mode belong to the thread; the graph belongs to its arrays and dies with them.
"""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from runtime.base import MXNetError

if TYPE_CHECKING:
    from runtime.ndarray import NDArray


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


def set_recording(is_record: bool) -> bool:
    """Switch recording on or off; returns what it was. `record` and `pause` are the usual way."""
    before, mode.recording = mode.recording, bool(is_record)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off; returns what it was. `train_mode` and `predict_mode` are the usual way."""
    before, mode.training = mode.training, bool(train_mode)
    return before


# ---------------------------------------------------------------- the graph

_serial = itertools.count()


class Node:
    """One recorded call.

    It holds raw arrays, never the NDArray it is the node of: there are no cycles, and memory goes when the arrays go.
    """

    __slots__ = ("attrs", "ctx", "inputs", "operator", "output", "parents", "serial", "spent")

    def __init__(self, operator: Any, parents: list, inputs: list, output: Any, attrs: dict, ctx: Any) -> None:
        self.serial = next(_serial)  # a node is younger than its parents: from old to young is a topological order
        self.operator = operator
        self.parents: list[Node | Part | Variable | None] = parents
        self.inputs = inputs
        self.output = output
        self.attrs = attrs
        self.ctx = ctx
        self.spent = False  # whether `backward` has been through here and let go of the arrays

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return self.operator.pull(self, gradient)

    def release(self) -> None:
        self.spent = True
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
    def spent(self) -> bool:
        return self.node.spent

    def pull(self, gradient: Any) -> Iterable[tuple[Any, Any]]:
        return [(self.node, _Gradients({self.index: gradient}))]

    def release(self) -> None:
        pass


class _Gradients(dict):
    """What flows into the outputs of one call, by position."""

    def __add__(self, other: _Gradients) -> _Gradients:
        both = {i: self[i] + other[i] for i in self.keys() & other.keys()}
        return _Gradients({**self, **other, **both})


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
    with pause(train_mode):
        nodes = _walk(_as_list(heads), head_grads, Variable.receive)
    if not retain_graph:
        _release(nodes)


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of `heads` with respect to `variables`, as new arrays: a list, also for one variable.

    Nothing is written to any variable's `grad`. With `create_graph` the gradients are in the graph, those that are
    constant too, and can be differentiated themselves. `retain_graph` is by default what `create_graph` is; other
    arguments as in `backward`. A variable that the heads do not depend on has the gradient 0; MXNetError for one that
    is in no graph.
    """
    targets = _as_list(variables)
    for x in targets:
        if not x._in_graph():
            raise MXNetError(
                f"cannot differentiate with respect to an array of shape {x.shape} that is not in a computational "
                "graph: call attach_grad() on it before autograd.record()"
            )
    with _Scope(create_graph, train_mode):
        found: dict = {x._node: None for x in targets}
        nodes = _walk(_as_list(heads), head_grads, lambda variable, gradient: None, found)
        gradients = [found[x._node] if found[x._node] is not None else x._full_like(0) for x in targets]
        if create_graph:
            gradients = [g if g._in_graph() else _constant(g, x) for g, x in zip(gradients, targets, strict=True)]
    if not (create_graph if retain_graph is None else retain_graph):
        _release(nodes)
    return gradients


class _Constant:
    """In the place of a node's operator: nothing flows through."""

    def pull(self, node: Node, gradient: Any) -> Iterable[tuple[Any, NDArray]]:
        return ()


def _constant(value: NDArray, x: NDArray) -> NDArray:
    """`value` as computed from x, though it does not depend on it: its gradient is 0, not an error."""
    result = value.detach()
    result._node = Node(_Constant(), [x._node], [], None, {}, value._ctx)
    return result


def pull_back(heads: list[NDArray], head_grads: list[NDArray], inputs: Sequence[Any]) -> list[NDArray | None]:
    """What flows from `heads` into each of `inputs`, all of them recorded calls, and no further; recorded if the
    thread records."""
    nodes = [getattr(x, "_node", None) for x in inputs]
    found: dict = {node: None for node in nodes if node is not None}
    _walk(heads, head_grads, lambda variable, gradient: None, found, ends=found)
    return [found.get(node) for node in nodes]


class Recorded:
    """What an array was computed from, for looking at: a graph that can be walked but not run."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def list_arguments(self) -> list[str]:
        """The names of the variables it depends on, oldest first."""
        nodes = sorted(_reachable([self._node], ()), key=_age)
        return [_name(node) for node in nodes if isinstance(node, Variable)]

    def list_outputs(self) -> list[str]:
        """Its own name; a variable's is the one it has among the arguments of what depends on it."""
        return [_name(self._node)]


def _name(node: Any) -> str:
    return f"var{node.serial}" if isinstance(node, Variable) else f"node{node.serial}_output"


def get_symbol(x: NDArray) -> Recorded:
    """The graph that `x` was recorded in; MXNetError if it is in none."""
    if not x._in_graph():
        raise MXNetError("this array is in no computational graph: it was not computed inside autograd.record()")
    return Recorded(x._node)


def _walk(
    heads: list,
    head_grads: Any,
    receive: Callable[[Variable, Any], object],
    found: dict | None = None,
    ends: Container = (),
) -> set:
    """Visit the nodes that lead to a head, newest first; `receive` takes what reaches a variable, None for nothing.

    What flows into the nodes that are keys of `found` is entered there; `ends` are not looked behind. Returns the
    nodes.
    """
    head_grads = [None] * len(heads) if head_grads is None else _as_list(head_grads)
    if len(head_grads) != len(heads):
        raise ValueError(f"{len(heads)} heads, but {len(head_grads)} head gradients")
    gradients = _seeds(heads, head_grads)
    nodes = _reachable(gradients, ends)
    for node in sorted(nodes, key=_age, reverse=True):
        gradient = gradients.pop(node, None)
        if found is not None and node in found:
            found[node] = gradient
        if isinstance(node, Variable):
            receive(node, gradient)
        elif gradient is not None and node not in ends:
            _accumulate(gradients, node.pull(gradient))
    return nodes


_age = operator.attrgetter("serial")


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


def _release(nodes: Iterable[Any]) -> None:
    for node in nodes:
        if not isinstance(node, Variable):
            node.release()


def _seeds(heads: Iterable[NDArray], head_grads: Iterable[NDArray | None]) -> dict:
    """The gradients the walk starts from, by node; a head given twice counts twice."""
    seeds: dict = {}
    for head, gradient in zip(heads, head_grads, strict=True):
        if not head._in_graph():
            _explain_no_graph(head)
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


def _reachable(heads: Iterable[Any], ends: Container) -> set:
    """Every node that leads to a head, the heads included; `ends` are not looked behind."""
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
        if node not in ends:
            waiting += [p for p in node.parents if p is not None]
    return found


# ---------------------------------------------------------------- functions with a gradient of their own


class Function:
    """A function whose gradient the user writes: subclasses define `forward` and `backward` over NDArrays.

    `forward(*inputs)` returns one array or a tuple; `backward(*gradients)`, given what flows into each of them, returns
    what flows into each input. Neither is recorded. An object is called once.

        class Sigmoid(autograd.Function):
            def forward(self, x):
                y = 1/(1 + nd.exp(-x))
                self.save_for_backward(y)
                return y

            def backward(self, dy):
                (y,) = self.saved_tensors
                return dy*y*(1 - y)
    """

    def __init__(self) -> None:
        self._saved: tuple = ()
        self._used = False

    def save_for_backward(self, *args: Any) -> None:
        """Keep arrays for `backward`, which finds them in `saved_tensors`."""
        self._saved = args

    @property
    def saved_tensors(self) -> tuple:
        return self._saved

    def forward(self, *inputs: NDArray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, *output_grads: NDArray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise MXNetError(f"{type(self).__name__}: each object can be called only once; make another one")
        self._used = True
        recording = mode.recording
        with pause(mode.training):
            outputs = self.forward(*inputs)
        parents = [x._node if x._in_graph() else None for x in inputs]
        if not recording or not any(parents):
            return outputs
        results = [y.detach() for y in _as_list(outputs)]
        # The node keeps arrays without a node of their own: there must be no cycle.
        node = Node(_Call(self), parents, [x.detach() for x in inputs], [y.detach() for y in results], {}, None)
        for i, y in enumerate(results):
            y._node = Part(node, i)
        return results if isinstance(outputs, (list, tuple)) else results[0]


class _Call:
    """A Function in the place of a node's operator."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def pull(self, node: Node, g: _Gradients) -> Iterator[tuple[Any, NDArray]]:
        with pause(mode.training):
            flows = (g.get(i) for i in range(len(node.output)))
            given = [y._full_like(0) if dy is None else dy for dy, y in zip(flows, node.output, strict=True)]
            back = _as_list(self.function.backward(*given))
        name = type(self.function).__name__
        if len(back) != len(node.parents):
            raise MXNetError(f"{name}.backward returned {len(back)} gradients for {len(node.parents)} inputs")
        for parent, x, dx in zip(node.parents, node.inputs, back, strict=True):
            if parent is None or dx is None:
                continue
            if dx.shape != x.shape:
                raise MXNetError(f"{name}.backward returned a gradient of shape {dx.shape} for an input of {x.shape}")
            yield parent, dx


def _as_list(x: Any) -> list:
    return list(x) if isinstance(x, (list, tuple)) else [x]
