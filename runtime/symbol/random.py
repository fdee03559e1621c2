"""`sym.random`: draws. Parameters are numbers, of one distribution, or symbols, of a distribution for each element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.base import ArgumentTypeError
from runtime.symbol import _internal
from runtime.symbol.symbol import Symbol

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]


def _draw(name: str, params: Mapping[str, Any], shape: Any, dtype: Any, kwargs: dict[str, Any]) -> Symbol:
    """Draws of `shape` from the distribution `name`, or of that shape for each element of the params."""
    symbols = [isinstance(x, Symbol) for x in params.values()]
    given = {"shape": shape, "dtype": dtype} | kwargs
    given = {key: x for key, x in given.items() if x is not None}
    if all(symbols):
        given.pop("ctx", None)
        return getattr(_internal, f"_sample_{name}")(**params, **given)
    if any(symbols):
        raise ArgumentTypeError(f"{name}: {', '.join(params)} must all be numbers, or all Symbols")
    return getattr(_internal, f"_random_{name}")(**params, **given)


def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Uniform between `low` and `high`."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Normal, of mean `loc` and standard deviation `scale`."""
    names = ("mu", "sigma") if isinstance(loc, Symbol) else ("loc", "scale")
    return _draw("normal", dict(zip(names, (loc, scale), strict=True)), shape, dtype, kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Normal, of the shape that the arguments are."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Poisson, of mean `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Exponential, of mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Gamma, of shape `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Negative binomial: failures before `k` successes of probability `p`."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Negative binomial, of mean `mu` and dispersion `alpha`."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Whole numbers from `low` to below `high`."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def multinomial(data: Symbol, shape: Any = None, get_prob: bool = False, dtype: Any = "int32", **kwargs: Any) -> Symbol:
    """Places of the last axis, drawn with the probabilities in `data`; with `get_prob` also their logarithms."""
    given = {} if shape is None else {"shape": shape}
    return _internal._sample_multinomial(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows in a random order."""
    return _internal._shuffle(data, **kwargs)


def __getattr__(name: str) -> Any:
    if name.endswith("_like") and f"_random_{name}" in dir(_internal):
        return getattr(_internal, f"_random_{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
