"""Optimizers: those made from specs (`optimizer.Adam`, `create('adam')`), and those written by hand and registered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from runtime import kernels
from runtime.optimizer.optimizer import Optimizer
from runtime.optimizer.spec import SpecOptimizer, make_class
from runtime.optimizer.updater import Updater, get_updater
from runtime.registry import Registry

__all__ = ["Optimizer", "SpecOptimizer", "Updater", "create", "get_updater", "register", "register_spec"]

_registry = Registry("optimizer")


def register(klass: type[Optimizer]) -> type[Optimizer]:
    """Class decorator: `create` and Trainer know the optimizer by its class name, in lower case."""
    return _registry.register(klass)


def register_spec(spec: str | os.PathLike[str]) -> type[SpecOptimizer]:
    """Make an optimizer class of a spec and register it under the spec's names, and under that of its file.

    `spec` is the path of a `.opt` file, the spec's text, or the name of one that comes with optgen.

    Raises optgen.SpecErrors, with all of the spec's errors.
    """
    is_text = isinstance(spec, str) and "\n" in spec
    cls = make_class(kernels.read(spec))
    _registry.register(cls, *cls.spec.aliases, *([] if is_text else [Path(spec).stem]))
    return cls


def create(name: str, **kwargs: Any) -> Optimizer:
    """A new optimizer of that name, in any case: one that was registered, or else a spec that comes with optgen.

    Raises ValueError for an unknown name or a value outside its interval, TypeError for an unknown argument.
    """
    return _find(name)(**kwargs)


def _find(name: str) -> type[Optimizer]:
    """The class called `name`; a spec becomes a class when it is first asked for."""
    if name not in _registry:
        known = kernels.names()
        for spec in (
            [name.lower()] if name.lower() in known else known
        ):  # an alias is known only to its spec: read them all
            if spec not in _registry:
                register_spec(spec)
    return _registry.get(name)


def __getattr__(name: str) -> type[Optimizer]:
    """`optimizer.Adam` and its like: the classes of the specs that come with optgen."""
    if not name.startswith("_") and name.lower() in kernels.names():
        cls = _find(name)
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module 'runtime.optimizer' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *(_find(name).__name__ for name in kernels.names())])
