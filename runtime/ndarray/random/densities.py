"""The densities of the distributions of `nd.random`, differentiable in the sample and in the parameters.

Parameters are arrays of one shape, that of the leading axes of `sample`; the result has the shape of `sample`. For
distributions of whole numbers it is their probability, which has no gradient for the sample. With `is_log` it is the
logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from runtime.base import MXNetError
from runtime.ndarray.elementwise import exp, gammaln, log
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.reduce.reductions import sum
from runtime.ndarray.shape.reshape import reshape

__all__ = [
    "random_pdf_dirichlet",
    "random_pdf_exponential",
    "random_pdf_gamma",
    "random_pdf_generalized_negative_binomial",
    "random_pdf_negative_binomial",
    "random_pdf_normal",
    "random_pdf_poisson",
    "random_pdf_uniform",
]


def _density(
    name: str, logarithm: Callable[..., NDArray], sample: NDArray, *parameters: NDArray, is_log: bool
) -> NDArray:
    """`logarithm(sample, *parameters)`, with parameters broadcast to the sample; its exponential unless `is_log`."""
    lead = parameters[0].shape
    if any(p.shape != lead for p in parameters) or sample.shape[: len(lead)] != lead:
        shapes = ", ".join(str(p.shape) for p in parameters)
        raise MXNetError(
            f"random_pdf_{name}: parameters have the shape of the sample's leading axes, but the sample has shape "
            f"{sample.shape}, the parameters have {shapes}"
        )
    columns = lead + (1,) * (sample.ndim - len(lead))
    result = logarithm(sample, *(reshape(p, columns) for p in parameters))
    return result if is_log else exp(result)


def random_pdf_uniform(sample: NDArray, low: NDArray, high: NDArray, is_log: bool = False) -> NDArray:
    """Of uniform distributions on [low, high), for a sample in there."""
    return _density("uniform", lambda x, a, b: 0 * x - log(b - a), sample, low, high, is_log=is_log)


def random_pdf_normal(sample: NDArray, mu: NDArray, sigma: NDArray, is_log: bool = False) -> NDArray:
    """Of normal distributions with mean `mu` and standard deviation `sigma`."""

    def logarithm(x: NDArray, mu: NDArray, sigma: NDArray) -> NDArray:
        z = (x - mu) / sigma
        return -0.5 * z * z - log(sigma) - 0.5 * math.log(2 * math.pi)

    return _density("normal", logarithm, sample, mu, sigma, is_log=is_log)


def random_pdf_gamma(sample: NDArray, alpha: NDArray, beta: NDArray, is_log: bool = False) -> NDArray:
    """Of gamma distributions with shape parameter `alpha` and rate `beta`; `random.gamma` has the scale, 1/rate."""
    return _density(
        "gamma",
        lambda x, a, b: a * log(b) + (a - 1) * log(x) - b * x - gammaln(a),
        sample,
        alpha,
        beta,
        is_log=is_log,
    )


def random_pdf_exponential(sample: NDArray, lam: NDArray, is_log: bool = False) -> NDArray:
    """Of exponential distributions with rate `lam`."""
    return _density("exponential", lambda x, rate: log(rate) - rate * x, sample, lam, is_log=is_log)


def random_pdf_poisson(sample: NDArray, lam: NDArray, is_log: bool = False) -> NDArray:
    """Of Poisson distributions with mean `lam`."""

    def logarithm(x: NDArray, mean: NDArray) -> NDArray:
        x = x.detach()
        return x * log(mean) - gammaln(x + 1) - mean

    return _density("poisson", logarithm, sample, lam, is_log=is_log)


def _negative_binomial(x: NDArray, k: NDArray, p: NDArray) -> NDArray:
    x = x.detach()
    return gammaln(x + k) - gammaln(x + 1) - gammaln(k) + k * log(p) + x * log(1 - p)


def random_pdf_negative_binomial(sample: NDArray, k: NDArray, p: NDArray, is_log: bool = False) -> NDArray:
    """Of how many failures come before the `k`-th success, with success of probability `p`."""
    return _density("negative_binomial", _negative_binomial, sample, k, p, is_log=is_log)


def random_pdf_generalized_negative_binomial(
    sample: NDArray, mu: NDArray, alpha: NDArray, is_log: bool = False
) -> NDArray:
    """Of negative binomial distributions with mean `mu` and variance mu + alpha mu^2."""
    return _density(
        "generalized_negative_binomial",
        lambda x, mu, alpha: _negative_binomial(x, 1 / alpha, 1 / (mu * alpha + 1)),
        sample,
        mu,
        alpha,
        is_log=is_log,
    )


def random_pdf_dirichlet(sample: NDArray, alpha: NDArray, is_log: bool = False) -> NDArray:
    """Of Dirichlet distributions: `alpha`, (..., k), has their concentrations, `sample`, (..., *drawn, k), points whose
    coordinates add up to 1; the result is (..., *drawn)."""
    lead, k = alpha.shape[:-1], alpha.shape[-1]
    if sample.ndim < alpha.ndim or sample.shape[: len(lead)] != lead or sample.shape[-1] != k:
        raise MXNetError(
            f"random_pdf_dirichlet: alpha has shape {alpha.shape}, so the sample has shape {(*lead, '...', k)}, "
            f"not {sample.shape}"
        )
    a = reshape(alpha, lead + (1,) * (sample.ndim - alpha.ndim) + (k,))
    result = sum((a - 1) * log(sample), axis=-1) + gammaln(sum(a, axis=-1)) - sum(gammaln(a), axis=-1)
    return result if is_log else exp(result)
