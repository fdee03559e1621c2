"""Elements chosen by their positions, or by their values. Positions are floats in MXNet, and int64 in ONNX."""

from __future__ import annotations

import numpy as np

from runtime.onnx.call import Call, Translation, ints


def _positions(call: Call, i: int, length: int, mode: str) -> str:
    """An input as positions among `length` elements: those outside are moved to the end, or around."""
    found = call.cast(call.inputs[i], np.int64)
    if mode == "clip":
        return call.add("Min", call.add("Max", found, ints(0)), ints(length - 1))
    return call.add("Mod", found, ints(length)) if mode == "wrap" else found


def _embedding(call: Call) -> str:
    rows = _positions(call, 0, call.values["input_dim"], "clip")
    return call.add("Gather", call.inputs[1], rows, axis=0)


def _take(call: Call) -> str:
    axis = call.axis()
    return call.add("Gather", call.x, _positions(call, 1, call.length(axis), call.values["mode"]), axis=axis)


def _pick(call: Call) -> str:
    if call.values["axis"] is None:
        call.fail("it counts positions over all axes; state axis")
    axis = call.axis()
    positions = _positions(call, 1, call.length(axis), call.values["mode"])
    if call.rank(1) < call.rank():
        positions = call.add("Unsqueeze", positions, ints([axis]))
    found = call.add("GatherElements", call.x, positions, axis=axis)
    if call.values["keepdims"]:
        return found
    return call.reshape(found, (-1,)) if call.rank() == 1 else call.add("Squeeze", found, ints([axis]))


def _batch_take(call: Call) -> str:
    positions = call.add("Unsqueeze", _positions(call, 1, call.length(1), "clip"), ints([1]))
    return call.add("Squeeze", call.add("GatherElements", call.x, positions, axis=1), ints([1]))


def _one_hot(call: Call) -> str:
    """ONNX's OneHot counts negative positions from the end; MXNet's are nowhere."""
    values, dtype = call.values, call.dtype_of_output()
    positions = call.add("Unsqueeze", call.cast(call.x, np.int64), ints([-1]))
    here = call.add("Equal", positions, np.arange(values["depth"]))
    return call.add("Where", here, np.array(values["on_value"], dtype), np.array(values["off_value"], dtype))


def _indices(call: Call, i: int) -> str:
    """Indices, (axes, ...), as ONNX has them: (..., axes)."""
    return call.transpose(call.cast(call.inputs[i], np.int64), [*range(1, call.rank(i)), 0])


def _gather_nd(call: Call) -> str:
    return call.add("GatherND", call.x, _indices(call, 1))


def _scatter_nd(call: Call) -> str:
    return call.add("ScatterND", np.zeros(call.values["shape"], call.dtype), _indices(call, 1), call.x)


def _where(call: Call) -> str:
    """A condition with one axis chooses rows."""
    condition = call.cast(call.x, np.bool_)
    rank = call.rank(1)
    if call.rank() == 1 and rank > 1:
        condition = call.reshape(condition, (-1,) + (1,) * (rank - 1))
    return call.add("Where", condition, *call.inputs[1:])


# ---------------------------------------------------------------- order


def _top(call: Call, k: int | None, ascending: bool) -> list[str]:
    """The first values in their order, all for None, and their positions."""
    x, axis = call.x, call.values["axis"]
    if axis is None:
        x, axis, n = call.reshape(x, (-1,)), 0, int(np.prod(call.shape()))
    else:
        n = call.length(axis)
    return call.add_many("TopK", 2, x, ints([k or n]), axis=axis, largest=int(not ascending))


def _topk(call: Call) -> str | list[str]:
    kind = call.values["ret_typ"]
    if kind == "mask":
        call.fail("ret_typ is 'mask'")
    values, positions = _top(call, max(0, call.values["k"]), call.values["is_ascend"])
    if kind == "value":
        return values
    positions = call.cast(positions, call.dtype_of_output(int(kind == "both")))
    return [values, positions] if kind == "both" else positions


def _sort(call: Call) -> str:
    return _top(call, None, call.values["is_ascend"])[0]


def _argsort(call: Call) -> str:
    return call.cast(_top(call, None, call.values["is_ascend"])[1], call.dtype_of_output())


TRANSLATIONS: dict[str, Translation] = {
    "Embedding": _embedding,
    "_contrib_SparseEmbedding": _embedding,
    "take": _take,
    "pick": _pick,
    "batch_take": _batch_take,
    "one_hot": _one_hot,
    "gather_nd": _gather_nd,
    "scatter_nd": _scatter_nd,
    "where": _where,
    "topk": _topk,
    "sort": _sort,
    "argsort": _argsort,
}
