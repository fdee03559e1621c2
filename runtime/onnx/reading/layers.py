"""Products, convolutions, pooling, normalizations."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from runtime import symbol as sym
from runtime.onnx.reading.node import Node, Reading
from runtime.symbol import Symbol

_LOWEST = float(np.finfo(np.float32).min)


# ---------------------------------------------------------------- products


def _gemm(node: Node) -> Symbol:
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    left, right = bool(node.get("transA", 0)), bool(node.get("transB", 0))
    weight = node.constant(1)
    x = sym.flatten(node.x)  # is a matrix already; programs take a classifier's features by this node's name in MXNet
    if (
        weight is not None
        and not left
        and alpha == 1
        and (not node.has(2) or (beta == 1 and node.shape(2) is not None))
    ):
        units = weight.shape[0 if right else 1]
        bias = node.shape(2) == (units,) if node.has(2) else True
        if bias:
            w = node.symbol(1) if right else node.made(np.ascontiguousarray(weight.T), node.input_names[1], "T")
            given = [node.symbol(2)] if node.has(2) else []
            return sym.FullyConnected(x, w, *given, num_hidden=units, no_bias=not given, name=node.name or None)
    product = sym.dot(x, node.symbol(1), transpose_a=left, transpose_b=right)
    product = product if alpha == 1 else product * alpha
    return sym.broadcast_add(product, node.symbol(2) * beta) if node.has(2) else product


def _mat_mul(node: Node) -> Symbol:
    ranks = node.rank(0), node.rank(1)
    if ranks[1] <= 2:
        return sym.dot(node.x, node.symbol(1))
    if ranks[0] == ranks[1] and node.shape(0)[:-2] == node.shape(1)[:-2] and -1 not in node.shape(0)[:-2]:
        return sym.linalg.gemm2(node.x, node.symbol(1))
    if min(ranks) < 2:
        node.fail("it multiplies a vector by a stack of matrices")
    batch = node.output_shape()[:-2]
    return sym.linalg.gemm2(*(node.broadcast(i, (*batch, *node.closed(i)[-2:])) for i in range(2)))


# ---------------------------------------------------------------- windows


def _window(node: Node, kernel: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Kernel, stride, dilation, and the padding before and after, one number for each axis."""
    ones = (1,) * len(kernel)
    stride, dilate = node.ints("strides") or ones, node.ints("dilations") or ones
    pads = node.ints("pads") or (0,) * (2 * len(kernel))
    begin, end = pads[: len(kernel)], pads[len(kernel) :]
    automatic = node.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        missing = [
            max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            for n, k, s, d in zip(node.closed()[2:], kernel, stride, dilate, strict=True)
        ]
        begin = tuple(n // 2 if automatic == "SAME_UPPER" else -(-n // 2) for n in missing)
        end = tuple(n - b for n, b in zip(missing, begin, strict=True))
    elif automatic == "VALID":
        begin = end = (0,) * len(kernel)
    return {"kernel": tuple(kernel), "stride": stride, "dilate": dilate, "begin": begin, "end": end}


def padded(
    x: Symbol, rank: int, begin: Sequence[int], end: Sequence[int], value: float, mode: str = "constant"
) -> Symbol:
    """The array with so much around its last axes."""
    more = max(0, 4 - rank) if len(begin) <= 2 else 5 - rank  # operators pad the last two axes of 4, or three of 5
    more += rank + more - 4 < 0
    for _ in range(more):
        x = sym.expand_dims(x, axis=0)
    fixed = rank + more - len(begin)
    widths = (0, 0) * fixed + tuple(n for pair in zip(begin, end, strict=True) for n in pair)
    x = sym.pad(x, mode=mode, pad_width=widths, constant_value=value)
    for _ in range(more):
        x = sym.squeeze(x, axis=0)
    return x


def _conv(node: Node) -> Symbol:
    shape = node.closed(1)
    w = _window(node, node.ints("kernel_shape") or shape[2:])
    x, pad = node.x, w["begin"]
    if w["begin"] != w["end"]:
        x, pad = padded(x, len(shape), w["begin"], w["end"], 0.0), (0,) * len(pad)
    given = [node.symbol(i) for i in (1, 2) if node.has(i)]
    return sym.Convolution(
        x,
        *given,
        kernel=w["kernel"],
        stride=w["stride"],
        dilate=w["dilate"],
        pad=pad,
        num_filter=shape[0],
        num_group=node.get("group", 1),
        no_bias=len(given) == 1,
        name=node.name or None,
    )


def _conv_transpose(node: Node) -> Symbol:
    shape, group = node.closed(1), node.get("group", 1)
    w = _window(node, node.ints("kernel_shape") or shape[2:])
    adjust = node.ints("output_padding") or (0,) * len(w["kernel"])
    if node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.ints("output_shape"):
        node.fail("its padding follows from the shape of the output")
    given = [node.symbol(i) for i in (1, 2) if node.has(i)]
    even = tuple(min(pair) for pair in zip(w["begin"], w["end"], strict=True))
    y = sym.Deconvolution(
        node.x,
        *given,
        kernel=w["kernel"],
        stride=w["stride"],
        dilate=w["dilate"],
        pad=even,
        adj=adjust,
        num_filter=shape[1] * group,
        num_group=group,
        no_bias=len(given) == 1,
        name=node.name or None,
    )
    for axis, (p, begin, end) in enumerate(zip(even, w["begin"], w["end"], strict=True), 2):
        if begin > p or end > p:
            y = sym.slice_axis(y, axis=axis, begin=begin - p, end=None if end == p else p - end)
    return y


def _pool(kind: str) -> Reading:
    def reading(node: Node) -> Symbol:
        w = _window(node, node.ints("kernel_shape") or node.fail("it has no kernel_shape"))
        if any(n != 1 for n in w["dilate"]) or len([name for name in node.output_names if name]) > 1:
            node.fail("windows with gaps, and places of maxima, are not there")
        options = {"kernel": w["kernel"], "stride": w["stride"]}
        up = bool(node.get("ceil_mode", 0))
        if up:
            options["pooling_convention"] = "full"
        if kind == "lp":
            options["p_value"] = node.get("p", 2)
        counted = bool(node.get("count_include_pad", 0))
        x = sym.abs(node.x) if kind == "lp" else node.x
        if w["begin"] == w["end"]:
            options |= {"pad": w["begin"]}
        else:
            sides = (len(w["kernel"]) + 2, w["begin"], w["end"])
            x = padded(x, *sides, _LOWEST if kind == "max" else 0.0)
            if kind == "avg" and not counted:
                ones = padded(sym.ones_like(node.x), *sides, 0.0)
                pooled = (sym.Pooling(one, pool_type="sum", **options) for one in (x, ones))
                y = operator.truediv(*pooled)
                return _inside(node, w, y) if up else y
        y = sym.Pooling(x, pool_type=kind, count_include_pad=counted, name=node.name or None, **options)
        return _inside(node, w, y) if up else y

    return reading


def _inside(node: Node, w: dict[str, tuple[int, ...]], y: Symbol) -> Symbol:
    """Without windows that begin in the padding behind the plane, which MXNet has where lengths are rounded up."""
    for i, (k, s, begin, end) in enumerate(zip(w["kernel"], w["stride"], w["begin"], w["end"], strict=True)):
        if s + end <= k:
            continue  # a window that begins there would be beyond the padding
        length = node.length(i + 2)
        last = -(-(length + begin + end - k) // s)
        if last * s >= length + begin:
            y = sym.slice_axis(y, axis=i + 2, begin=0, end=last)
    return y


def _global(kind: str) -> Reading:
    def reading(node: Node) -> Symbol:
        kernel = (1,) * (node.rank() - 2)
        p = {"p_value": node.get("p", 2)} if kind == "lp" else {}
        x = sym.abs(node.x) if kind == "lp" else node.x
        return sym.Pooling(x, kernel=kernel, global_pool=True, pool_type=kind, name=node.name or None, **p)

    return reading


# ---------------------------------------------------------------- normalizations


def _batch_norm(node: Node) -> Symbol:
    if node.get("training_mode", 0):
        node.fail("it is in training mode")
    given = node.symbols()[:5]
    options = {"eps": node.get("epsilon", 1e-5), "momentum": node.get("momentum", 0.9)}
    return sym.BatchNorm(*given, fix_gamma=False, name=node.name or None, **options)[0]


def _instance_norm(node: Node) -> Symbol:
    return sym.InstanceNorm(*node.symbols(), eps=node.get("epsilon", 1e-5), name=node.name or None)


def _layer_norm(node: Node) -> Symbol | list[Symbol]:
    rank, eps = node.rank(), node.get("epsilon", 1e-5)
    axis = node.axis(-1)
    given = node.symbols()[1:]
    if axis == rank - 1 and len(given) == 2 and len(node.output_names) == 1:
        return sym.LayerNorm(node.x, *given, axis=-1, eps=eps, name=node.name or None)
    axes = tuple(range(axis, rank))
    mean = sym.mean(node.x, axis=axes, keepdims=True)
    centred = sym.broadcast_sub(node.x, mean)
    deviation = sym.sqrt(sym.mean(sym.square(centred), axis=axes, keepdims=True) + eps)
    y = sym.broadcast_mul(sym.broadcast_div(centred, deviation), given[0])
    return [sym.broadcast_add(y, given[1]) if len(given) == 2 else y, mean, 1 / deviation]


def _lrn(node: Node) -> Symbol:
    options = {"alpha": node.get("alpha", 1e-4), "beta": node.get("beta", 0.75), "knorm": node.get("bias", 1.0)}
    return sym.LRN(node.x, nsize=node.get("size"), **options)


READINGS: dict[str, Reading] = {
    "Gemm": _gemm,
    "MatMul": _mat_mul,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _pool("max"),
    "AveragePool": _pool("avg"),
    "LpPool": _pool("lp"),
    "GlobalMaxPool": _global("max"),
    "GlobalAveragePool": _global("avg"),
    "GlobalLpPool": _global("lp"),
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "LRN": _lrn,
}
