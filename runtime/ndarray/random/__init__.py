"""`nd.random`: arrays of random numbers, from `distributions`.

`operators` has the same under the names of MXNet's operators, `densities` the densities.
"""

from runtime.ndarray.random.distributions import (
    exponential,
    exponential_like,
    gamma,
    gamma_like,
    generalized_negative_binomial,
    generalized_negative_binomial_like,
    multinomial,
    negative_binomial,
    negative_binomial_like,
    normal,
    normal_like,
    poisson,
    poisson_like,
    randint,
    randn,
    shuffle,
    uniform,
    uniform_like,
)

__all__ = [
    "exponential",
    "exponential_like",
    "gamma",
    "gamma_like",
    "generalized_negative_binomial",
    "generalized_negative_binomial_like",
    "multinomial",
    "negative_binomial",
    "negative_binomial_like",
    "normal",
    "normal_like",
    "poisson",
    "poisson_like",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    "uniform_like",
]
