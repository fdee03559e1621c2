"""Pooling. Windows are counted here, as MXNet counts them, and what they cover beyond the padding is stated."""

from __future__ import annotations

import numpy as np

from runtime.onnx.call import Call, Translation, ints


def _pooling(call: Call) -> str:
    kind, layout = call.values["pool_type"], call.values["layout"]
    if layout not in (None, "NCW", "NCHW", "NCDHW"):
        call.fail(f"its layout is {layout}, and ONNX has channels before the picture")
    if kind != "lp":
        return _pooled(call, call.x, kind)
    p = call.values["p_value"]
    return call.add("Pow", _pooled(call, call.add("Pow", call.x, call.number(p)), "sum"), call.number(1 / p))


def _pooled(call: Call, x: str, kind: str) -> str:
    if call.values["global_pool"]:
        if kind == "sum":
            return call.add("ReduceSum", x, ints(range(2, call.rank())))
        return call.add({"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}[kind], x)
    kernel = call.values["kernel"]
    stride, pad = call.values["stride"] or (1,) * len(kernel), call.values["pad"] or (0,) * len(kernel)
    window = {"kernel_shape": kernel, "strides": stride}
    full = call.values["pooling_convention"] == "full"
    if full and kind == "max" and -1 in call.lengths()[2:]:
        return call.add("MaxPool", x, pads=pad * 2, ceil_mode=1, **window)
    beyond = _beyond(call, kernel, stride, pad)
    pads = (*pad, *(p + more for p, more in zip(pad, beyond, strict=True)))
    if kind == "max":
        return call.add("MaxPool", x, pads=pads, **window)
    if kind == "sum":
        mean = call.add("AveragePool", x, pads=pads, count_include_pad=1, **window)
        return call.add("Mul", mean, call.number(float(np.prod(kernel))))
    if call.values["count_include_pad"] is False or not any(pads):
        return call.add("AveragePool", x, pads=pads, **window)
    if not any(beyond):
        return call.add("AveragePool", x, pads=pads, count_include_pad=1, **window)
    # The padding counts, and what windows cover beyond it does not.
    padded = call.add("Pad", x, ints((0, 0, *pad) * 2))
    return call.add("AveragePool", padded, pads=(0,) * len(kernel) + beyond, **window)


def _beyond(call: Call, kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...]) -> tuple[int, ...]:
    """How far the last windows reach beyond the padding, along each axis; ONNX counts windows that fit."""
    if call.values["pooling_convention"] == "valid":
        return (0,) * len(kernel)
    found = []
    for i, (k, s, p) in enumerate(zip(kernel, stride, pad, strict=True)):
        n, windows = call.length(2 + i), call.output_length(2 + i)
        found.append(max(0, (windows - 1) * s + k - n - 2 * p))
        if p + found[-1] >= k:
            call.fail(f"a window of the convention '{call.values['pooling_convention']}' covers nothing but padding")
    return tuple(found)


def _adaptive(call: Call) -> str:
    """Means over windows that share the picture, as products with matrices from both sides."""
    wanted = call.values["output_size"]
    if wanted in ((), (1,), (1, 1)):
        return call.add("GlobalAveragePool", call.x)
    rows, columns = (_shares(call.length(2 + i), call.output_length(2 + i)).astype(call.dtype) for i in range(2))
    return call.add("MatMul", call.add("MatMul", rows, call.x), np.ascontiguousarray(columns.T))


def _shares(length: int, windows: int) -> np.ndarray:
    """The matrix, (windows, length), of the means over elements i length/windows to (i + 1) length/windows."""
    found = np.zeros((windows, length))
    for i in range(windows):
        begin, end = i * length // windows, -(-(i + 1) * length // windows)
        found[i, begin:end] = 1 / (end - begin)
    return found


TRANSLATIONS: dict[str, Translation] = {"Pooling": _pooling, "_contrib_AdaptiveAvgPooling2D": _adaptive}
