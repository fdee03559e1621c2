"""Products, convolutions, pooling, normalizations and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.runtime.onnx_nodes.drawn import Draw, Drawn, beside, floats, one_of, shape_of, some, whole


def gemm(draw: Draw) -> Drawn:
    m, k, n = draw.integers(1, 5, 3).tolist()
    left, right = draw.integers(0, 2, 2).tolist()
    inputs = [floats(draw, (k, m) if left else (m, k)), floats(draw, (n, k) if right else (k, n))]
    if draw.random() < 0.8:
        inputs.append(floats(draw, one_of(draw, [(n,), (m, n), (1, n), (m, 1), (1,), ()])))
    numbers = some(draw, alpha=one_of(draw, (1.0, 0.5)), beta=one_of(draw, (1.0, 0.25)))
    return Drawn(inputs, numbers | {"transA": left, "transB": right})


def mat_mul(draw: Draw) -> Drawn:
    m, k, n = draw.integers(1, 5, 3).tolist()
    batch = shape_of(draw, 1, 2)
    shapes = [
        ((m, k), (k, n)), ((k,), (k, n)), ((m, k), (k,)), ((k,), (k,)), ((*batch, m, k), (k, n)),
        ((*batch, m, k), (*batch, k, n)), ((*batch, m, k), (*beside(draw, batch), k, n)),
    ]  # fmt: skip
    return Drawn([floats(draw, shape) for shape in one_of(draw, shapes)])


def window(draw: Draw, rank: int) -> tuple[list[int], dict[str, Any]]:
    """A kernel, and the attributes that say how it moves."""
    kernel = draw.integers(1, 4, rank).tolist()
    attributes = some(
        draw,
        strides=draw.integers(1, 4, rank).tolist(),
        pads=[int(draw.integers(0, k)) for k in (*kernel, *kernel)],
        auto_pad=one_of(draw, ["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    )
    if attributes.get("auto_pad", "NOTSET") != "NOTSET":
        attributes.pop("pads", None)
        attributes |= {"strides": [min(s, k) for s, k in zip(attributes.get("strides", kernel), kernel, strict=True)]}
    return kernel, attributes  # where windows leave gaps, the two that run files disagree about SAME_...


def conv(draw: Draw) -> Drawn:
    rank, group = int(draw.integers(1, 4)), int(draw.integers(1, 3))
    kernel, attributes = window(draw, rank)
    dilated = attributes.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    attributes |= some(draw, dilations=draw.integers(1, 3, rank).tolist() if dilated else [1] * rank)
    channels, filters = group * int(draw.integers(1, 3)), group * int(draw.integers(1, 3))
    x = floats(draw, (2, channels, *draw.integers(5, 9, rank).tolist()))
    inputs = [x, floats(draw, (filters, channels // group, *kernel))]
    if draw.random() < 0.6:
        inputs.append(floats(draw, (filters,)))
    return Drawn(inputs, attributes | {"group": group} | some(draw, kernel_shape=kernel))


def conv_transpose(draw: Draw) -> Drawn:
    rank, group = int(draw.integers(1, 4)), int(draw.integers(1, 3))
    kernel, attributes = window(draw, rank)
    if attributes.get("auto_pad", "NOTSET") != "NOTSET":
        attributes["auto_pad"] = "VALID"
    strides = attributes.get("strides", [1] * rank)
    attributes |= some(
        draw,
        dilations=draw.integers(1, 3, rank).tolist(),
        output_padding=[int(draw.integers(0, s)) for s in strides],
        kernel_shape=kernel,
    )
    inputs = [
        floats(draw, (2, 2 * group, *draw.integers(3, 6, rank).tolist())),
        floats(draw, (2 * group, int(draw.integers(1, 3)), *kernel)),
    ]
    if draw.random() < 0.6:
        inputs.append(floats(draw, (inputs[1].shape[1] * group,)))
    return Drawn(inputs, attributes | {"group": group})


def pool(kind: str) -> Callable[[Draw], Drawn]:
    def drawn(draw: Draw) -> Drawn:
        rank = int(draw.integers(1, 4))
        kernel, attributes = window(draw, rank)
        attributes["kernel_shape"] = kernel
        if attributes.get("auto_pad", "NOTSET") == "NOTSET":
            attributes |= some(draw, ceil_mode=int(draw.integers(0, 2)))
        if kind == "Average":
            attributes |= some(draw, count_include_pad=int(draw.integers(0, 2)))
        if kind == "Lp":
            attributes |= some(draw, p=int(draw.integers(1, 4)))
        return Drawn([floats(draw, (2, 2, *draw.integers(4, 9, rank).tolist()))], attributes, opset=22)

    return drawn


def planes(draw: Draw) -> np.ndarray:
    return floats(draw, (2, int(draw.integers(1, 4)), *draw.integers(1, 6, draw.integers(1, 4)).tolist()))


def global_lp(draw: Draw) -> Drawn:
    return Drawn([planes(draw)], some(draw, p=int(draw.integers(1, 4))))


def batch_norm(draw: Draw) -> Drawn:
    x = planes(draw)
    given = [floats(draw, x.shape[1:2], 0.5, 2) for _ in range(4)]
    return Drawn([x, *given], some(draw, epsilon=0.1, momentum=0.5), fixed=(1, 2, 3, 4))


def instance_norm(draw: Draw) -> Drawn:
    x = planes(draw)
    return Drawn([x, floats(draw, x.shape[1:2]), floats(draw, x.shape[1:2])], some(draw, epsilon=0.1))


def layer_norm(draw: Draw) -> Drawn:
    shape = tuple(draw.integers(2, 5, draw.integers(2, 5)).tolist())
    axis = int(draw.integers(-len(shape), len(shape)))
    given = [floats(draw, shape[axis:]) for _ in range(draw.integers(1, 3))]
    attributes = some(draw, epsilon=0.1) | {"axis": axis}
    return Drawn([floats(draw, shape), *given], attributes, outputs=int(draw.integers(1, 4)))


def lrn(draw: Draw) -> Drawn:
    x = floats(draw, (2, 5, *draw.integers(2, 4, 2).tolist()))
    return Drawn([x], some(draw, alpha=0.1, beta=0.5, bias=2.0) | {"size": int(one_of(draw, (1, 3, 5)))})


PLACES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners")
ROUNDED = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resize(draw: Draw) -> Drawn:
    shape = (2, 2, *draw.integers(2, 5, 2).tolist())
    factors = draw.integers(1, 4, 2).tolist()
    sizes = one_of(draw, ([n * f for n, f in zip(shape[2:], factors, strict=True)], draw.integers(1, 9, 2).tolist()))
    attributes = some(
        draw,
        mode=one_of(draw, ("nearest", "linear")),
        coordinate_transformation_mode=one_of(draw, PLACES),
        nearest_mode=one_of(draw, ROUNDED),
    )
    ways: list = [
        [None, None, whole([2, 2, *sizes])],
        [None, np.array([1, 1, *factors], np.float32)],
    ]
    return Drawn([floats(draw, shape), *one_of(draw, ways)], attributes, fixed=(1, 2, 3))


def upsample(draw: Draw) -> Drawn:
    shape = (2, 2, *draw.integers(2, 5, 2).tolist())
    scales = np.array([1, 1, *draw.integers(1, 4, 2)], np.float32)
    return Drawn([floats(draw, shape), scales], some(draw, mode="nearest"), fixed=(1,), opset=9)
