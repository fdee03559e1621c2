"""The base class of initializers, and their registry."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.ndarray.ndarray import NDArray
from runtime.registry import Registry

_registry = Registry("initializer")


class InitDesc(str):
    """A parameter's name. `attrs['__init__']`, if there, is the initializer the parameter asked for itself;
    `global_init` is the one it was to be initialized by otherwise."""

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: dict[str, Any] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


class Initializer:
    """Fills arrays with initial values. A subclass defines `_init_weight(name, arr)`, which writes those of a weight to
    `arr`.

    Called with a parameter's name and array, it goes by the name's ending, as ENDINGS has it: weights are its own
    business; biases, `beta` and running means are 0; `gamma` and running variances are 1. The arguments a subclass
    passes on to `Initializer.__init__` are what `dumps` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] = _size

    def __call__(self, desc: str, arr: NDArray) -> None:
        own = getattr(desc, "attrs", {}).get("__init__")
        if isinstance(desc, InitDesc) and desc.global_init is None:
            desc.global_init = self
        if own:
            try:
                create(own)._init_weight(desc, arr)
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"the initializer of parameter '{desc}', {own!r}: {error}") from error
            return self._log(desc, own, arr)
        for endings, method in ENDINGS:
            if desc.endswith(endings):
                getattr(self, method)(desc, arr)
                return self._log(desc, method.removeprefix("_init_"), arr)
        self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ArgumentError(
            f"no default for a parameter named '{name}': names end in weight, bias, gamma or beta; else give it init="
        )

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> Initializer:
        """Log each array that is initialized, with what `print_func` says of it (its norm over the root of its size);
        returns the initializer."""
        self._verbose = verbose
        self._print_func = print_func or _size
        return self

    def _log(self, name: str, how: Any, arr: NDArray) -> None:
        if self._verbose:
            logging.info("Initialized %s as %s: %s", name, how, self._print_func(arr))

    def dumps(self) -> str:
        """Name and arguments in JSON, from which `create` makes an equal initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"


ENDINGS = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    (("min", "moving_mean", "running_mean", "moving_inv_var", "moving_avg"), "_init_zero"),
    (("max", "moving_var", "running_var"), "_init_one"),
)
"""Endings of names, and the method of Initializer that arrays of such a name are given to."""


def _size(arr: NDArray) -> str:
    x = arr.asnumpy().astype(np.float64)
    return str(np.linalg.norm(x) / math.sqrt(x.size))


# ---------------------------------------------------------------- by name


def register(cls: type[Initializer]) -> type[Initializer]:
    """Class decorator: the initializer can be asked for by its name."""
    return _registry.register(cls)


def alias(*names: str) -> Callable[[type[Initializer]], type[Initializer]]:
    """Class decorator: the initializer can be asked for by these names too."""
    return lambda cls: _registry.register(cls, *names)


def create(initializer: str | dict | Initializer, *args: Any, **kwargs: Any) -> Initializer:
    """The initializer itself, or a new one: of that registered name with these arguments, or as `dumps` wrote it."""
    if callable(initializer) and not isinstance(initializer, type):
        return initializer
    if not isinstance(initializer, (str, dict)):
        raise TypeError(f"an initializer is an Initializer or a name, not {type(initializer).__name__}")
    return _registry.create(initializer, *args, **kwargs)
