"""Tests that a generator of random numbers follows its distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

Generator = Callable[[int], np.ndarray]
"""Called with n, gives n independent samples."""


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """`nbuckets` intervals of equal probability, and their probabilities, from a quantile function."""
    if nbuckets < 1:
        raise ValueError(f"there is at least one bucket, not {nbuckets}")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(pairwise(edges)), [1 / nbuckets] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of samples lies within three of its standard deviations of `mu`."""
    mean = np.array(generator(nsamples)).mean()
    return bool(abs(mean - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of normal samples lies within three of its standard deviations of `sigma**2`."""
    variance = np.array(generator(nsamples)).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Generator, buckets: Sequence, probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Pearson's chi-square test: its p-value, and the counts observed and expected.

    Parameters
    ----------
    generator: gives samples.
    buckets: intervals in rising order, as pairs, which cover the distribution; or its values, if it is discrete.
    probs: the probability of each bucket.
    nsamples: how many samples are drawn.
    """
    if len(probs) != len(buckets):
        raise ValueError(f"{len(buckets)} buckets, but {len(probs)} probabilities")
    samples = np.asarray(generator(nsamples)).ravel()
    expected = (nsamples * np.array(probs, np.float32)).astype(np.int32)
    if isinstance(buckets[0], (list, tuple)):
        edges = np.ravel(buckets).astype(np.float32)
        if (np.diff(edges) < 0).any():
            raise ValueError(f"buckets must be in rising order and apart: {buckets}")
        places = np.searchsorted(edges, samples, side="right") // 2
        observed = np.array([(places == i).sum() for i in range(len(buckets))])
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    statistic = ((observed - expected) ** 2 / expected).sum()
    return _chi_square_tail(float(statistic), len(buckets) - 1), observed, expected


def _chi_square_tail(x: float, degrees: int) -> float:
    """The probability that a chi-square variable of that many degrees of freedom exceeds x.

    Two degrees more add one term of a finite sum (Abramowitz & Stegun 26.4.4 and 26.4.5).
    """
    if degrees < 1:
        return 1.0
    half = x / 2
    odd = degrees % 2
    tail = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    for k in range(2 - odd, degrees, 2):  # from k to k + 2 degrees
        if half > 0:
            tail += math.exp(k / 2 * math.log(half) - half - math.lgamma(k / 2 + 1))
    return min(tail, 1.0)


def verify_generator(
    generator: Generator,
    buckets: Sequence,
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """The p-values of `nrepeat` chi-square tests; AssertionError if less than a share of `success_rate` of them
    exceeds `alpha`."""
    results = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    p_values = [p for p, _, _ in results]
    if sum(p > alpha for p in p_values) < nrepeat * success_rate:
        counts = "".join(f"\nobserved {observed}, expected {expected}" for _, observed, expected in results)
        raise AssertionError(f"the chi-square test fails: p = {p_values} with buckets {buckets}, probs {probs}{counts}")
    return p_values
