"""`sym.contrib`: the operators of `nd.contrib`, as symbols."""

from __future__ import annotations

import math
from typing import Any

from runtime.symbol import _internal, creation
from runtime.symbol.loops import cond, foreach, while_loop  # noqa: F401 (they are offered here)
from runtime.symbol.namespace import function, offering
from runtime.symbol.symbol import Symbol

__getattr__, __dir__ = offering(__name__, "_contrib_")


def adamw_update(weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, rescale_grad: Any, **kwargs: Any) -> Symbol:
    """`nd.contrib.adamw_update`, with `lr` and `eta`; `rescale_grad` is a number or a symbol."""
    return _internal._adamw_update(weight, grad, mean, var, _one(rescale_grad), **kwargs)


def mp_adamw_update(
    weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, weight32: Symbol, rescale_grad: Any, **kwargs: Any
) -> Symbol:
    """`nd.contrib.mp_adamw_update`, with `lr` and `eta`; `rescale_grad` is a number or a symbol."""
    return _internal._mp_adamw_update(weight, grad, mean, var, weight32, _one(rescale_grad), **kwargs)


def _one(number: Any) -> Symbol:
    return number if isinstance(number, Symbol) else creation.full((1,), number)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """`nd.contrib.rand_zipfian`: classes that are drawn, and how often `true_classes` and these are expected."""
    whole = math.log(range_max + 1)
    drawn = _internal._random_uniform(low=0, high=whole, shape=(num_sampled,), dtype="float64")
    sampled = (function("exp", "exp")(drawn) - 1).astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        k = classes.astype("float64")
        return function("log", "log")((k + 2) / (k + 1)) * (num_sampled / whole)

    return sampled, expected(true_classes), expected(sampled)
