"""First values of a graph's parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, did_you_mean
from runtime.context import cpu
from runtime.initializer import InitDesc, Initializer
from runtime.ndarray import NDArray


def initial_values(
    names: Sequence[str],
    places: Mapping[str, NDArray],
    given: Mapping[str, NDArray] | None,
    initializer: Initializer | None,
    attributes: Mapping[str, Mapping[str, str]],
    allow_missing: bool,
    allow_extra: bool,
) -> dict[str, NDArray]:
    """An array on the CPU for each name: what is given, or else the initializer's, or without one what `places` has.

    `places` are the arrays that the values are for, `attributes` those of variables, of which `__init__` names an
    initializer. RuntimeError where `given` lacks a name, unless `allow_missing`. With that, ValueError where it has one
    that is in no place, or a warning where there is an initializer, unless `allow_extra`: without, a misspelt name is
    missing, and parts of networks take the values of the whole, as in MXNet.
    """
    values = {}
    for name in sorted(names):
        x = places[name]
        if given is not None and name in given:
            if given[name].shape != x.shape:
                raise MXNetError(f"'{name}' has shape {x.shape}, and the value given {given[name].shape}")
            values[name] = given[name].as_in_context(cpu()).astype(x.dtype)
        elif given is not None and not allow_missing:
            raise MXNetError(f"no value is given for '{name}': allow_missing=True leaves it to the initializer")
        elif initializer is None:
            values[name] = x.copyto(cpu())
        else:
            value = nd.zeros(x.shape, cpu(), x.dtype)
            initializer(InitDesc(name, dict(attributes.get(name, {}))), value)
            values[name] = value.tostype(x.stype)
    extra = [name for name in given or () if name not in places]
    if extra and allow_missing and not allow_extra:
        problem = f"'{extra[0]}' is no parameter of the symbol{did_you_mean(extra[0], places)}"
        if initializer is None:
            raise ArgumentError(problem)
        warnings.warn(f"{problem}; its value is not used (allow_extra=True says so)", stacklevel=3)
    return values
