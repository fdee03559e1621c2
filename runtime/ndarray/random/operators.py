"""The functions of `nd.random` under the names that MXNet's operators have in `nd`.

`random_...` takes numbers, `sample_...` arrays. An exponential distribution has its rate `lam`, not its mean, here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import MXNetError, count
from runtime.context import Context, cpu
from runtime.core.signatures import REQUIRED, with_signature
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
_OUT = {"out": ("Out", None)}


def _of_numbers(draw: Callable[..., NDArray], numbers: str = "numbers") -> Callable[..., NDArray]:
    """A function of `nd.random` as the operator `random_...`, whose parameters are numbers."""
    shown = {name: ("float", p.default) for name, p in _parameters(draw)}
    rest = {"shape": ("Shape | None", None), "ctx": ("Context | None", None), "dtype": ("Any", None)}
    name, doc = f"random_{draw.__name__}", f"`random.{draw.__name__}` of {numbers}."

    @with_signature(name, doc, shown | rest | _OUT, returns="NDArray")
    def call(*values: Any) -> NDArray:
        *given, shape, ctx, dtype, out = values
        return draw.__wrapped__(*given, shape, dtype, ctx, out)

    return call


def _of_arrays(draw: Callable[..., NDArray], *names: str, arrays: str = "arrays") -> Callable[..., NDArray]:
    """A function of `nd.random` as the operator `sample_...`, whose parameters are arrays, called `names` if given."""
    shown = {name: ("NDArray", REQUIRED) for name in names or dict(_parameters(draw))}
    name, doc = f"sample_{draw.__name__}", f"`random.{draw.__name__}` of {arrays}."

    @with_signature(
        name, doc, shown | {"shape": ("Shape | None", None), "dtype": ("Any", None)} | _OUT, returns="NDArray"
    )
    def call(*values: Any) -> NDArray:
        *given, shape, dtype, out = values
        return draw.__wrapped__(*given, shape, dtype, None, out)

    return call


def _parameters(draw: Callable[..., NDArray]) -> list[tuple[str, inspect.Parameter]]:
    """Those of the distribution: what comes before `shape`."""
    parameters = list(inspect.signature(draw).parameters.items())
    return parameters[: [name for name, _ in parameters].index("shape")]


random_uniform = _of_numbers(distributions.uniform)
random_normal = _of_numbers(distributions.normal)
random_gamma = _of_numbers(distributions.gamma)
random_poisson = _of_numbers(distributions.poisson, "a number")
random_negative_binomial = _of_numbers(distributions.negative_binomial)
random_generalized_negative_binomial = _of_numbers(distributions.generalized_negative_binomial)
sample_uniform = _of_arrays(distributions.uniform)
sample_normal = _of_arrays(distributions.normal, "mu", "sigma")
sample_gamma = _of_arrays(distributions.gamma)
sample_poisson = _of_arrays(distributions.poisson, arrays="an array")
sample_negative_binomial = _of_arrays(distributions.negative_binomial)
sample_generalized_negative_binomial = _of_arrays(distributions.generalized_negative_binomial)
uniform, normal = random_uniform, random_normal


def random_exponential(
    lam: float = 1, shape: Shape | None = None, ctx: Context | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.exponential` with the mean 1/lam."""
    _check_rate("random_exponential", lam > 0, lam)
    return distributions.exponential(1 / lam, shape, dtype, ctx, out)


def sample_exponential(lam: NDArray, shape: Shape | None = None, dtype: Any = None, out: Out = None) -> NDArray:
    """`random.exponential` with the means 1/lam."""
    _check_rate("sample_exponential", bool((lam.asnumpy() > 0).all()), lam)
    return distributions.exponential(1 / lam, shape, dtype, out=out)


def random_randint(
    low: int, high: int, shape: Shape | None = None, ctx: Context | None = None, dtype: Any = None, out: Out = None
) -> NDArray:
    """`random.randint`."""
    return distributions.randint(low, high, shape, dtype, ctx, out)


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
