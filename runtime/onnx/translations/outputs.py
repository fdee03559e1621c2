"""What does nothing when a network predicts, and the layers that MXNet's symbolic networks end with."""

from __future__ import annotations

from runtime.onnx.call import Call, Translation
from runtime.onnx.translations.activation import over_samples


def _identity(call: Call) -> str:
    return call.x


def _dropout(call: Call) -> str:
    if call.values["mode"] == "always":
        call.fail("its mode is 'always': it draws when the network predicts, too")
    return call.x


def _softmax_output(call: Call) -> str:
    if call.values["multi_output"]:
        return call.add("Softmax", call.x, axis=1)
    return call.add("Softmax", call.x, axis=-1) if call.values["preserve_shape"] else over_samples(call)


def _logistic(call: Call) -> str:
    return call.add("Sigmoid", call.x)


_IDENTITIES = [
    "_copy",
    "BlockGrad",
    "MakeLoss",
    "make_loss",
    "LinearRegressionOutput",
    "MAERegressionOutput",
    "SVMOutput",
    "_contrib_gradientmultiplier",
    "_identity_with_attr_like_rhs",
]

TRANSLATIONS: dict[str, Translation] = {
    **dict.fromkeys(_IDENTITIES, _identity),
    "Dropout": _dropout,
    "SoftmaxOutput": _softmax_output,
    "LogisticRegressionOutput": _logistic,
}
