"""Automatic differentiation: what is recorded, and the walk back through it.

Inside `record()`, an operator that reads an array of the graph puts a `Node` on its result: the operator, its inputs,
its output, and the nodes of the inputs. A `Variable` is the node of an array with a gradient (`attach_grad`).
`backward` visits the nodes that lead to a head, newest first, and asks the operator of each for its gradient. Gradients
are computed by operators, so the walk can be recorded, and differentiated, too.

Recording and training mode belong to the thread. The graph belongs to its arrays and is freed with them. `modes` has
the scopes, `graph` the nodes, `traversal` the walk, `function` functions whose gradient the user writes, `trace` what
plans of hybridized blocks are made from.
"""

# ruff: noqa: F401, F811 (this file gathers names, of which train_mode is also that of an argument)
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from runtime.autograd.function import Function
from runtime.autograd.graph import (
    Gradients,
    Node,
    NoGradient,
    Part,
    Postponed,
    SummingNode,
    Variable,
    check_arrays,
    complete,
)
from runtime.autograd.modes import (
    Scope,
    is_recording,
    is_training,
    mode,
    pause,
    predict_mode,
    record,
    set_recording,
    set_training,
    train_mode,
)
from runtime.autograd.trace import (
    TAKEN,
    Placeholder,
    Trace,
    effect,
    is_recorded,
    keep,
    reads_values,
    takes,
    watching,
    writes_values,
)
from runtime.autograd.traversal import age, reachable, release, walk
from runtime.base import ArgumentError, MXNetError, _as_list
from runtime.core.protocols import NDArray


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make each of `variables` want its gradient, written to its counterpart in `gradients` ('null': not any more).

    A variable is cut off from whatever it was computed from.
    """
    mark(variables, gradients, grad_reqs)
    for x in _as_list(variables):
        if x._node is not None:
            x._node.expose()


def mark(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """`mark_variables` with gradients that no code outside of this library has."""
    variables, gradients = _as_list(variables), _as_list(gradients)
    check_arrays("variables and their gradients", (*variables, *gradients))
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else grad_reqs
    if not len(variables) == len(gradients) == len(reqs):
        raise ArgumentError(f"{len(variables)} variables, {len(gradients)} gradients and {len(reqs)} grad_reqs")
    for x, grad, req in zip(variables, gradients, reqs, strict=True):
        if (x.shape, x.dtype) != (grad.shape, grad.dtype):
            raise ArgumentError(
                f"an array of shape {x.shape} and type {np.dtype(x.dtype)} cannot have a gradient of shape "
                f"{grad.shape} and type {np.dtype(grad.dtype)}"
            )
        x._node = None if req == "null" else Variable(grad, req)


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
    head_grads: the gradient that flows into each head, of the head's size and type; None for ones.
    retain_graph: keep the graph, so that it can be walked again; otherwise it is released, and a second call raises
        MXNetError.
    train_mode: whether the walk counts as training for operators that care.
    """
    with Scope(False, train_mode, storing=True):
        nodes = walk(_as_list(heads), head_grads, Variable.receive)
    if not retain_graph:
        release(nodes)


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
    check_arrays("variables", targets)
    if not targets:
        raise ArgumentError("grad: no variables to differentiate with respect to")
    for x in targets:
        if not x._in_graph():
            raise MXNetError(
                f"cannot differentiate with respect to an array of shape {x.shape} that is not in a computational "
                "graph: call attach_grad() on it before autograd.record()"
            )
    with Scope(create_graph, train_mode):
        found: dict = {x._node: None for x in targets}
        nodes = walk(_as_list(heads), head_grads, lambda variable, gradient: None, found)
        # Copies: a gradient may be the very array of a head gradient, or that of another variable.
        gradients = [_copied(found[x._node], x) for x in targets]
        if create_graph:
            gradients = [g if g._in_graph() else _constant(g, x) for g, x in zip(gradients, targets, strict=True)]
    if not (create_graph if retain_graph is None else retain_graph):
        release(nodes)
    return gradients


def _copied(gradient: NDArray | None, x: NDArray) -> NDArray:
    """A gradient of x, or 0, in the context of x, which may not be that of the heads."""
    return x._full_like(0) if gradient is None else gradient.as_in_context(x._ctx).copy()


def _constant(value: NDArray, x: NDArray) -> NDArray:
    """`value` as computed from x, though it does not depend on it: its gradient is 0, not an error."""
    result = value.detach()
    result._node = Node(NoGradient(None), [x._node], [], None, {}, value._ctx)
    return result


def pull_back(
    heads: list[NDArray],
    head_grads: list[NDArray],
    inputs: Sequence[Any],
    sums: Sequence[NDArray | None] = (),
) -> list[NDArray | None]:
    """The gradients of `heads` with respect to `inputs`, which are results of recorded calls; None for no gradient.

    The walk ends at the inputs. It is recorded if the thread records. `sums` are what the gradients of the inputs are
    added to, None for nothing.
    """
    nodes = [getattr(x, "_node", None) for x in inputs]
    known = {node: x for node, x in zip(nodes, sums, strict=False) if x is not None}
    found: dict = {node: None for node in nodes if node is not None}
    with Scope(None, None):
        walk(heads, head_grads, lambda variable, gradient: None, found, found, known)
    return [found.get(node) for node in nodes]


class Recorded:
    """The graph that an array was recorded in, to be looked at: it has names and cannot be run."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def list_arguments(self) -> list[str]:
        """The names of the variables it depends on, oldest first."""
        nodes = sorted(reachable([self._node], ()), key=age)
        return [_name(node) for node in nodes if isinstance(node, Variable)]

    def list_outputs(self) -> list[str]:
        """Its own name; a variable's is the one it has among the arguments of what depends on it."""
        return [_name(self._node)]

    def tojson(self) -> str:
        """The graph as text in the form of MXNet's files, with the operators that were called, which no file has."""
        nodes = sorted(reachable([self._node], ()), key=age)
        place = {node: i for i, node in enumerate(nodes)}
        described = [
            {
                "op": _operator(node),
                "name": _name(node),
                "inputs": [[place[parent], 0, 0] for parent in node.parents if parent in place],
            }
            for node in nodes
        ]
        variables = [i for i, node in enumerate(nodes) if isinstance(node, Variable)]
        return json.dumps({"nodes": described, "arg_nodes": variables, "heads": [[place[self._node], 0, 0]]}, indent=2)


def _operator(node: Any) -> str:
    operator = getattr(node, "operator", None)
    operator = getattr(operator, "operator", operator)  # of a NoGradient
    return "null" if isinstance(node, Variable) else getattr(operator, "name", type(operator or node).__name__)


def _name(node: Any) -> str:
    return f"var{node.serial}" if isinstance(node, Variable) else f"node{node.serial}_output"


def get_symbol(x: NDArray) -> Recorded:
    """The graph that `x` was recorded in; MXNetError if it is in none."""
    if not x._in_graph():
        raise MXNetError("this array is in no computational graph: it was not computed inside autograd.record()")
    return Recorded(x._node)
