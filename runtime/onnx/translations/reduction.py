"""Sums and other functions over axes."""

from __future__ import annotations

from runtime.onnx.call import Call, Translation, ints


def _axes(call: Call) -> list[int]:
    """The axes that are reduced, counted from the front."""
    rank = call.rank()
    given = {axis % rank for axis in call.values["axis"] or range(rank)}
    excluded = call.values.get("exclude") and call.values["axis"]
    return [i for i in range(rank) if (i in given) != bool(excluded)]


def _reduced(operator: str) -> Translation:
    return lambda call: reduce(call, operator, call.x)


def reduce(call: Call, operator: str, x: str) -> str:
    """A reduction by ONNX. Where all axes go away, MXNet keeps one of length 1."""
    axes, keep = _axes(call), int(call.values["keepdims"])
    if not axes:
        return call.add("Identity", x)
    if operator == "ReduceSum":  # the one whose axes are an input
        y = call.add(operator, x, ints(axes), keepdims=keep)
    else:
        y = call.add(operator, x, axes=axes, keepdims=keep)
    return y if keep or len(axes) < call.rank() else call.reshape(y, (1,))


def _without_nan(operator: str, neutral: float) -> Translation:
    def translate(call: Call) -> str:
        clean = call.add("Where", call.add("IsNaN", call.x), call.number(neutral), call.x)
        return reduce(call, operator, clean)

    return translate


def _norm(call: Call) -> str:
    if call.values["ord"] not in (1, 2):
        call.fail(f"ord is {call.values['ord']}, not 1 or 2")
    y = reduce(call, f"ReduceL{call.values['ord']}", call.x)
    wanted = call.dtype_of_output()
    return y if wanted == call.dtype else call.cast(y, wanted)


def _square_sum(call: Call) -> str:
    return reduce(call, "ReduceSumSquare", call.x)


def _cumsum(call: Call) -> str:
    wanted = call.dtype_of_output()
    x = call.x if wanted == call.dtype else call.cast(call.x, wanted)
    axis = call.values["axis"]
    if axis is None:
        x, axis = call.reshape(x, (-1,)), 0
    return call.add("CumSum", x, ints([axis]))


def _extreme(operator: str) -> Translation:
    """The position of the first largest or smallest element, as a float."""

    def translate(call: Call) -> str:
        axis = call.values["axis"]
        if axis is None:
            found = call.fitted(call.add(operator, call.reshape(call.x, (-1,)), axis=0))
        else:
            found = call.add(operator, call.x, axis=axis, keepdims=int(call.values["keepdims"]))
            found = call.reshape(found, (1,)) if call.rank() == 1 else found
        return call.cast(found, call.dtype_of_output())

    return translate


def _argmax_channel(call: Call) -> str:
    return call.cast(call.add("ArgMax", call.x, axis=1, keepdims=0), call.dtype_of_output())


TRANSLATIONS: dict[str, Translation] = {
    "sum": _reduced("ReduceSum"),
    "mean": _reduced("ReduceMean"),
    "prod": _reduced("ReduceProd"),
    "max": _reduced("ReduceMax"),
    "min": _reduced("ReduceMin"),
    "nansum": _without_nan("ReduceSum", 0),
    "nanprod": _without_nan("ReduceProd", 1),
    "norm": _norm,
    "_square_sum": _square_sum,
    "_np_cumsum": _cumsum,
    "argmax": _extreme("ArgMax"),
    "argmin": _extreme("ArgMin"),
    "argmax_channel": _argmax_channel,
}
