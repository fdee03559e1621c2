"""`nd.contrib`: the products of multi-head attention, on projections that lie interleaved in one array."""

from __future__ import annotations

import math

import numpy as np

from runtime.base import ArgumentError
from runtime.core.kept import of_sizes
from runtime.core.threaded import takes
from runtime.native import transpose as native
from runtime.ndarray.linalg.products import batch_dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, repeating

__all__: list[str] = []
CONTRIB = (
    "div_sqrt_dim",
    "interleaved_matmul_encdec_qk",
    "interleaved_matmul_encdec_valatt",
    "interleaved_matmul_selfatt_qk",
    "interleaved_matmul_selfatt_valatt",
)


def div_sqrt_dim(data: NDArray) -> NDArray:
    """The elements over the square root of the length of the last axis."""
    return data / data.shape[-1] ** 0.5


def interleaved_matmul_selfatt_qk(queries_keys_values: NDArray, heads: int) -> NDArray:
    """How well keys fit queries, (batch*heads, length, length): their products over the square root of their size.

    `queries_keys_values` is (length, batch, heads*3*size): of each head its query, its key and its value.
    """
    queries, keys = _parts("interleaved_matmul_selfatt_qk", queries_keys_values, heads, 3, (0, 1))
    return batch_dot(div_sqrt_dim(queries), keys, transpose_b=True)


def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray, attention: NDArray, heads: int) -> NDArray:
    """The values weighted by `attention`, (batch*heads, length, length), of all heads: (length, batch, heads*size).

    `queries_keys_values` is as in `interleaved_matmul_selfatt_qk`.
    """
    (values,) = _parts("interleaved_matmul_selfatt_valatt", queries_keys_values, heads, 3, (2,))
    return _beside_each_other(batch_dot(attention, values), heads)


def interleaved_matmul_encdec_qk(queries: NDArray, keys_values: NDArray, heads: int) -> NDArray:
    """`interleaved_matmul_selfatt_qk` between two sequences: (batch*heads, queries, keys).

    `queries` is (queries, batch, heads*size); `keys_values` is (keys, batch, heads*2*size): of each head its key and
    its value.
    """
    (queries,) = _parts("interleaved_matmul_encdec_qk", queries, heads, 1, (0,))
    (keys,) = _parts("interleaved_matmul_encdec_qk", keys_values, heads, 2, (0,))
    return batch_dot(div_sqrt_dim(queries), keys, transpose_b=True)


def interleaved_matmul_encdec_valatt(keys_values: NDArray, attention: NDArray, heads: int) -> NDArray:
    """The values weighted by `attention`, (batch*heads, queries, keys), of all heads: (queries, batch, heads*size).

    `keys_values` is as in `interleaved_matmul_encdec_qk`.
    """
    (values,) = _parts("interleaved_matmul_encdec_valatt", keys_values, heads, 2, (1,))
    return _beside_each_other(batch_dot(attention, values), heads)


def _parts(name: str, x: NDArray, heads: int, kinds: int, wanted: tuple[int, ...]) -> list[NDArray]:
    """Of (length, batch, heads*kinds*size) the kinds that are wanted, each (batch*heads, length, size)."""
    if heads < 1 or x.ndim != 3 or x.shape[2] % (heads * kinds):
        raise ArgumentError(
            f"{name}: projections of {heads} heads must be (length, batch, {heads * kinds}*size), not {x.shape}"
        )
    return _apart(x, rows=x.shape[1] * heads, kinds=kinds, wanted=wanted)


def _beside_each_other(x: NDArray, heads: int) -> NDArray:
    """(batch*heads, length, size) as (length, batch, heads*size)."""
    rows, length, size = x.shape
    return _together(x, kinds=1, places=(0,), shape=(length, rows // heads, heads * size))


# ---------------------------------------------------------------- what lies interleaved


@repeating
@Operator
def _apart(x: np.ndarray, *, rows: int, kinds: int, wanted: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Of x, (length, rows, kinds, size) in any shape, the kinds that are wanted, each (rows, length, size)."""
    length, size = len(x), math.prod(x.shape[1:]) // (rows * kinds)
    if not takes(x):
        seen = x.reshape(length, rows, kinds, size)
        return tuple(seen[:, :, kind].swapaxes(0, 1).copy() for kind in wanted)
    found = tuple(np.empty((rows, length, size), x.dtype) for _ in wanted)
    for kind, y in zip(wanted, found, strict=True):
        native.take_kind(rows, y.size, x, y, kind, kinds, length, rows, size)
    return found


@repeating
@Operator
def _together(*arrays: np.ndarray, kinds: int, places: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """The way back: x of `shape` has the arrays as the kinds `places`, and 0 as others."""
    rows, length, size = arrays[0].shape
    x = np.empty_like(arrays[0], shape=shape)
    others = [kind for kind in range(kinds) if kind not in places]
    nothing = [_zeros_like(arrays[0])] * len(others) if others else []
    in_kernel = all(map(takes, arrays))
    for kind, y in zip((*places, *others), (*arrays, *nothing), strict=True):
        if in_kernel:
            native.put_kind(rows, y.size, y, x, kind, kinds, length, rows, size)
        else:
            x.reshape(length, rows, kinds, size)[:, :, kind] = y.swapaxes(0, 1)
    return x


@of_sizes
def _zeros_like(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


@_apart.gradient
def _(g: list, y: list, x: NDArray, *, rows: int, kinds: int, wanted: tuple[int, ...]) -> NDArray:
    given = [(kind, flow) for kind, flow in zip(wanted, g, strict=True) if flow is not None]
    places, flows = zip(*given, strict=True)
    return _together(*flows, kinds=kinds, places=places, shape=x.shape)


@_together.joint_gradient
def _(
    g: NDArray, y: NDArray, *arrays: NDArray, kinds: int, places: tuple[int, ...], shape: tuple[int, ...]
) -> list[NDArray]:
    return _apart(g, rows=len(arrays[0]), kinds=kinds, wanted=places)
