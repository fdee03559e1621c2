"""Flags and hyper-parameters that differ between the parameters of a network, by the ends of their names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.core import optgen_bridge

if TYPE_CHECKING:
    from optgen.model import Optimizer as Spec

Endings = bool | tuple[str, ...]
"""A flag: True or False for all parameters, or true for those whose names end so."""
NamedNumbers = float | tuple[tuple[str, float], ...]
"""A hyper-parameter: a number for all parameters, or pairs of an ending and the number of those whose names end so. The
first ending that fits counts; a parameter that none fits has the spec's default."""


def checked_endings(name: str, value: Any) -> Endings:
    """A flag that is set for some parameters, by the ends of their names; a block stands for the names of its own."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Iterable) and not isinstance(value, str):
        endings = tuple(itertools.chain.from_iterable(map(_endings, value)))
        if all(isinstance(x, str) for x in endings):
            return endings
    raise TypeError(
        f"'{name}' must be True, False, or the ends of the names of parameters, or blocks of them, not {value!r}"
    )


def applies(endings: Endings, name: str) -> bool:
    """Whether a flag is true for the parameter of this name."""
    return endings if isinstance(endings, bool) else name.endswith(endings)


def checked_numbers(spec: Spec, param: str, value: Any) -> NamedNumbers:
    """A hyper-parameter that is a number, or a dict or pairs with one by the ends of names; a block stands for the
    names of its own. TypeError or ValueError for what is neither, or for a number outside the interval."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple):
        number: float = optgen_bridge.checked(spec, param, value)
        return number
    found = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or isinstance(pair[1], bool | str):
            raise TypeError(f"'{param}' must be a number, or a dict of numbers by the ends of names, not {value!r}")
        number = optgen_bridge.checked(spec, param, pair[1])
        for ending in _endings(pair[0]):
            if not isinstance(ending, str):
                raise TypeError(f"'{param}': {ending!r} is no end of the names of parameters, and no block of them")
            found.append((ending, number))
    return tuple(found)


def number_for(spec: Spec, param: str, value: NamedNumbers, name: str) -> float:
    """The hyper-parameter of the parameter of this name."""
    if not isinstance(value, tuple):
        return value
    default = spec.all_params[param].default
    assert default is not None  # no param is both unset and per param
    return next((number for ending, number in value if name.endswith(ending)), float(default))


def _endings(key: Any) -> Iterable[Any]:
    """A name, or the names of a block's parameters."""
    return key.collect_params() if hasattr(key, "collect_params") else (key,)
