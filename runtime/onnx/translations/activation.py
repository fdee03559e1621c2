"""Activations and softmax."""

from __future__ import annotations

import math

import numpy as np

from runtime.onnx.call import Call, Translation

_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "softrelu": "Softplus", "softsign": "Softsign", "tanh": "Tanh"}


def _activation(call: Call) -> str:
    return call.add(_ACTIVATIONS[call.values["act_type"]], call.x)


def _leaky(call: Call) -> str:
    values = call.values
    kind = values["act_type"]
    if kind == "elu":
        return call.add("Elu", call.x, alpha=values["slope"])
    if kind == "selu":
        return call.add("Selu", call.x)
    if kind == "gelu":
        return _gelu(call)
    if kind == "prelu":
        return _prelu(call)
    slope = values["slope"] if kind == "leaky" else (values["lower_bound"] + values["upper_bound"]) / 2
    return call.add("LeakyRelu", call.x, alpha=slope)


def _gelu(call: Call) -> str:
    erf = call.add("Erf", call.add("Mul", call.x, call.number(math.sqrt(0.5))))
    half = call.add("Mul", call.x, call.number(0.5))
    return call.add("Mul", half, call.add("Add", erf, call.number(1)))


def _prelu(call: Call) -> str:
    """A slope for all, one for each channel, axis 1, or one for each element of the first axes."""
    slopes, rank = call.shape(1), call.rank()
    shape = (*slopes, *(1,) * (rank - len(slopes) - (len(slopes) == 1)))
    return call.add("PRelu", call.x, call.inputs[1] if slopes in ((1,), shape) else call.reshape(call.inputs[1], shape))


def _hard_sigmoid(call: Call) -> str:
    return call.add("HardSigmoid", call.x, alpha=call.values["alpha"], beta=call.values["beta"])


def _clip(call: Call) -> str:
    return call.add("Clip", call.x, call.number(call.values["a_min"]), call.number(call.values["a_max"]))


# ---------------------------------------------------------------- softmax


def _softmax(call: Call) -> str:
    x = _tempered(call, call.x)
    if not call.values["use_length"]:
        return _typed(call, call.add("Softmax", x, axis=call.axis()))
    inside = _inside(call)
    masked = call.add("Where", inside, x, call.number(-math.inf))
    y = call.add("Where", inside, call.add("Softmax", masked, axis=call.axis()), call.number(0))
    return _typed(call, y)


def _inside(call: Call) -> str:
    """Whether each element is one of the first `length` along the axis."""
    axis, rank = call.axis(), call.rank()
    positions = np.arange(call.length(axis)).reshape([-1 if i == axis else 1 for i in range(rank)])
    lengths = call.cast(call.inputs[1], np.int64)
    shape = list(call.lengths(1))
    if shape.count(-1) > 1:
        call.shape(1)
    return call.add("Less", positions, call.reshape(lengths, [*shape[:axis], 1, *shape[axis:]]))


def _log_softmax(call: Call) -> str:
    if call.values.get("use_length"):
        call.fail("use_length is for softmax")
    return _typed(call, call.add("LogSoftmax", _tempered(call, call.x), axis=call.axis()))


def _softmin(call: Call) -> str:
    if call.values.get("use_length"):
        call.fail("use_length is for softmax")
    return _typed(call, call.add("Softmax", _tempered(call, call.add("Neg", call.x)), axis=call.axis()))


def _tempered(call: Call, x: str) -> str:
    temperature = call.values["temperature"]
    return x if temperature in (None, 1) else call.add("Div", x, call.number(temperature))


def _typed(call: Call, y: str) -> str:
    wanted = call.dtype_of_output()
    return y if wanted == call.dtype else call.cast(y, wanted)


def over_samples(call: Call) -> str:
    """Softmax over all elements of each sample."""
    if call.rank() == 2:
        return call.add("Softmax", call.x, axis=1)
    return call.fitted(call.add("Softmax", call.add("Flatten", call.x), axis=1))


def _softmax_activation(call: Call) -> str:
    return over_samples(call) if call.values["mode"] == "instance" else call.add("Softmax", call.x, axis=1)


TRANSLATIONS: dict[str, Translation] = {
    "Activation": _activation,
    "LeakyReLU": _leaky,
    "hard_sigmoid": _hard_sigmoid,
    "clip": _clip,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmin": _softmin,
    "SoftmaxActivation": _softmax_activation,
}
