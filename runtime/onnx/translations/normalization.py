"""Normalization, by the statistics that training left or by those of the data."""

from __future__ import annotations

import numpy as np

from runtime.onnx.call import Call, Given, Translation, ints


def _batch_norm(call: Call) -> str:
    x, gamma, *others = call.inputs
    scale: Given = gamma
    axis = call.axis()
    if call.values["fix_gamma"]:
        scale = np.ones(call.length(axis), call.types[call.node.inputs[1]])
    axes = [i for i in range(call.rank()) if i != axis]
    axes.insert(1, axis)  # ONNX's channels are axis 1
    if axis != 1:
        x = call.transpose(x, axes)
    y = call.add("BatchNormalization", x, scale, *others, epsilon=call.values["eps"])
    return y if axis == 1 else call.transpose(y, np.argsort(axes).tolist())


def _batch_norm_relu(call: Call) -> str:
    return call.add("Relu", _batch_norm(call))


def _layer_norm(call: Call) -> str:
    axis, last = call.axis(), call.rank() - 1
    axes = list(range(call.rank()))
    axes[axis], axes[last] = last, axis
    x = call.x if axis == last else call.transpose(call.x, axes)
    y = call.add("LayerNormalization", x, *call.inputs[1:], epsilon=call.values["eps"])
    return y if axis == last else call.transpose(y, axes)


def _instance_norm(call: Call) -> str:
    return call.add("InstanceNormalization", *call.inputs, epsilon=call.values["eps"])


def _group_norm(call: Call) -> str:
    """ONNX's InstanceNormalization of groups in the place of channels."""
    grouped = call.reshape(call.x, (0, call.values["num_groups"], -1))
    y = call.add("InstanceNormalization", grouped, *call.inputs[1:], epsilon=call.values["eps"])
    return call.fitted(y)


def _l2_normalization(call: Call) -> str:
    first, last = {"instance": (1, call.rank()), "channel": (1, 2), "spatial": (2, call.rank())}[call.values["mode"]]
    squares = call.add("ReduceSumSquare", call.x, axes=list(range(first, last)))
    return call.add("Div", call.x, call.add("Sqrt", call.add("Add", squares, call.number(call.values["eps"]))))


def _lrn(call: Call) -> str:
    values = call.values
    settings = {"alpha": values["alpha"], "beta": values["beta"], "bias": values["knorm"]}
    return call.add("LRN", call.x, size=values["nsize"], **settings)


def _moments(call: Call) -> list[str]:
    axes = list(call.values["axes"] or range(call.rank()))
    mean = call.add("ReduceMean", call.x, axes=axes)
    distance = call.add("Sub", call.x, mean)
    variance = call.add("ReduceMean", call.add("Mul", distance, distance), axes=axes)
    if call.values["keepdims"]:
        return [mean, variance]
    if len(axes) == call.rank():
        return [call.reshape(mean, (1,)), call.reshape(variance, (1,))]
    return [call.add("Squeeze", x, ints(axes)) for x in (mean, variance)]


TRANSLATIONS: dict[str, Translation] = {
    "BatchNorm": _batch_norm,
    "_contrib_SyncBatchNorm": _batch_norm,
    "_contrib_BatchNormWithReLU": _batch_norm_relu,
    "LayerNorm": _layer_norm,
    "InstanceNorm": _instance_norm,
    "GroupNorm": _group_norm,
    "L2Normalization": _l2_normalization,
    "LRN": _lrn,
    "moments": _moments,
}
