"""Operators on single elements as expressions of the loops' language, by name: those that kernels are fused of.

{0}, {1}, ... are the inputs; words in braces are attributes. Of the gradient of an operator with two gradients, whose
name ends in `_backward`, the inputs are the gradient of the output, the output, and the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

EXPRESSIONS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "maximum": "({0} if {0} != {0} else ({1} if {1} != {1} else max({0}, {1})))",
    "minimum": "({0} if {0} != {0} else ({1} if {1} != {1} else min({0}, {1})))",
    "equal": "(1.0 if {0} == {1} else 0.0)",
    "not_equal": "(1.0 if {0} != {1} else 0.0)",
    "greater": "(1.0 if {0} > {1} else 0.0)",
    "greater_equal": "(1.0 if {0} >= {1} else 0.0)",
    "lesser": "(1.0 if {0} < {1} else 0.0)",
    "lesser_equal": "(1.0 if {0} <= {1} else 0.0)",
    "logical_not": "(1.0 if {0} == 0.0 else 0.0)",
    "negative": "-{0}",
    "abs": "abs({0})",
    "square": "{0} * {0}",
    "sign": "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0))",
    "zeros_like": "0.0",
    "ones_like": "1.0",
    "make_loss": "{0}",
    "identity": "{0}",
    "BlockGrad": "{0}",
    "reshape_copy": "{0}",
    "sqrt": "sqrt({0})",
    "rsqrt": "1.0 / sqrt({0})",
    "reciprocal": "1.0 / {0}",
    "relu": "max({0}, 0.0)",
    "relu_backward": "{0} * (1.0 if {1} > 0.0 else abs({1}))",
    "relu_slope": "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else {0}))",
    "tanh": "tanh({0})",
    "tanh_backward": "{0} * (1.0 - {1} * {1})",
    "sigmoid": "sigmoid({0})",
    "sigmoid_backward": "(1.0 - {1}) * {1} * {0}",
    "leaky": "{0} * (1.0 if {0} > 0.0 else {slope})",
    "leaky_backward": "{0} * (1.0 if {2} > 0.0 else {slope})",
    "clip": "min(max({0}, {a_min}), {a_max})",
    "saturated": "min(max({0}, 0.0), 1.0)",
}
"""The result of each is that of the operator, but for signs of zeros, and for tanh and sigmoid: these differ in the
last places, and where sigmoid is below 1e-34."""
WORK = {"tanh": 8, "sigmoid": 8, "divide": 4, "sqrt": 4, "rsqrt": 8, "reciprocal": 4}
"""The work of an element, in additions, where it is more than one."""


def expression(name: str, attrs: Mapping[str, Any], inputs: int) -> str | None:
    """The expression of an operator with these attributes and so many inputs, in which {0}, {1}, ... are left.

    None if there is none.
    """
    if name == "add_n":
        return " + ".join(f"{{{i}}}" for i in range(inputs))
    text = EXPRESSIONS.get(name)
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
