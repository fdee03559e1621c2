"""Philox against the published vectors, draws against mpmath and statistics.NormalDist."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from optgen.functions.math import random
from optgen.functions.math.normal_pieces import PIECES
from tests.ir.coefficients import fit_pieces, fit_quantile
from tests.ir.numpy_builder import NumpyBuilder

Array = Any
BUILDER = NumpyBuilder()
NORMAL = NormalDist()


def words(*values: Any) -> list[Array]:
    return [np.atleast_1d(np.array(v, np.uint32)).view(np.int32) for v in values]


@pytest.mark.parametrize(
    ("counter", "key", "want"),
    [  # kat_vectors of the authors' library Random123, philox4x32 with 10 rounds
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_words(counter: list[int], key: list[int], want: list[int]) -> None:
    k0, k1 = words(*key)
    c0, c1, c2, c3 = words(*counter)
    assert np.concatenate(random.philox(BUILDER, (c0, c1, c2, c3), (k0, k1))).view(np.uint32).tolist() == want


def test_uniform_is_open_symmetric_and_a_float32() -> None:
    top = np.arange(2**23, dtype=np.uint32) << 9
    x = random.uniform(BUILDER, top.view(np.int32))
    assert np.array_equal(x, (2 * np.arange(2**23) + 1) / 2**24)
    assert np.array_equal(x.astype(np.float32), x)
    assert np.array_equal(random.uniform(BUILDER, (~top).view(np.int32)), 1 - x)


def test_rademacher_is_the_sign_of_the_word() -> None:
    words = np.array([0, 1, 2**31 - 1, -1, -2, -(2**31)], np.int32)
    assert random.rademacher(BUILDER, words).tolist() == [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]


def hard_words(n: int) -> Array:
    """Below 2^31: the least, the largest, evenly spread ones and evenly spread logarithms."""
    rng = np.random.default_rng(3)
    edges = np.arange(n // 4)
    spread = np.concatenate([rng.integers(0, 2**31, n // 4), np.exp2(rng.uniform(0, 31, n // 4)).astype(np.int64)])
    return np.concatenate([edges, 2**31 - 1 - edges, spread]).astype(np.uint32)


def quantile_error(word: int, z: float) -> float:
    """The relative error of z as the normal quantile of (word + 1/2)/2^32, by one Newton step."""
    with mpmath.workdps(30):
        p = (mpf(word) + mpf(1) / 2) / 2**32
        return float(abs((mpmath.erfc(-mpf(z) / mpmath.sqrt(2)) / 2 - p) / mpmath.npdf(z) / z))


def test_normal_is_the_quantile() -> None:
    word = hard_words(2000)
    z = random.normal(BUILDER, word.view(np.int32))
    assert max(map(quantile_error, word.tolist(), z.tolist())) < 3e-15
    assert np.array_equal(random.normal(BUILDER, (~word).view(np.int32)), -z)


def test_normal_of_float32() -> None:
    """Against the quantile of p = (word | 1) 2^-32, from the median to both ends, and where pieces meet."""
    edges = np.array([2**k + d for k in range(1, 31) for d in range(-3, 4)])
    word = np.concatenate([hard_words(50_000), edges.astype(np.uint32)])
    single = random.normal_single(BUILDER, word.view(np.int32))
    assert single.dtype == np.float32
    exact = [NORMAL.inv_cdf(p) for p in (word | 1) / 2.0**32]
    assert np.max(np.abs(single - exact)) < 1.2e-6
    assert np.array_equal(random.normal_single(BUILDER, (~word).view(np.int32)), -single)


@pytest.mark.stress
def test_normal_draws_are_distributed_normally() -> None:
    """Ten million draws: Kolmogorov and Smirnov's distance, moments, and how many lie beyond tails down to 1e-6."""
    n = 10_000_000
    z = np.sort(drawn(n))
    places = np.linspace(-5, 5, 20_001)
    distance = np.max(np.abs(np.searchsorted(z, places) / n - [NORMAL.cdf(x) for x in places]))
    assert distance * np.sqrt(n) < 1.95  # exceeded once in a thousand times
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs(np.mean(z**power) - mean) < 5 * np.sqrt(variance / n)
    for p in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        for beyond in (z < NORMAL.inv_cdf(p), z > -NORMAL.inv_cdf(p)):
            assert abs(np.count_nonzero(beyond) - n * p) < 5 * np.sqrt(n * p)


def drawn(n: int) -> Array:
    """Draws of a tensor, by the words that the elements of a tensor take."""
    counter = np.arange(n // 4)
    zero = np.zeros_like(counter)
    made = random.philox(BUILDER, words(counter, zero, zero + 7, zero + 1), words(zero + 5, zero))
    return random.normal_single(BUILDER, np.stack(made, axis=1).reshape(-1)).astype(np.float64)


def test_constants_are_those_derived() -> None:
    assert fit_quantile("QUANTILE")[:2] == random.QUANTILE
    for found, wanted in zip(fit_pieces(), PIECES, strict=True):
        np.testing.assert_array_equal(np.float32(found), np.float32(wanted))
