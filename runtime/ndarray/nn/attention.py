"""`nd.contrib`: the products of multi-head attention, on projections that lie interleaved in one array."""

from __future__ import annotations

from runtime.base import ArgumentError
from runtime.ndarray.linalg.products import batch_dot
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.shape.reshape import reshape, transpose

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
    queries, keys, _ = _parts("interleaved_matmul_selfatt_qk", queries_keys_values, heads, 3)
    return batch_dot(div_sqrt_dim(queries), keys, transpose_b=True)


def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray, attention: NDArray, heads: int) -> NDArray:
    """The values weighted by `attention`, (batch*heads, length, length), of all heads: (length, batch, heads*size).

    `queries_keys_values` is as in `interleaved_matmul_selfatt_qk`.
    """
    *_, values = _parts("interleaved_matmul_selfatt_valatt", queries_keys_values, heads, 3)
    return _beside_each_other(batch_dot(attention, values), heads)


def interleaved_matmul_encdec_qk(queries: NDArray, keys_values: NDArray, heads: int) -> NDArray:
    """`interleaved_matmul_selfatt_qk` between two sequences: (batch*heads, queries, keys).

    `queries` is (queries, batch, heads*size); `keys_values` is (keys, batch, heads*2*size): of each head its key and
    its value.
    """
    (queries,) = _parts("interleaved_matmul_encdec_qk", queries, heads, 1)
    keys, _ = _parts("interleaved_matmul_encdec_qk", keys_values, heads, 2)
    return batch_dot(div_sqrt_dim(queries), keys, transpose_b=True)


def interleaved_matmul_encdec_valatt(keys_values: NDArray, attention: NDArray, heads: int) -> NDArray:
    """The values weighted by `attention`, (batch*heads, queries, keys), of all heads: (queries, batch, heads*size).

    `keys_values` is as in `interleaved_matmul_encdec_qk`.
    """
    _, values = _parts("interleaved_matmul_encdec_valatt", keys_values, heads, 2)
    return _beside_each_other(batch_dot(attention, values), heads)


def _parts(name: str, x: NDArray, heads: int, kinds: int) -> list[NDArray]:
    """(length, batch, heads*kinds*size) as `kinds` arrays of (batch*heads, length, size)."""
    if heads < 1 or x.ndim != 3 or x.shape[2] % (heads * kinds):
        raise ArgumentError(
            f"{name}: projections of {heads} heads must be (length, batch, {heads * kinds}*size), not {x.shape}"
        )
    length, batch, _ = x.shape
    apart = transpose(reshape(x, shape=(length, batch, heads, kinds, -1)), axes=(3, 1, 2, 0, 4))
    return list(reshape(apart, shape=(kinds, batch * heads, length, -1)))


def _beside_each_other(x: NDArray, heads: int) -> NDArray:
    """(batch*heads, length, size) as (length, batch, heads*size)."""
    _, length, size = x.shape
    apart = transpose(reshape(x, shape=(-1, heads, length, size)), axes=(2, 0, 1, 3))
    return reshape(apart, shape=(length, -1, heads * size))
