"""Convolutions, and what makes pictures larger."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.onnx.call import Call, Translation, ints


def _window(call: Call) -> dict[str, Any]:
    """The attributes that ONNX's convolutions have in common."""
    values = call.values
    axes = len(values["kernel"])
    if values["layout"] not in (None, "NCW", "NCHW", "NCDHW"):
        call.fail(f"its layout is {values['layout']}, and ONNX has channels before the picture")
    return {
        "kernel_shape": values["kernel"],
        "strides": values["stride"] or (1,) * axes,
        "dilations": values["dilate"] or (1,) * axes,
        "group": values["num_group"],
    }


def _convolution(call: Call) -> str:
    pad = call.values["pad"] or (0,) * len(call.values["kernel"])
    return call.add("Conv", *call.inputs, pads=pad * 2, **_window(call))


def _deconvolution(call: Call) -> str:
    values = call.values
    window = _window(call)
    pad, adj = (values[key] or (0,) * len(values["kernel"]) for key in ("pad", "adj"))
    if any(values["target_shape"]):
        sizes = zip(window["strides"], window["dilations"], values["kernel"], values["target_shape"], strict=True)
        surplus = [s * (call.length(2 + i) - 1) + d * (k - 1) + 1 - wanted for i, (s, d, k, wanted) in enumerate(sizes)]
        pad, adj = tuple((n + 1) // 2 for n in surplus), tuple(n % 2 for n in surplus)
    return call.add("ConvTranspose", *call.inputs, pads=pad * 2, output_padding=adj, **window)


def _upsampling(call: Call) -> str:
    values = call.values
    scale = values["scale"]
    if values["sample_type"] == "bilinear":
        kernel, pad = 2 * scale - scale % 2, scale // 2
        return call.add(
            "ConvTranspose",
            *call.inputs,
            kernel_shape=[kernel, kernel],
            strides=[scale, scale],
            pads=[pad] * 4,
            group=values["num_filter"],
        )
    scales = [scale] + [scale * call.length(2) // call.length(2, i) for i in range(1, len(call.inputs))]
    parts = [_nearest(call, x, s) for x, s in zip(call.inputs, scales, strict=True)]
    if len(parts) == 1:
        return parts[0]
    return call.add("Concat", *parts, axis=1) if values["multi_input_mode"] == "concat" else call.add("Sum", *parts)


def _nearest(call: Call, x: str, scale: int) -> str:
    """Each pixel, `scale` times along both axes."""
    scales = np.array([1, 1, scale, scale], np.float32)
    settings = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    return call.add("Resize", x, None, scales, **settings)


def _bilinear_resize(call: Call) -> str:
    size = ints([call.output_length(axis) for axis in (2, 3)])
    sizes = call.add("Concat", call.add("Shape", call.x, end=2), size, axis=0)
    coordinates = "align_corners" if call.values["align_corners"] else "half_pixel"
    return call.add("Resize", call.x, None, None, sizes, mode="linear", coordinate_transformation_mode=coordinates)


TRANSLATIONS: dict[str, Translation] = {
    "Convolution": _convolution,
    "Deconvolution": _deconvolution,
    "UpSampling": _upsampling,
    "_contrib_BilinearResize2D": _bilinear_resize,
}
