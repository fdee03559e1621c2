"""Functions of two arrays, or of an array and a number, element by element. ONNX's repeat what is shorter, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runtime.onnx.call import Call, Given, Translation

Binary = Callable[[Call, Given, Given], str]


def _same(operator: str) -> Binary:
    return lambda call, a, b: call.add(operator, a, b)


def _compared(operator: str) -> Binary:
    """A comparison, whose result is 0 or 1 of the inputs' type."""
    return lambda call, a, b: call.cast(call.add(operator, a, b), call.dtype_of_output())


def _not_equal(call: Call, a: Given, b: Given) -> str:
    return call.cast(call.add("Not", call.add("Equal", a, b)), call.dtype_of_output())


def _logical(operator: str) -> Binary:
    """A function of what is not 0."""
    return lambda call, a, b: call.cast(
        call.add(operator, call.cast(a, np.bool_), call.cast(b, np.bool_)), call.dtype_of_output()
    )


def _hypot(call: Call, a: Given, b: Given) -> str:
    return call.add("Sqrt", call.add("Add", call.add("Mul", a, a), call.add("Mul", b, b)))


def _mod(call: Call, a: Given, b: Given) -> str:
    """The remainder that has the sign of the divisor, and is 0 where that is 0. ONNX's of floats has the dividend's."""
    zero = call.number(0)
    remainder = call.add("Mod", a, b, fmod=1)
    opposed = call.add("Less", call.add("Mul", remainder, b), zero)
    signed = call.add("Where", opposed, call.add("Add", remainder, b), remainder)
    return call.add("Where", call.add("Equal", b, zero), zero, signed)


_ARRAYS: dict[str, tuple[Binary, list[str]]] = {
    "plus": (_same("Add"), ["elemwise_add", "broadcast_add", "_grad_add", "_scatter_plus_scalar"]),
    "minus": (_same("Sub"), ["elemwise_sub", "broadcast_sub", "_scatter_minus_scalar"]),
    "mul": (_same("Mul"), ["elemwise_mul", "broadcast_mul"]),
    "div": (_same("Div"), ["elemwise_div", "broadcast_div", "_scatter_elemwise_div"]),
    "mod": (_mod, ["_mod", "broadcast_mod"]),
    "power": (_same("Pow"), ["_power", "broadcast_power"]),
    "maximum": (_same("Max"), ["_maximum", "broadcast_maximum"]),
    "minimum": (_same("Min"), ["_minimum", "broadcast_minimum"]),
    "hypot": (_hypot, ["_hypot", "broadcast_hypot"]),
    "equal": (_compared("Equal"), ["_equal", "broadcast_equal"]),
    "not_equal": (_not_equal, ["_not_equal", "broadcast_not_equal"]),
    "greater": (_compared("Greater"), ["_greater", "broadcast_greater"]),
    "greater_equal": (_compared("GreaterOrEqual"), ["_greater_equal", "broadcast_greater_equal"]),
    "lesser": (_compared("Less"), ["_lesser", "broadcast_lesser"]),
    "lesser_equal": (_compared("LessOrEqual"), ["_lesser_equal", "broadcast_lesser_equal"]),
    "logical_and": (_logical("And"), ["_logical_and", "broadcast_logical_and"]),
    "logical_or": (_logical("Or"), ["_logical_or", "broadcast_logical_or"]),
    "logical_xor": (_logical("Xor"), ["_logical_xor", "broadcast_logical_xor"]),
}
"""Each function with the names of its operators; `_NAME_scalar` and `_rNAME_scalar` are those with a number."""


def _of_arrays(function: Binary) -> Translation:
    return lambda call: function(call, *operands(call))


def operands(call: Call) -> tuple[Given, Given]:
    """Both inputs, or the input and the number."""
    return (call.x, call.inputs[1] if len(call.inputs) > 1 else call.number(call.values["scalar"]))


def _reversed(function: Binary) -> Translation:
    return lambda call: function(call, *operands(call)[::-1])


def _sum(call: Call) -> str:
    return call.add("Sum", *call.inputs)


TRANSLATIONS: dict[str, Translation] = {
    **{name: _of_arrays(function) for function, names in _ARRAYS.values() for name in names},
    **{f"_{name}_scalar": _of_arrays(function) for name, (function, _) in _ARRAYS.items()},
    **{f"_r{name}_scalar": _reversed(_ARRAYS[name][0]) for name in ("minus", "div", "mod", "power")},
    "add_n": _sum,
}
