"""The functions of `nd.random` under the names that MXNet's operators have in `nd`.

`random_...` takes numbers, `sample_...` arrays. An exponential distribution has its rate `lam`, not its mean, here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime.base import MXNetError, count
from runtime.context import Context, cpu
from runtime.ndarray.creation import Shape, place
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.random import distributions

__all__ = [
    "normal",
    "random_exponential",
    "random_gamma",
    "random_generalized_negative_binomial",
    "random_negative_binomial",
    "random_normal",
    "random_poisson",
    "random_randint",
    "random_uniform",
    "sample_exponential",
    "sample_gamma",
    "sample_generalized_negative_binomial",
    "sample_multinomial",
    "sample_negative_binomial",
    "sample_normal",
    "sample_poisson",
    "sample_uniform",
    "shuffle",
    "uniform",
]

CONTRIB = ("rand_zipfian",)

Out = NDArray | None


def random_uniform(
    low: float = 0,
    high: float = 1,
    shape: Shape | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
    out: Out = None,
) -> NDArray:
    """`random.uniform` of numbers."""
    return distributions.uniform(low, high, shape, dtype, ctx, out)


def random_normal(
    loc: float = 0,
    scale: float = 1,
    shape: Shape | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
    out: Out = None,
) -> NDArray:
    """`random.normal` of numbers."""
    return distributions.normal(loc, scale, shape, dtype, ctx, out)


def random_gamma(
    alpha: float = 1,
    beta: float = 1,
    shape: Shape | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
    out: Out = None,
) -> NDArray:
    """`random.gamma` of numbers."""
    return distributions.gamma(alpha, beta, shape, dtype, ctx, out)


def random_exponential(
    lam: float = 1, shape: Shape | None = None, ctx: Context | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.exponential` with the mean 1/lam."""
    _check_rate("random_exponential", lam > 0, lam)
    return distributions.exponential(1 / lam, shape, dtype, ctx, out)


def random_poisson(
    lam: float = 1, shape: Shape | None = None, ctx: Context | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.poisson` of a number."""
    return distributions.poisson(lam, shape, dtype, ctx, out)


def random_negative_binomial(
    k: float = 1,
    p: float = 1,
    shape: Shape | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
    out: Out = None,
) -> NDArray:
    """`random.negative_binomial` of numbers."""
    return distributions.negative_binomial(k, p, shape, dtype, ctx, out)


def random_generalized_negative_binomial(
    mu: float = 1,
    alpha: float = 1,
    shape: Shape | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
    out: Out = None,
) -> NDArray:
    """`random.generalized_negative_binomial` of numbers."""
    return distributions.generalized_negative_binomial(mu, alpha, shape, dtype, ctx, out)


def random_randint(
    low: int, high: int, shape: Shape | None = None, ctx: Context | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.randint`."""
    return distributions.randint(low, high, shape, dtype, ctx, out)


uniform, normal = random_uniform, random_normal


def sample_uniform(
    low: NDArray, high: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.uniform` of arrays."""
    return distributions.uniform(low, high, shape, dtype, out=out)


def sample_normal(
    mu: NDArray, sigma: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.normal` of arrays."""
    return distributions.normal(mu, sigma, shape, dtype, out=out)


def sample_gamma(
    alpha: NDArray, beta: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.gamma` of arrays."""
    return distributions.gamma(alpha, beta, shape, dtype, out=out)


def sample_exponential(lam: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None) -> NDArray:
    """`random.exponential` with the means 1/lam."""
    _check_rate("sample_exponential", bool((lam.asnumpy() > 0).all()), lam)
    return distributions.exponential(1 / lam, shape, dtype, out=out)


def sample_poisson(lam: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None) -> NDArray:
    """`random.poisson` of an array."""
    return distributions.poisson(lam, shape, dtype, out=out)


def sample_negative_binomial(
    k: NDArray, p: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.negative_binomial` of arrays."""
    return distributions.negative_binomial(k, p, shape, dtype, out=out)


def sample_generalized_negative_binomial(
    mu: NDArray, alpha: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.generalized_negative_binomial` of arrays."""
    return distributions.generalized_negative_binomial(mu, alpha, shape, dtype, out=out)


def sample_multinomial(
    data: NDArray, shape: Shape | None = None, get_prob: bool = False, dtype: Any = "int32", out: Any = None
) -> NDArray | list[NDArray]:
    """`random.multinomial`."""
    return distributions.multinomial(data, shape, get_prob, out, dtype)


shuffle = distributions.shuffle


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes below `range_max`, the smaller the likelier: class k has probability log((k + 2)/(k + 1)) divided by
    log(range_max + 1).

    Returns `num_sampled` of them (int64), and how often `true_classes`, and those drawn, are expected (float64).
    """
    num_sampled, range_max = count("num_sampled", num_sampled), count("range_max", range_max)
    whole = math.log(range_max + 1)
    drawn = np.exp(distributions.uniform(0, whole, num_sampled, "float64", cpu())._data)
    sampled = (drawn - 1).astype(np.int64) % range_max

    def expected(classes: np.ndarray) -> NDArray:
        return place(np.log1p(1 / (classes.astype(np.float64) + 1)) * (num_sampled / whole), ctx)

    return place(sampled, ctx), expected(true_classes.asnumpy()), expected(sampled)


def _check_rate(name: str, positive: bool, lam: Any) -> None:
    if not positive:
        raise MXNetError(f"{name}: the rate lam is positive, not {lam}")
