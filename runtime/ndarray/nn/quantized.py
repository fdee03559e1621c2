"""Operators of networks in 8 bits. They have no gradients.

An array of 8 bits comes with `min` and `max`, arrays of one float each. The largest of their magnitudes, R, is what the
range of the type stands for: int8 q is q R/127.5, uint8 q is q R/255.5, and int32 q is q R/(2^31 - 1), as MXNet has
them on CPUs. Sums of products are of int32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.core.backend import array_module, device_scope
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.convolution import Convolution
from runtime.ndarray.nn.fully_connected import FullyConnected
from runtime.ndarray.nn.pooling import Pooling
from runtime.ndarray.shape.gather import Embedding
from runtime.ndarray.shape.reshape import flatten

__all__: list[str] = []
CONTRIB = (
    "dequantize", "quantize", "quantize_v2", "quantized_act", "quantized_batch_norm", "quantized_concat",
    "quantized_conv", "quantized_elemwise_add", "quantized_elemwise_mul", "quantized_embedding", "quantized_flatten",
    "quantized_fully_connected", "quantized_pooling", "requantize",
)  # fmt: skip

_RANGES = {"int8": 127.5, "uint8": 255.5, "int32": 2.0**31 - 1}
"""What the largest magnitude is divided into, by type."""


def _extent(low: NDArray | float, high: NDArray | float) -> float:
    """The largest magnitude of a range; MXNetError where an end is infinite or NaN."""
    ends = float(low), float(high)
    if not all(map(math.isfinite, ends)):
        raise MXNetError(f"numbers of 8 bits are for a finite range, not for {ends[0]} to {ends[1]}")
    return max(map(abs, ends))


def _level(name: str, x: NDArray, low: NDArray | float, high: NDArray | float) -> float:
    """What 1 stands for in an array."""
    kind = x._data.dtype.name
    if kind not in _RANGES:
        raise MXNetError(f"{name}: int8, uint8 or int32 is expected, not {kind}")
    return _extent(low, high) / _RANGES[kind]


def _of_type(name: str, x: NDArray, *kinds: str) -> NDArray:
    if x._data.dtype.name not in kinds:
        raise MXNetError(f"{name}: {' or '.join(kinds)} is expected, not {x._data.dtype.name}")
    return x


def _stored(x: NDArray, values: Any, kind: str) -> NDArray:
    """Values in levels, rounded to the nearest, where x lives; those that the type does not have become its ends."""
    limits = np.iinfo(kind)
    return NDArray(np.clip(np.rint(values), limits.min, limits.max).astype(kind), x._ctx)


def _bounds(x: NDArray, low: float, high: float) -> list[NDArray]:
    xp = array_module(x._data)
    return [NDArray(xp.asarray([value], np.float32), x._ctx) for value in (low, high)]


def _wide(x: NDArray) -> NDArray:
    """The same whole numbers in float64, which has all their products and sums."""
    with autograd.pause():
        return x.astype("float64")


# ---------------------------------------------------------------- from floats and back


def quantize(data: NDArray, min_range: NDArray, max_range: NDArray, out_type: str = "uint8") -> list[NDArray]:
    """`data` in 'int8' or 'uint8', and the range that this is for; uint8 has no negative numbers.

    The ends of the range are -127 and 127, or 255, of the type.
    """
    if out_type not in ("int8", "uint8"):
        raise MXNetError(f"quantize: out_type is 'int8' or 'uint8', not {out_type!r}")
    low, high = float(min_range), float(max_range)
    extent = _extent(low, high)
    with device_scope(data._ctx):
        found = _stored(data, data._data * (np.iinfo(out_type).max / extent if extent else 0.0), out_type)
    return [found, *_bounds(data, *((-extent, extent) if out_type == "int8" else (low, high)))]


def quantize_v2(
    data: NDArray, out_type: str = "int8", min_calib_range: float | None = None, max_calib_range: float | None = None
) -> list[NDArray]:
    """`data` in 'int8' or 'uint8', and its range: the one given, or that of the data.

    'auto' is uint8 for a range without negative numbers. What is in 8 bits already stays as it is.
    """
    kind = data._data.dtype.name
    if kind in ("int8", "uint8"):
        return [data, *_bounds(data, *((-127.5, 127.5) if kind == "int8" else (0.0, 255.5)))]
    if out_type not in ("auto", "int8", "uint8"):
        raise MXNetError(f"quantize_v2: out_type is 'auto', 'int8' or 'uint8', not {out_type!r}")
    low, high = _calibrated(data, min_calib_range, max_calib_range, lambda: (data._data.min(), data._data.max()))
    out_type = _signed(out_type, low)
    extent = _extent(low, high)
    with device_scope(data._ctx):
        found = _stored(data, data._data * (_RANGES[out_type] / extent if extent else 0.0), out_type)
    return [found, *_bounds(data, *((-extent, extent) if out_type == "int8" else (low, high)))]


def _calibrated(data: NDArray, low: float | None, high: float | None, measured: Any) -> tuple[float, float]:
    if low is None or high is None:
        with device_scope(data._ctx):
            low, high = map(float, measured())
    return low, high


def _signed(out_type: str, low: float) -> str:
    return out_type if out_type != "auto" else "uint8" if low >= 0 else "int8"


def dequantize(data: NDArray, min_range: NDArray, max_range: NDArray, out_type: str = "float32") -> NDArray:
    """The floats that an array of int8 or uint8 stands for."""
    _of_type("dequantize", data, "int8", "uint8")
    level = _level("dequantize", data, min_range, max_range)
    with device_scope(data._ctx):
        return NDArray((data._data * level).astype(np.float32), data._ctx)


def requantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: str = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> list[NDArray]:
    """An array of int32 in 8 bits, for the range given, or that of what is there, whose ends are as in `quantize`."""
    level = _level("requantize", _of_type("requantize", data, "int32"), min_range, max_range)
    with device_scope(data._ctx):
        values = data._data * level
    measured = min_calib_range is None or max_calib_range is None
    low, high = _calibrated(data, min_calib_range, max_calib_range, lambda: (values.min(), values.max()))
    out_type = _signed(out_type, low)
    extent, end = _extent(low, high), np.iinfo(out_type).max if measured else _RANGES[out_type]
    with device_scope(data._ctx):
        found = _stored(data, values * (end / extent if extent else 0.0), out_type)
    return [found, *_bounds(data, *((-extent, extent) if out_type == "int8" else (0.0, extent)))]


# ---------------------------------------------------------------- what keeps the range


def quantized_flatten(data: NDArray, min_data: NDArray, max_data: NDArray) -> list[NDArray]:
    """`flatten` of an array of 8 bits."""
    return [flatten(data), min_data, max_data]


def quantized_act(data: NDArray, min_data: NDArray, max_data: NDArray, act_type: str = "relu") -> list[NDArray]:
    """`relu` of an array of 8 bits; other activations are not there."""
    if act_type != "relu":
        raise MXNetError(f"quantized_act: 'relu' alone is computed, not {act_type!r}")
    with device_scope(data._ctx):
        return [NDArray(np.maximum(data._data, 0), data._ctx), min_data, max_data]


def quantized_pooling(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    kernel: Sequence[int] = (),
    pool_type: str = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = "valid",
    stride: Sequence[int] = (),
    pad: Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
) -> list[NDArray]:
    """`Pooling`, by maxima or means, of an array of 8 bits, with its options; means are rounded."""
    if pool_type not in ("max", "avg"):
        raise MXNetError(f"quantized_pooling: pool_type is 'max' or 'avg', not {pool_type!r}")
    with autograd.pause():
        found = Pooling(
            _wide(data), kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad, p_value,
            count_include_pad, layout,
        )  # fmt: skip
    with device_scope(data._ctx):
        return [_stored(data, found._data, data._data.dtype.name), min_data, max_data]


def quantized_embedding(
    data: NDArray,
    weight: NDArray,
    min_weight: NDArray,
    max_weight: NDArray,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = None,
    sparse_grad: bool = False,
) -> list[NDArray]:
    """`Embedding` with a weight of 8 bits."""
    with autograd.pause():
        return [Embedding(data, weight, input_dim, output_dim), min_weight, max_weight]


# ---------------------------------------------------------------- other ranges


def quantized_concat(*data: NDArray, dim: int = 1, num_args: int | None = None) -> list[NDArray]:
    """Arrays of 8 bits behind each other, in levels of the widest range: the arrays, then the ranges of each, min and
    max in turn. They are int8 unless all are uint8."""
    n = len(data) // 3
    if n == 0 or len(data) != 3 * n:
        raise MXNetError(f"quantized_concat: for each array there are a min and a max; {len(data)} arrays are given")
    arrays, lows, highs = data[:n], data[n::2], data[n + 1 :: 2]
    low, high = min(map(float, lows)), max(map(float, highs))
    kind = "uint8" if all(x._data.dtype.name == "uint8" for x in arrays) else "int8"
    one = _RANGES[kind] / max(_extent(low, high), np.finfo(np.float32).tiny)
    with device_scope(arrays[0]._ctx):
        parts = [
            x._data * (_level("quantized_concat", x, a, b) * one) for x, a, b in zip(arrays, lows, highs, strict=True)
        ]
        return [_stored(arrays[0], np.concatenate(parts, dim), kind), *_bounds(arrays[0], low, high)]


def quantized_elemwise_add(
    lhs: NDArray,
    rhs: NDArray,
    lhs_min: NDArray,
    lhs_max: NDArray,
    rhs_min: NDArray,
    rhs_max: NDArray,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> list[NDArray]:
    """Sums of arrays of 8 bits: int8 for the range given, else int32."""
    name = "quantized_elemwise_add"
    levels = _level(name, lhs, lhs_min, lhs_max), _level(name, rhs, rhs_min, rhs_max)
    with device_scope(lhs._ctx):
        values = lhs._data * levels[0] + rhs._data * levels[1]
    widest = _extent(lhs_min, lhs_max) + _extent(rhs_min, rhs_max)
    return _result(lhs, values, widest, min_calib_range, max_calib_range)


def quantized_elemwise_mul(
    lhs: NDArray,
    rhs: NDArray,
    lhs_min: NDArray,
    lhs_max: NDArray,
    rhs_min: NDArray,
    rhs_max: NDArray,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> NDArray | list[NDArray]:
    """Products of arrays of 8 bits: floats if asked for, int8 for the range given, else int32."""
    name = "quantized_elemwise_mul"
    level = _level(name, lhs, lhs_min, lhs_max) * _level(name, rhs, rhs_min, rhs_max)
    with device_scope(lhs._ctx):
        values = lhs._data.astype(np.float64) * rhs._data * level
        if enable_float_output:
            return NDArray(values.astype(np.float32), lhs._ctx)
    return _result(lhs, values, level * _RANGES["int32"], min_calib_range, max_calib_range)


def _result(x: NDArray, values: Any, widest: float, low: float | None, high: float | None) -> list[NDArray]:
    """Values as int8 for a range that is given, else as int32 for one as far as `widest`."""
    with device_scope(x._ctx):
        if low is None or high is None:
            return [_stored(x, values * (_RANGES["int32"] / widest), "int32"), *_bounds(x, -widest, widest)]
        return [_stored(x, values * (_RANGES["int8"] / _extent(low, high)), "int8"), *_bounds(x, low, high)]


def quantized_batch_norm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> list[NDArray]:
    """`BatchNorm` with the moving statistics, of 8 bits, in int8 for the range, which must be given.

    `gamma` counts also with `fix_gamma`, as in MXNet, where networks that are quantized have ones there.
    """
    if min_calib_range is None or max_calib_range is None:
        raise MXNetError("quantized_batch_norm: min_calib_range and max_calib_range must be given")
    name = "quantized_batch_norm"
    level = _level(name, _of_type(name, data, "int8", "uint8"), min_data, max_data)
    shape = tuple(n if i == axis % data.ndim else 1 for i, n in enumerate(data.shape))
    with device_scope(data._ctx):
        a, b, mean, var = (x._data.reshape(shape) for x in (gamma, beta, moving_mean, moving_var))
        values = (data._data * level - mean) * (a / np.sqrt(var + eps)) + b
    return _result(data, values, 1.0, min_calib_range, max_calib_range)


# ---------------------------------------------------------------- products


def quantized_fully_connected(
    data: NDArray,
    weight: NDArray,
    *others: NDArray,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> list[NDArray]:
    """`FullyConnected` of 8 bits, in int32. `others` are the bias, int8, unless `no_bias`, then min and max of the
    data, of the weight, and of the bias."""
    bias, ranges = _split("quantized_fully_connected", others, no_bias)
    with autograd.pause():
        found = FullyConnected(_wide(data), _wide(weight), None, num_hidden, True, flatten)
    sums = found._data
    if bias is not None:
        own = _in_sums("quantized_fully_connected", data, weight, bias, ranges)
        with device_scope(data._ctx):
            sums = sums + own
    return _sums(data, weight, sums, ranges)


def quantized_conv(
    data: NDArray,
    weight: NDArray,
    *others: NDArray,
    kernel: Sequence[int] = (),
    stride: Sequence[int] = (),
    dilate: Sequence[int] = (),
    pad: Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> list[NDArray]:
    """`Convolution` of 8 bits, with its options, in int32. `others` are as in `quantized_fully_connected`."""
    bias, ranges = _split("quantized_conv", others, no_bias)
    with autograd.pause():
        own = None if bias is None else NDArray(_in_sums("quantized_conv", data, weight, bias, ranges), data._ctx)
        found = Convolution(
            _wide(data), _wide(weight), own, kernel, stride, dilate, pad, num_filter, num_group, no_bias=no_bias,
            layout=layout,
        )  # fmt: skip
    return _sums(data, weight, found._data, ranges)


def _split(name: str, others: Sequence[NDArray], no_bias: bool) -> tuple[NDArray | None, list[tuple[NDArray, NDArray]]]:
    """The bias, and the ranges of data, weight and bias."""
    bias = None if no_bias else others[0]
    bounds = others[not no_bias :]
    if len(bounds) != (4 if no_bias else 6):
        raise MXNetError(
            f"{name}: min and max of data, weight{'' if no_bias else ', bias'} are expected, not {len(bounds)} arrays"
        )
    return bias, list(zip(bounds[::2], bounds[1::2], strict=True))


def _in_sums(
    name: str, data: NDArray, weight: NDArray, bias: NDArray, ranges: Sequence[tuple[NDArray, NDArray]]
) -> Any:
    """The bias, in float64, in levels of products of data and weight."""
    levels = [_level(name, x, *ends) for x, ends in zip((data, weight, bias), ranges, strict=True)]
    product = levels[0] * levels[1]
    with device_scope(data._ctx):
        return np.trunc(bias._data * np.float64(levels[2] / product if product else 0.0))


def _sums(data: NDArray, weight: NDArray, sums: Any, ranges: Sequence[tuple[NDArray, NDArray]]) -> list[NDArray]:
    """Sums of products of data and weight as int32, and what range this is for."""
    level = 1.0
    for x, ends in zip((data, weight), ranges, strict=False):
        level *= _extent(*ends) / np.iinfo(x._data.dtype.name).max
    with device_scope(data._ctx):
        stored = _stored(data, sums, "int32")
    return [stored, *_bounds(data, -level * _RANGES["int32"], level * _RANGES["int32"])]
