"""Sums, extremes and their places, softmax."""

from __future__ import annotations

from collections.abc import Callable

from runtime import symbol as sym
from runtime.onnx.reading.node import Node, Reading
from runtime.symbol import Symbol


def _reduced(
    name: str, before: Callable[[Symbol], Symbol] | None = None, after: Callable[[Symbol], Symbol] | None = None
) -> Reading:
    """A reduction by a function of `sym`, of what `before` makes of the elements."""

    def reading(node: Node) -> Symbol:
        axes, keep, x = node.ints("axes", 1), bool(node.get("keepdims", 1)), node.x
        none = node.get("noop_with_empty_axes", 0) and not axes
        x = x if before is None else before(x)
        if not none:
            x = getattr(sym, name)(x, axis=axes or (), keepdims=keep)
        elif before is after is None:
            return sym.identity(x)
        return x if after is None else after(x)

    return reading


def _log_sum_exp(node: Node) -> Symbol:
    """The logarithm of a sum of exponentials, less the largest exponent, so that none is infinite."""
    axes, keep = node.ints("axes", 1), bool(node.get("keepdims", 1))
    if node.get("noop_with_empty_axes", 0) and not axes:
        return sym.identity(node.x)
    axes = axes or tuple(range(node.rank()))
    most = sym.max(node.x, axis=axes, keepdims=True)
    rest = sym.log(sym.sum(sym.exp(sym.broadcast_sub(node.x, most)), axis=axes, keepdims=keep))
    return rest + (most if keep else sym.max(node.x, axis=axes, keepdims=False))


def _place(name: str) -> Reading:
    def reading(node: Node) -> Symbol:
        if node.get("select_last_index", 0):
            node.fail("it chooses the last of equal elements")
        found = getattr(sym, name)(node.x, axis=node.get("axis", 0), keepdims=bool(node.get("keepdims", 1)))
        return sym.cast(found, dtype="int64")

    return reading


def _top_k(node: Node) -> list[Symbol]:
    k = node.ints("k", 1)
    found = sym.topk(
        node.x,
        axis=node.get("axis", -1),
        k=k[0] if k else 1,
        ret_typ="both",
        is_ascend=not node.get("largest", 1),
        dtype="int64",
    )
    return list(found)


def _softmax(name: str) -> Reading:
    def reading(node: Node) -> Symbol:
        operator = getattr(sym, name)
        if node.opset >= 13:
            return operator(node.x, axis=node.get("axis", -1))
        axis = node.axis(1)
        if node.shape() is None or axis == node.rank() - 1:
            return operator(node.x, axis=axis)
        rows = sym.reshape(node.x, shape=(*(0,) * axis, -1))  # all axes from `axis` on are one
        return sym.reshape_like(operator(rows, axis=axis), node.x)

    return reading


def _cumulated(node: Node) -> Symbol:
    axis, x = int(node.array(1, "axis").ravel()[0]), node.x
    exclusive, reverse = node.get("exclusive", 0), node.get("reverse", 0)
    if exclusive or reverse:
        axis = axis if axis >= 0 else axis + node.rank()
    x = sym.reverse(x, axis=axis) if reverse else x
    if exclusive:  # from a zero to the last but one: a difference of sums would be rounded
        zero = sym.zeros_like(sym.slice_axis(x, axis=axis, begin=0, end=1))
        x = sym.slice_axis(sym.concat(zero, x, dim=axis), axis=axis, begin=0, end=-1)
    y = sym.cumsum(x, axis=axis)
    return sym.reverse(y, axis=axis) if reverse else y


READINGS: dict[str, Reading] = {
    "ReduceSum": _reduced("sum"),
    "ReduceMean": _reduced("mean"),
    "ReduceMax": _reduced("max"),
    "ReduceMin": _reduced("min"),
    "ReduceProd": _reduced("prod"),
    "ReduceL1": _reduced("sum", sym.abs),
    "ReduceL2": _reduced("sum", sym.square, sym.sqrt),
    "ReduceSumSquare": _reduced("sum", sym.square),
    "ReduceLogSum": _reduced("sum", None, sym.log),
    "ReduceLogSumExp": _log_sum_exp,
    "ArgMax": _place("argmax"),
    "ArgMin": _place("argmin"),
    "TopK": _top_k,
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    "CumSum": _cumulated,
}
