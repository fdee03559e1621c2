"""Functions of single elements, arithmetic and comparisons."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from runtime import symbol as sym
from runtime.onnx.reading.node import Node, Reading
from runtime.symbol import Symbol

_SAME = {
    **{name.capitalize(): name for name in ("abs", "ceil", "cos", "cosh", "erf", "exp", "floor", "log", "reciprocal")},
    **{name.capitalize(): name for name in ("relu", "sigmoid", "sign", "sin", "sinh", "softsign", "sqrt", "tan")},
    **{"Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan"},
    **{"Atanh": "arctanh", "Neg": "negative", "Not": "logical_not", "Tanh": "tanh", "Identity": "identity"},
}
_PAIRS = {
    **{"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"},
    **{"Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "lesser"},
    **{"LessOrEqual": "lesser_equal", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"},
}


def _same(name: str) -> Reading:
    return lambda node: getattr(sym, name)(node.x)


def _pair(name: str) -> Reading:
    return lambda node: getattr(sym, f"broadcast_{name}")(node.x, node.symbol(1))


def _all(combine: Callable[[Symbol, Symbol], Symbol]) -> Reading:
    return lambda node: functools.reduce(combine, node.symbols())


def _mean(node: Node) -> Symbol:
    return functools.reduce(sym.broadcast_add, node.symbols()) / len(node.values)


def _div(node: Node) -> Symbol:
    found = sym.broadcast_div(node.x, node.symbol(1))
    return found if node.dtype().kind == "f" else sym.trunc(found)


def _pow(node: Node) -> Symbol:
    exponent = node.symbol(1)
    if node.dtype(0) != node.dtype(1):
        exponent = sym.cast(exponent, dtype=node.dtype(0).name)
    return sym.broadcast_power(node.x, exponent)


def _round(node: Node) -> Symbol:
    """Halves become even numbers."""
    x = node.x
    upper = sym.floor(x + 0.5)
    return upper - (upper - x == 0.5) * (upper % 2)


def _mod(node: Node) -> Symbol:
    x, y = node.x, node.symbol(1)
    if not node.get("fmod", 0):
        return sym.broadcast_mod(x, y)
    return sym.broadcast_sub(x, sym.broadcast_mul(y, sym.trunc(sym.broadcast_div(x, y))))


def _leaky(kind: str, slope: float) -> Reading:
    return lambda node: sym.LeakyReLU(node.x, act_type=kind, slope=node.get("alpha", slope))


def _prelu(node: Node) -> Symbol:
    return sym.broadcast_add(sym.relu(node.x), sym.broadcast_mul(-sym.relu(-node.x), node.symbol(1)))


def _selu(node: Node) -> Symbol:
    alpha, gamma = node.get("alpha", 1.67326324), node.get("gamma", 1.05070098)
    return gamma * sym.LeakyReLU(node.x, act_type="elu", slope=alpha)


def _gelu(node: Node) -> Symbol:
    x = node.x
    if node.get("approximate", "none") == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    return 0.5 * x * (1 + sym.tanh((x + 0.044715 * x * x * x) * float(np.sqrt(2 / np.pi))))


def _hard_sigmoid(node: Node) -> Symbol:
    return sym.hard_sigmoid(node.x, alpha=node.get("alpha", 0.2), beta=node.get("beta", 0.5))


def _clip(node: Node) -> Symbol:
    x = node.x
    for i, name, bound in ((1, "min", sym.broadcast_maximum), (2, "max", sym.broadcast_minimum)):
        limit = node.constant(i) if node.has(i) else node.get(name)
        if limit is not None:
            x = (sym.maximum if i == 1 else sym.minimum)(x, float(limit))
        elif node.has(i):
            x = bound(x, node.symbol(i))
    return x


def _cast(node: Node) -> Symbol:
    import onnx

    dtype = onnx.helper.tensor_dtype_to_np_dtype(node.get("to"))
    return node.x != 0 if dtype.kind == "b" else sym.cast(node.x, dtype=dtype.name)


def _dropout(node: Node) -> Symbol:
    training = node.constant(2)
    if node.has(2) and (training is None or training.any()):
        node.fail("it is in training mode")
    return sym.Dropout(node.x, p=float(node.array(1, "ratio")) if node.has(1) else node.get("ratio", 0.5))


def _where(node: Node) -> Symbol:
    shape = node.output_shape()
    return sym.where(*(node.broadcast(i, shape) for i in range(3)))


READINGS: dict[str, Reading] = {
    **{name: _same(found) for name, found in _SAME.items()},
    **{name: _pair(found) for name, found in _PAIRS.items()},
    "Div": _div,
    "Mod": _mod,
    "Pow": _pow,
    "Max": _all(sym.broadcast_maximum),
    "Min": _all(sym.broadcast_minimum),
    "Sum": _all(sym.broadcast_add),
    "Mean": _mean,
    "LeakyRelu": _leaky("leaky", 0.01),
    "Elu": _leaky("elu", 1.0),
    "PRelu": _prelu,
    "Selu": _selu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda node: node.x * sym.hard_sigmoid(node.x, alpha=1 / 6, beta=0.5),
    "Softplus": lambda node: sym.Activation(node.x, act_type="softrelu"),
    "Round": _round,
    "IsNaN": lambda node: node.x != node.x,
    "Clip": _clip,
    "Cast": _cast,
    "Dropout": _dropout,
    "Where": _where,
}
