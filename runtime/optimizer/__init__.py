"""Optimizers: those made from specs (`optimizer.Adam`, `create('adam')`), and those written by hand and registered."""

from __future__ import annotations

import os

from runtime.core import optgen_bridge
from runtime.optimizer import contrib
from runtime.optimizer.classes import OptimizerRegistry
from runtime.optimizer.optimizer import Optimizer
from runtime.optimizer.spec import SpecOptimizer
from runtime.optimizer.updater import Updater, get_updater

__all__ = ["Optimizer", "SpecOptimizer", "Updater", "contrib", "create", "get_updater", "register", "register_spec"]

_registry = Optimizer.opt_registry = OptimizerRegistry()
register = Optimizer.register
create = Optimizer.create_optimizer


def register_spec(spec: str | os.PathLike[str]) -> type[SpecOptimizer]:
    """Make an optimizer class of a spec and register it under the spec's names, and under that of its file.

    `spec` is the path of a `.opt` file, the spec's text, or the name of one that comes with optgen. A spec that takes
    the name of an optimizer that comes with optgen replaces it, with a warning.

    Raises optgen.SpecErrors, with all of the spec's errors, and ArgumentError for a param or flag that is called like
    an attribute of all optimizers, such as `num_update`.
    """
    return _registry.register_spec(spec)


def __getattr__(name: str) -> type[Optimizer]:
    """`optimizer.Adam` and its like: the classes of specs."""
    cls = _registry.of_class(name)
    if cls is None:
        raise AttributeError(f"module 'runtime.optimizer' has no attribute '{name}'")
    return cls


def __dir__() -> list[str]:
    return sorted([*globals(), *(_registry.get(name).__name__ for name in optgen_bridge.names())])
