"""Executors for graphs, with the arrays given or with new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.ndarray.creation import blank
from runtime.symbol import infer
from runtime.symbol.executor import Executor
from runtime.symbol.gradients import check_differentiable
from runtime.symbol.graph import Entry, Node, order, variables
from runtime.symbol.storages import gradient_storages, storage_of

REQUESTS = ("write", "add", "null")
Arrays = Sequence[NDArray | None] | Mapping[str, NDArray]


def bind(
    entries: Sequence[Entry],
    ctx: Context,
    args: Arrays,
    args_grad: Arrays | None,
    grad_req: str | Sequence[str] | Mapping[str, str],
    aux_states: Arrays | None,
    group2ctx: Mapping[str, Context] | None = None,
) -> Executor:
    """See `Symbol.bind`."""
    if not isinstance(ctx, Context):
        raise ArgumentError(f"ctx is a Context, such as mx.cpu(), not {ctx!r}")
    arguments, states = ([node.name for node in part] for part in variables(entries))
    _check_distinct([*arguments, *states])
    given = _in_order("args", arguments, args, missing=False)
    grads = _in_order("args_grad", arguments, args_grad if args_grad is not None else {}, missing=True)
    kept = _in_order("aux_states", states, aux_states if aux_states is not None else {}, missing=False)
    requests = _requests(arguments, grad_req)
    for name, x in zip((*arguments, *states), (*given, *kept), strict=True):
        if x is not None and x.context.device_type != ctx.device_type:
            raise MXNetError(f"'{name}' lives in {x.context}, and the graph is bound to {ctx}")
    shapes = {name: x.shape for name, x in zip(arguments, given, strict=True) if x is not None}
    infer.shapes(entries, (), shapes, partial=True)  # raises an error that names what does not fit
    grads = [None if request == "null" else grad for grad, request in zip(grads, requests, strict=True)]
    return Executor(entries, ctx, given, grads, requests, kept, _contexts(entries, ctx, group2ctx))


def _check_distinct(names: Sequence[str]) -> None:
    """MXNetError where two variables have one name: arrays are given to names."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise MXNetError(
            f"two variables of the graph are named '{twice}': give them names of their own, or use one Variable twice"
        )


def simple_bind(
    entries: Sequence[Entry],
    ctx: Context,
    grad_req: str | Sequence[str] | Mapping[str, str],
    type_dict: Mapping[str, Any] | None,
    stype_dict: Mapping[str, str] | None,
    shared_names: Sequence[str] | None,
    shared: Executor | None,
    buffer: dict[str, NDArray] | None,
    group2ctx: Mapping[str, Context] | None,
    shapes: Mapping[str, Sequence[int]],
) -> Executor:
    """See `Symbol.simple_bind`."""
    arguments, states = variables(entries)
    _check_distinct([node.name for node in (*arguments, *states)])
    found = infer.shapes(entries, (), shapes, partial=False)
    if found[0] is None:
        raise MXNetError("simple_bind: the shapes given do not tell those of all arguments; see the warning")
    types = infer.types(entries, (), type_dict or {}, partial=False)
    stypes = {node.name: storage_of(node) for node in arguments} | dict(stype_dict or {})
    names = [node.name for node in arguments]
    requests = _requests(names, grad_req)
    check_differentiable(
        entries, [node for node, request in zip(arguments, requests, strict=True) if request != "null"]
    )
    contexts = _contexts(entries, ctx, group2ctx)
    gradients = gradient_storages(entries, stypes)
    args, grads = [], []
    for node, shape, dtype, request in zip(arguments, found[0], types[0], requests, strict=True):
        name, own = node.name, contexts.get(node, ctx)
        common = shared_names is not None and name in shared_names
        old = None if shared is None else shared.arg_dict.get(name)
        if not common and buffer is not None:
            old = buffer.get(name)
        if common and old is not None and old.shape != shape:
            raise MXNetError(
                f"'{name}' would have the shape {shape}, and the graph that it is shared with has {old.shape}"
            )
        x = old if old is not None and old.shape == shape else _zeros(shape, own, dtype, stypes.get(name, "default"))
        if buffer is not None and not common:
            buffer.setdefault(name, x)
        args.append(x)
        reused = shared.grad_dict.get(name) if x is old and shared is not None else None
        if request != "null" and reused is None:
            reused = _zeros(shape, own, dtype, gradients.get(node, "default"))
        grads.append(None if request == "null" else reused)
    kept = [] if shared is None else shared.aux_dict
    made = [
        kept[node.name]
        if node.name in kept and kept[node.name].shape == shape
        else blank(shape, contexts.get(node, ctx), dtype)
        for node, shape, dtype in zip(states, found[2], types[2], strict=True)
    ]
    return Executor(entries, ctx, args, grads, requests, made, contexts)


def _contexts(entries: Sequence[Entry], ctx: Context, group2ctx: Mapping[str, Context] | None) -> dict[Node, Context]:
    """The contexts of variables and operations, if there are several: those of their `ctx_group`, else `ctx`."""
    if not group2ctx:
        return {}
    return {node: group2ctx.get(node.attributes.get("__ctx_group__", ""), ctx) for node in order(entries)}


def _zeros(shape: tuple[int, ...], ctx: Context, dtype: Any, stype: str) -> NDArray:
    return blank(shape, ctx, dtype) if stype == "default" else nd.sparse.zeros(stype, shape, ctx, dtype)


def _in_order(what: str, names: Sequence[str], given: Arrays, missing: bool) -> list[NDArray | None]:
    """The arrays in the order of the names; ArgumentError if there are not that many, or one is missing."""
    if isinstance(given, Mapping):
        lacking = [name for name in names if name not in given]
        if lacking and not missing:
            raise ArgumentError(f"{what} lacks an array for {', '.join(lacking)}")
        given = [given.get(name) for name in names]
    if len(given) != len(names):
        raise ArgumentError(f"{what} has {len(given)} arrays for the {len(names)} names {', '.join(names)}")
    for name, x in zip(names, given, strict=True):
        if not isinstance(x, NDArray) and not (missing and x is None):
            raise TypeError(f"{what}: '{name}' must be an NDArray, not {type(x).__name__}")
    return list(given)


def _requests(names: Sequence[str], grad_req: str | Sequence[str] | Mapping[str, str]) -> list[str]:
    """For each argument 'write', 'add' or 'null'."""
    if isinstance(grad_req, str):
        found = [grad_req] * len(names)
    elif isinstance(grad_req, Mapping):
        found = [grad_req.get(name, "null") for name in names]
    else:
        found = list(grad_req) if isinstance(grad_req, (list, tuple)) else []
    if len(found) != len(names) or any(x not in REQUESTS for x in found):
        raise ArgumentError(
            f"grad_req must be 'write', 'add' or 'null', for all or each of {', '.join(names)}: {grad_req!r}"
        )
    return found
