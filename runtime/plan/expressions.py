"""Operators on single elements as expressions of the loops' language: those that kernels are fused of.

{0}, {1}, ... are the inputs; words in braces are attributes. Of the gradient of an operator with two gradients, a
`BackwardCall`, the inputs are the gradient of the output, the output, and the inputs. Functions are those of
`native.formulas`, which the operators' own kernels call, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime.ndarray.elementwise import unary
from runtime.ndarray.elementwise.binary import OPERATORS, Sum
from runtime.ndarray.elementwise.unary import _clip, _ones_like, _zeros_like, relu_slope
from runtime.ndarray.nn.activation import _leaky, _saturated, relu, sigmoid
from runtime.ndarray.nn.output_ops import _make_loss
from runtime.ndarray.shape.reshape import _reshape_copy
from runtime.ndarray.two_gradients import BackwardCall

COPY, ADD = "{0}", "{0} + {1}"
RELU, RELU_GRADIENT = "relu_value({0})", "relu_gradient({0}, {1})"
EXPRESSIONS: dict[Any, str] = {
    OPERATORS["add"]: ADD,
    OPERATORS["subtract"]: "{0} - {1}",
    OPERATORS["multiply"]: "{0} * {1}",
    OPERATORS["divide"]: "{0} / {1}",
    OPERATORS["maximum"]: "({0} if {0} > {1} or {0} != {0} else {1})",
    OPERATORS["minimum"]: "({0} if {0} < {1} or {0} != {0} else {1})",
    OPERATORS["equal"]: "(1.0 if {0} == {1} else 0.0)",
    OPERATORS["not_equal"]: "(1.0 if {0} != {1} else 0.0)",
    OPERATORS["greater"]: "(1.0 if {0} > {1} else 0.0)",
    OPERATORS["greater_equal"]: "(1.0 if {0} >= {1} else 0.0)",
    OPERATORS["lesser"]: "(1.0 if {0} < {1} else 0.0)",
    OPERATORS["lesser_equal"]: "(1.0 if {0} <= {1} else 0.0)",
    unary.logical_not: "(1.0 if {0} == 0.0 else 0.0)",
    unary.negative: "-{0}",
    unary.abs: "abs({0})",
    unary.square: "{0} * {0}",
    unary.sign: "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0))",
    _zeros_like: "0.0",
    _ones_like: "1.0",
    unary.make_loss: COPY,
    _make_loss: COPY,
    unary.identity: COPY,
    unary.BlockGrad: COPY,
    _reshape_copy: COPY,
    unary.sqrt: "sqrt({0})",
    unary.rsqrt: "1.0 / sqrt({0})",
    unary.reciprocal: "1.0 / {0}",
    relu: RELU,
    BackwardCall(relu): RELU_GRADIENT,
    relu_slope: "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else abs({0})))",
    unary.tanh: "tanh_value({0})",
    BackwardCall(unary.tanh): "tanh_gradient({0}, {1})",
    sigmoid: "sigmoid_value({0})",
    BackwardCall(sigmoid): "sigmoid_gradient({0}, {1})",
    _leaky: "leaky_value({0}, {slope})",
    BackwardCall(_leaky): "leaky_gradient({0}, {2}, {slope})",
    _clip: "clip_value({0}, {a_min}, {a_max})",
    _saturated: "clip_value({0}, 0.0, 1.0)",
}
"""The result of each is that of the operator, with the sign of a zero.

Of two zeros, the larger and the smaller one are the second: so NumPy chooses on x86-64. Where it does not, it is asked.
"""
if not np.signbit(np.maximum(np.zeros(4, np.float32), np.full(4, -0.0, np.float32))).all():
    for _choice in (OPERATORS["maximum"], OPERATORS["minimum"], _clip):
        del EXPRESSIONS[_choice]
WORK = {
    unary.tanh: 8, sigmoid: 8, OPERATORS["divide"]: 4, unary.sqrt: 4, unary.rsqrt: 8, unary.reciprocal: 4,
}  # fmt: skip
"""The work of an element, in additions, where it is more than one."""


def expression(operator: Any, attrs: Mapping[str, Any], inputs: int) -> str | None:
    """The expression of an operator with these attributes and so many inputs, in which {0}, {1}, ... are left.

    None if there is none.
    """
    if isinstance(operator, Sum):
        return " + ".join(f"{{{i}}}" for i in range(inputs))
    text = EXPRESSIONS.get(operator)
    if text is None:
        return None
    for key, value in attrs.items():
        if "{" + key + "}" in text:
            number = literal(value)
            if number is None:
                return None
            text = text.replace("{" + key + "}", number)
    return text


def literal(value: Any) -> str | None:
    """A number in the language; None for what has no digits."""
    if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        return None
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"
