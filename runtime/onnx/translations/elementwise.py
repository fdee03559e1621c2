"""Functions of one array, element by element."""

from __future__ import annotations

import math

import numpy as np

from runtime.onnx.call import Call, Translation

_SAME = {
    "abs": "Abs",
    "arccos": "Acos",
    "arccosh": "Acosh",
    "arcsin": "Asin",
    "arcsinh": "Asinh",
    "arctan": "Atan",
    "arctanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
"""Functions that ONNX has."""


def _same(operator: str) -> Translation:
    return lambda call: call.add(operator, call.x)


def _scaled(operator: str, factor: float) -> Translation:
    """A function of ONNX, times a number."""
    return lambda call: call.add("Mul", call.add(operator, call.x), call.number(factor))


def _times(factor: float) -> Translation:
    return lambda call: call.add("Mul", call.x, call.number(factor))


def _square(call: Call) -> str:
    return call.add("Mul", call.x, call.x)


def _rsqrt(call: Call) -> str:
    return call.add("Reciprocal", call.add("Sqrt", call.x))


def _cbrt(call: Call) -> str:
    root = call.add("Pow", call.add("Abs", call.x), call.number(1 / 3))
    return call.add("Mul", call.add("Sign", call.x), root)


def _rcbrt(call: Call) -> str:
    return call.add("Reciprocal", _cbrt(call))


def _log1p(call: Call) -> str:
    return call.add("Log", call.add("Add", call.x, call.number(1)))


def _expm1(call: Call) -> str:
    return call.add("Sub", call.add("Exp", call.x), call.number(1))


def _rint(call: Call) -> str:
    """Halves go down."""
    return call.add("Ceil", call.add("Sub", call.x, call.number(0.5)))


def _round(call: Call) -> str:
    """Halves go away from zero."""
    size = call.add("Floor", call.add("Add", call.add("Abs", call.x), call.number(0.5)))
    return call.add("Mul", call.add("Sign", call.x), size)


def _trunc(call: Call) -> str:
    return call.add("Mul", call.add("Sign", call.x), call.add("Floor", call.add("Abs", call.x)))


def _logical_not(call: Call) -> str:
    return call.cast(call.add("Equal", call.x, call.number(0)), call.dtype_of_output())


def _smooth_l1(call: Call) -> str:
    """Near zero (s x)^2/2, elsewhere |x| - 1/(2 s^2)."""
    squared = call.values["scalar"] ** 2
    size = call.add("Abs", call.x)
    near = call.add("Mul", call.add("Mul", call.x, call.x), call.number(squared / 2))
    far = call.add("Sub", size, call.number(0.5 / squared))
    return call.add("Where", call.add("Less", size, call.number(1 / squared)), near, far)


def _quadratic(call: Call) -> str:
    a, b, c = (call.number(call.values[key]) for key in "abc")
    inner = call.add("Add", call.add("Mul", call.x, a), b)
    return call.add("Add", call.add("Mul", inner, call.x), c)


def _filled(value: float) -> Translation:
    """An array of the input's shape."""

    def translate(call: Call) -> str:
        return call.add("ConstantOfShape", call.add("Shape", call.x), value=np.array([value], call.dtype_of_output()))

    return translate


def _cast(call: Call) -> str:
    return call.cast(call.x, call.dtype_of_output())


def _multicast(call: Call) -> list[str]:
    return [call.cast(x, call.dtype_of_output(i)) for i, x in enumerate(call.inputs)]


TRANSLATIONS: dict[str, Translation] = {
    **{name: _same(operator) for name, operator in _SAME.items()},
    "log2": _scaled("Log", 1 / math.log(2)),
    "log10": _scaled("Log", 1 / math.log(10)),
    "degrees": _times(180 / math.pi),
    "radians": _times(math.pi / 180),
    "square": _square,
    "rsqrt": _rsqrt,
    "cbrt": _cbrt,
    "rcbrt": _rcbrt,
    "log1p": _log1p,
    "expm1": _expm1,
    "rint": _rint,
    "round": _round,
    "fix": _trunc,
    "trunc": _trunc,
    "logical_not": _logical_not,
    "smooth_l1": _smooth_l1,
    "_contrib_quadratic": _quadratic,
    "zeros_like": _filled(0),
    "ones_like": _filled(1),
    "Cast": _cast,
    "amp_cast": _cast,
    "amp_multicast": _multicast,
}
