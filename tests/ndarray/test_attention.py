"""The products of multi-head attention on interleaved projections, beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import MXNetError, nd
from tests.ndarray.gradients import check

RNG = np.random.default_rng(4)
LENGTH, KEYS, BATCH, HEADS, SIZE = 3, 5, 2, 4, 6


def projections(length: int, kinds: int) -> np.ndarray:
    return RNG.normal(size=(length, BATCH, HEADS, kinds, SIZE))


def flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:2], -1)


def scores(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    found = np.einsum("qbhs,kbhs->bhqk", queries, keys) / np.sqrt(SIZE)
    return found.reshape(BATCH * HEADS, *found.shape[2:])


def weighted(attention: np.ndarray, values: np.ndarray) -> np.ndarray:
    attention = attention.reshape(BATCH, HEADS, *attention.shape[1:])
    return flat(np.einsum("bhqk,kbhs->qbhs", attention, values))


def test_attention_to_itself() -> None:
    x = projections(LENGTH, 3)
    attention = RNG.random((BATCH * HEADS, LENGTH, LENGTH))
    found = nd.contrib.interleaved_matmul_selfatt_qk(nd.array(flat(x)), heads=HEADS)
    np.testing.assert_allclose(found.asnumpy(), scores(x[..., 0, :], x[..., 1, :]), rtol=1e-5, atol=1e-6)
    found = nd.contrib.interleaved_matmul_selfatt_valatt(nd.array(flat(x)), nd.array(attention), heads=HEADS)
    np.testing.assert_allclose(found.asnumpy(), weighted(attention, x[..., 2, :]), rtol=1e-5, atol=1e-6)


def test_attention_to_another_sequence() -> None:
    queries, x = projections(LENGTH, 1), projections(KEYS, 2)
    attention = RNG.random((BATCH * HEADS, LENGTH, KEYS))
    found = nd.contrib.interleaved_matmul_encdec_qk(nd.array(flat(queries)), nd.array(flat(x)), heads=HEADS)
    np.testing.assert_allclose(found.asnumpy(), scores(queries[..., 0, :], x[..., 0, :]), rtol=1e-5, atol=1e-6)
    found = nd.contrib.interleaved_matmul_encdec_valatt(nd.array(flat(x)), nd.array(attention), heads=HEADS)
    np.testing.assert_allclose(found.asnumpy(), weighted(attention, x[..., 1, :]), rtol=1e-5, atol=1e-6)


def test_gradients() -> None:
    def attention(x: nd.NDArray) -> nd.NDArray:
        scores = nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2)
        return nd.contrib.interleaved_matmul_selfatt_valatt(x, nd.softmax(scores), heads=2)

    check(attention, RNG.normal(size=(2, 2, 12)))


def test_errors() -> None:
    with pytest.raises(MXNetError, match=r"interleaved_matmul_selfatt_qk: projections of 2 heads must be .* 6\*size"):
        nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((2, 2, 10)), heads=2)
    with pytest.raises(MXNetError, match="projections of 0 heads"):
        nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((2, 2, 12)), heads=0)
