"""Initializers that choose by the name of each parameter: another initializer, or saved values."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from runtime.base import ArgumentError, did_you_mean
from runtime.initializer.base import Initializer
from runtime.ndarray.ndarray import NDArray


class Load:
    """Parameters from a file of `nd.save`, or a dict of arrays by name; a prefix 'arg:' or 'aux:' is dropped.

    Other parameters are initialized by `default_init`. `verbose` logs which of the two happened to each array.
    """

    def __init__(
        self, param: str | dict[str, NDArray], default_init: Initializer | None = None, verbose: bool = False
    ) -> None:
        if not isinstance(param, dict):
            from runtime.ndarray import load

            param = load(param)
            if not isinstance(param, dict):
                raise ArgumentError("Load needs arrays by name, but the file has a list of arrays")
        self.param = {re.sub("^(arg|aux):", "", name): arr for name, arr in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        loaded = self.param.get(name)
        if loaded is not None:
            if loaded.shape != arr.shape:
                raise ArgumentError(
                    f"'{name}' has shape {arr.shape}, but what is loaded for it has shape {loaded.shape}"
                )
            arr[:] = loaded
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise ArgumentError(
                f"there is no default_init for '{name}', which is not in what is loaded{did_you_mean(name, self.param)}"
            )
        if self.verbose:
            logging.info("Initialized %s by %s", name, "default" if loaded is None else "loading")


class Mixed:
    """Several initializers: the first whose pattern, a regular expression, matches the beginning of the name."""

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Initializer]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(f"{len(patterns)} patterns, but {len(initializers)} initializers")
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                return init(name, arr)
        raise ArgumentError(f"no pattern matches '{name}'; add '.*' with an initializer for all others at the end")
